// SPDX-License-Identifier: BSL-1.0
// async_connect with ranges and iterators: its ends, its requests, its tokens.
#include <doctest/doctest.h>

#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <asio.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace {

using asio::ip::tcp;
using endpoints = std::vector<tcp::endpoint>;
using iterator = endpoints::const_iterator;

/// An acceptor, an endpoint that nobody listens to, and one whose connects wait.
class peers {
 public:
  explicit peers(asio::io_context& context)
      : acceptor(context, local()), busy(context, tcp::v4()), waiting(context) {
    tcp::acceptor closed(context, local());
    refusing = closed.local_endpoint();
    good = acceptor.local_endpoint();
    busy.bind(local());
    busy.listen(0);
    waiting.connect(busy.local_endpoint());
    silent = {busy.local_endpoint(), good};
  }
  static tcp::endpoint local() { return tcp::endpoint(asio::ip::address_v4::loopback(), 0); }

  tcp::acceptor acceptor;
  tcp::acceptor busy;
  tcp::socket waiting;
  tcp::endpoint refusing;
  tcp::endpoint good;
  endpoints silent;
};

/// Runs what is ready, and what becomes ready soon.
void settle(asio::io_context& context) {
  asio::steady_timer limit(context, asio::chrono::milliseconds(30));
  bool is_over = false;
  limit.async_wait([&](asio::error_code) { is_over = true; });
  context.restart();
  while (!is_over) context.run_one();
}

}  // namespace

CONFORMANCE_ON(::beck::test::kernel, "terminal and partial requests end async_connect, not total") {
  asio::io_context context(context_options());
  const peers to(context);
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    tcp::socket by_range(context);
    tcp::socket by_iterator(context);
    asio::cancellation_signal first;
    asio::cancellation_signal second;
    std::string order;
    const auto done = [&](asio::error_code ec, auto&&) {
      order += ec == asio::error::operation_aborted ? 'a' : '?';
    };
    asio::async_connect(by_range, to.silent, asio::bind_cancellation_slot(first.slot(), done));
    asio::async_connect(by_iterator, to.silent.begin(), to.silent.end(),
                        asio::bind_cancellation_slot(second.slot(), done));
    settle(context);
    first.emit(type);
    second.emit(type);
    settle(context);
    if (type == asio::cancellation_type::total) {
      CHECK(order == "");
      by_range.close();
      by_iterator.close();
      settle(context);
    }
    CHECK(order == "aa");
  }
}

CONFORMANCE_ON(::beck::test::kernel, "cancel() of the socket goes on to the next, close() ends") {
  asio::io_context context(context_options());
  const peers to(context);
  tcp::socket cancelled(context);
  tcp::socket closed(context);
  tcp::socket at_once(context);
  asio::error_code next = asio::error::eof;
  asio::error_code ended;
  asio::error_code refused;
  tcp::endpoint reached;
  asio::async_connect(cancelled, to.silent,
                      [&](asio::error_code ec, const tcp::endpoint& e) { next = ec, reached = e; });
  asio::async_connect(closed, to.silent,
                      [&](asio::error_code ec, const tcp::endpoint&) { ended = ec; });
  const endpoints good = {to.good};
  asio::async_connect(at_once, good.begin(), good.end(),
                      [&](asio::error_code ec, iterator) { refused = ec; });
  at_once.close();
  settle(context);
  cancelled.cancel();
  closed.close();
  settle(context);
  CHECK_FALSE(next);
  CHECK(reached == to.good);
  CHECK(ended == asio::error::operation_aborted);
  CHECK(refused == asio::error::operation_aborted);
  CHECK_FALSE(at_once.is_open());
}

CONFORMANCE_ON(::beck::test::kernel, "async_connect completes on the executor of its handler") {
  asio::io_context context(context_options());
  const peers to(context);
  const endpoints all = {to.refusing, to.good};
  const auto strand = asio::make_strand(context);
  tcp::socket by_range(context);
  tcp::socket by_iterator(context);
  int inside = 0;
  const auto done = asio::bind_executor(strand, [&](asio::error_code ec, auto&&) {
    if (!ec && strand.running_in_this_thread()) ++inside;
  });
  asio::async_connect(by_range, all, done);
  asio::async_connect(by_iterator, all.begin(), all.end(), done);
  context.run();
  CHECK(inside == 2);
}

