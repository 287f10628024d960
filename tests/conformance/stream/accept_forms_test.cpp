// SPDX-License-Identifier: BSL-1.0
// Forms of accept that programs bring from Asio, contexts that derive from io_context, and the
// endpoints that errors of synchronous calls name.
#include <beck/coro/co_spawn.hpp>
#include <beck/io/sync_wait.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>
#include <beck/net/udp.hpp>

#include <ostream>
#include <string>
#include <utility>

#include "support/connecting.hpp"
#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/file_place.hpp"

using beck::error_code;
using beck::ip::tcp;
using beck::test::loopback_v4;
namespace error = beck::error;

namespace {

/// A class of a program's own.
struct derived_context : beck::io_context {
  using beck::io_context::io_context;
};

/// Starts a connection to `acceptor` and lets it arrive.
tcp::endpoint come(beck::io_context& ctx, tcp::acceptor& acceptor, tcp::socket& client) {
  client.async_connect(acceptor.local_endpoint(), beck::detached);
  beck::test::run_all(ctx);
  return client.local_endpoint();
}

/// The text of what `call` throws.
template <class Call>
std::string thrown_by(Call call) {
  try {
    call();
  } catch (const beck::io_error& refused) {
    return refused.what();
  }
  return "nothing";
}

std::string text_of(const tcp::endpoint& e) {
  const beck::ip::address_text text = e.to_text();
  return std::string(text.data(), text.size());
}

}  // namespace

CONFORMANCE("a synchronous accept into a socket of the caller's gives the peer's endpoint") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket one(ctx), two(ctx), into(ctx);
  const tcp::endpoint first = come(ctx, acceptor, one);
  tcp::endpoint peer;
  acceptor.accept(into, peer);
  CHECK(peer == first);
  CHECK(into.remote_endpoint() == first);
  const tcp::endpoint second = come(ctx, acceptor, two);
  error_code ec;
  acceptor.accept(into, peer, ec);
  CHECK(ec == error::already_open);  // and the connection stays for the next
  CHECK(peer == first);
  into.close();
  acceptor.accept(into, peer, ec);
  CHECK_FALSE(ec);
  CHECK(peer == second);
}

CONFORMANCE("a context that derives from io_context is one wherever a context is taken") {
  derived_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket one(ctx), two(ctx), three(ctx), four(ctx);
  tcp::endpoint peer;
  int accepted = 0;
  const auto take = [&](error_code ec, const tcp::socket& socket) {
    CHECK_FALSE(ec);
    CHECK(socket.get_executor() == ctx.get_executor());
    ++accepted;
  };
  acceptor.async_accept(ctx, take);
  come(ctx, acceptor, one);
  CHECK(accepted == 1);
  acceptor.async_accept(ctx, peer, take);
  CHECK(come(ctx, acceptor, two) == peer);
  CHECK(accepted == 2);
  come(ctx, acceptor, three);
  auto third = acceptor.accept(ctx);
  static_assert(std::is_same_v<decltype(third)::executor_type, beck::io_context::executor_type>);
  static_assert(std::is_same_v<decltype(third), tcp::acceptor::socket_at<beck::io_context&>>);
  CHECK(third.get_executor() == ctx.get_executor());
  const tcp::socket converted(std::move(third));
  CHECK(converted.is_open());
  const tcp::endpoint fourth = come(ctx, acceptor, four);
  error_code ec;
  CHECK(acceptor.accept(ctx, peer, ec).is_open());
  CHECK(peer == fourth);
  ctx.restart();
  CHECK(beck::sync_wait(ctx, []() -> beck::task<int> { co_return 5; }) == 5);
}

CONFORMANCE("an accept for another context does not hold that context while it waits") {
  enum class end { of_the_context, of_the_acceptor };
  for (const end how : {end::of_the_context, end::of_the_acceptor}) {
    int aborted = 0, ended = 0;
    tcp::endpoint peer;
    {
      beck::io_context ctx(context_options());
      tcp::acceptor acceptor(ctx, loopback_v4());
      {
        derived_context other(context_options());
        const auto take = [&](error_code ec, const tcp::socket& socket) {
          CHECK(ec == error::operation_aborted);
          CHECK_FALSE(socket.is_open());
          CHECK(socket.get_executor() == ctx.get_executor());
          ++aborted;
        };
        acceptor.async_accept(other, take);
        acceptor.async_accept(other, peer, take);
        beck::co_spawn(
            ctx,
            [](tcp::acceptor& from, beck::io_context& to) -> beck::task<> {
              const auto accepted = co_await from.async_accept(to);
              CHECK(accepted.error() == error::operation_aborted);
            }(acceptor, other),
            [&](const std::exception_ptr&) { ++ended; });
        ctx.poll();
      }  // before the acceptor, and before the context that runs the accepts
      if (how == end::of_the_acceptor) {
        acceptor.close();
        beck::test::run_all(ctx);
      }
    }
    CHECK(aborted == (how == end::of_the_acceptor ? 2 : 0));
    CHECK(ended == (how == end::of_the_acceptor ? 1 : 0));
  }
}

CONFORMANCE("an accept for another context makes its socket there") {
  beck::io_context ctx(context_options()), other(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket one(ctx), two(ctx);
  tcp::endpoint peer;
  int accepted = 0;
  const bool refused = where == beck::backend::sim;
  const auto take = [&](error_code ec, tcp::socket socket) {
    ++accepted;
    CHECK(ec == (refused ? error_code(error::operation_not_supported) : error_code()));
    if (refused) return;
    CHECK(socket.get_executor() == other.get_executor());
    CHECK(socket.is_open());
    socket.async_write_some(beck::buffer("x", 1), [](error_code failed, std::size_t bytes) {
      CHECK_FALSE(failed);
      CHECK(bytes == 1);
    });
  };
  acceptor.async_accept(other, take);
  come(ctx, acceptor, one);
  CHECK(accepted == 1);
  ctx.restart();
  acceptor.async_accept(other, peer, take);
  const tcp::endpoint second = come(ctx, acceptor, two);
  CHECK(accepted == 2);
  if (!refused) CHECK(peer == second);
  beck::test::run_all(other);
}

CONFORMANCE("bind, listen and a synchronous connect name the endpoint in what they throw") {
  beck::io_context ctx(context_options());
  tcp::acceptor first(ctx, loopback_v4());
  const tcp::endpoint taken = first.local_endpoint();
  const std::string in_use = " \"" + text_of(taken) + "\": Address already in use";
  const std::string constructed = thrown_by([&] { tcp::acceptor second(ctx, taken); });
  CHECK((constructed == "bind" + in_use || constructed == "listen" + in_use));
  tcp::socket bound(ctx);
  bound.open(tcp::v4());
  CHECK(thrown_by([&] { bound.bind(taken); }) == "bind" + in_use);
  const beck::test::deaf_port nobody(ctx);
  CHECK(thrown_by([&] { tcp::socket(ctx).connect(nobody); }) ==
        "connect \"" + text_of(nobody) + "\": Connection refused");
  CHECK(thrown_by([&] { tcp::acceptor(ctx).listen(); }).find("listen") == 0);
  const beck::test::file_place place(where);
  const std::string path = place.path("no-socket");
  CHECK(thrown_by([&] {
          beck::local::stream_protocol::socket(ctx).connect(path);
        }).find("connect \"" + path + "\": ") == 0);
}