CONFORMANCE_ON(::beck::test::kernel, "async_connect starts with the default token of the socket") {
  asio::io_context context(context_options());
  const peers to(context);
  const endpoints all = {to.refusing, to.good};
  using token = asio::as_tuple_t<asio::use_awaitable_t<>>;
  token::as_default_on_t<tcp::socket> socket(context);
  int done = 0;
  const auto any = [](asio::error_code, const tcp::endpoint&) { return true; };
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        CHECK(co_await asio::async_connect(socket, all) == std::tuple(asio::error_code(), to.good));
        CHECK(co_await asio::async_connect(socket, all, any) ==
              std::tuple(asio::error_code(), to.good));
        CHECK(co_await asio::async_connect(socket, all.begin(), all.end()) ==
              std::tuple(asio::error_code(), all.begin() + 1));
        CHECK(co_await asio::async_connect(socket, all.begin(), all.end(), any) ==
              std::tuple(asio::error_code(), all.begin() + 1));
        tcp::socket plain(context);
        CHECK(co_await asio::async_connect(plain, all, asio::use_awaitable) == to.good);
        ++done;
      },
      asio::detached);
  context.run();
  CHECK(done == 1);
}

CONFORMANCE_ON(::beck::test::kernel,
               "a datagram socket connects to the first of several endpoints") {
  using asio::ip::udp;
  asio::io_context context;
  const auto loopback = asio::ip::address_v4::loopback();
  const std::vector<udp::endpoint> all{udp::endpoint(loopback, 9), udp::endpoint(loopback, 10)};
  udp::socket socket(context);
  CHECK(asio::connect(socket, all) == all[0]);
  CHECK(socket.remote_endpoint() == all[0]);
  asio::error_code ec;
  CHECK(asio::connect(socket, all.begin() + 1, all.end(), ec) == all.begin() + 1);
  CHECK(socket.remote_endpoint() == all[1]);
  udp::endpoint found;
  asio::async_connect(socket, all, [&](asio::error_code, udp::endpoint to) { found = to; });
  context.run();
  CHECK(found == all[0]);
  const auto is_second = [&](const asio::error_code&, const udp::endpoint& to) {
    return to == all[1];
  };
  std::vector<udp::endpoint>::const_iterator at;
  asio::async_connect(
      socket, all.begin(), all.end(), is_second,
      [&](asio::error_code, std::vector<udp::endpoint>::const_iterator i) { at = i; });
  context.restart();
  context.run();
  CHECK(at == all.begin() + 1);
  CHECK(socket.remote_endpoint() == all[1]);
}

CONFORMANCE_ON(::beck::test::kernel, "blocking functions that take an error return it, too") {
  asio::io_context context;
  tcp::acceptor acceptor(context);
  asio::error_code ec;
  CHECK(!acceptor.open(tcp::v4(), ec));
  CHECK(acceptor.open(tcp::v4(), ec) == asio::error::already_open);
  CHECK(!acceptor.set_option(tcp::acceptor::reuse_address(true), ec));
  CHECK(!acceptor.bind(tcp::endpoint(asio::ip::address_v4::loopback(), 0), ec));
  CHECK(!acceptor.listen(1, ec));
  tcp::socket socket(context), peer(context);
  CHECK(!socket.connect(acceptor.local_endpoint(), ec));
  CHECK(!acceptor.accept(peer, ec));
  peer.close();
  tcp::socket second(context);
  second.connect(acceptor.local_endpoint());
  acceptor.accept(peer);  // the form that throws returns nothing
  static_assert(std::is_void_v<decltype(acceptor.accept(peer))>);
  CHECK(peer.remote_endpoint() == second.local_endpoint());
  CHECK(!socket.non_blocking(true, ec));
  CHECK(!socket.wait(tcp::socket::wait_write, ec));
  CHECK(!socket.shutdown(tcp::socket::shutdown_both, ec));
  CHECK(!socket.cancel(ec));
  CHECK(!socket.close(ec));
  CHECK(socket.shutdown(tcp::socket::shutdown_both, ec) == asio::error::bad_descriptor);
  asio::signal_set signals(context);
  CHECK(signals.add(0, ec) == asio::error::invalid_argument);
  CHECK(!asio::steady_timer(context).wait(ec));
}

TEST_CASE("<asio.hpp> has headers of the system that programs get from it") {
  struct ::stat status;
  CHECK(::stat("/", &status) == 0);
  CHECK(::if_nametoindex("none such") == 0);
}
