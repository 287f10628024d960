// SPDX-License-Identifier: BSL-1.0
//
// connect and async_connect with several endpoints, one after the other.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/net/connect.hpp>
#include <beck/net/local.hpp>
#include <beck/net/resolver.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/bind.hpp>

#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "support/connecting.hpp"
#include "support/connections.hpp"
#include "support/name_server.hpp"
#include "support/open_descriptors.hpp"

using namespace std::chrono_literals;
using beck::error_code;
using beck::ip::tcp;
using beck::test::connected;
using beck::test::deaf_port;
using beck::test::loopback_v4;
using beck::test::loopback_v6;
namespace error = beck::error;
using endpoint_list = std::vector<tcp::endpoint>;

CONFORMANCE("the first endpoint that can be connected to is given") {
  beck::io_context ctx(context_options());
  const deaf_port nobody(ctx), nobody_else(ctx, loopback_v6());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::acceptor unused(ctx, loopback_v4());
  tcp::socket socket(ctx);
  connected got;
  beck::async_connect(
      socket,
      endpoint_list{nobody_else, nobody, acceptor.local_endpoint(), unused.local_endpoint()},
      got.handler());
  CHECK(got.calls == 0);
  ctx.run();
  CHECK(got.calls == 1);
  CHECK(!got.ec);
  CHECK(got.to == acceptor.local_endpoint());
  CHECK(socket.remote_endpoint() == acceptor.local_endpoint());
}

CONFORMANCE("a coroutine awaits the endpoint") {
  beck::io_context ctx(context_options());
  const deaf_port nobody(ctx, loopback_v6());
  tcp::acceptor acceptor(ctx, loopback_v4());
  bool done = false;
  const auto body = [](beck::io_context& c, endpoint_list all, bool& over) -> beck::task<> {
    tcp::socket socket(c);
    const auto to = co_await beck::async_connect(socket, all);
    CHECK(!to.error());
    CHECK(*to == all[1]);
    over = true;
  };
  beck::co_spawn(ctx, body(ctx, {nobody, acceptor.local_endpoint()}, done), beck::detached);
  ctx.run();
  CHECK(done);
}

CONFORMANCE("if none can be connected to the error is that of the last one") {
  beck::io_context ctx(context_options());
  const deaf_port nobody(ctx), nobody_else(ctx);
  tcp::socket socket(ctx);
  connected got;
  beck::async_connect(socket, endpoint_list{nobody, nobody_else}, got.handler());
  ctx.run();
  CHECK(got.failed(error::connection_refused));
}

CONFORMANCE("no endpoint at all is not_found, never inside the call") {
  beck::io_context ctx(context_options());
  tcp::socket socket(ctx);
  connected got;
  beck::async_connect(socket, endpoint_list(), got.handler());
  CHECK(got.calls == 0);
  ctx.run();
  CHECK(got.failed(error::not_found));
}

CONFORMANCE("a condition sees the last error and the next endpoint, and leaves some out") {
  beck::io_context ctx(context_options());
  const deaf_port nobody(ctx), left_out(ctx);
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket socket(ctx);
  std::vector<std::pair<error_code, tcp::endpoint>> seen;
  const tcp::endpoint not_this = left_out;
  const auto condition = [&](const error_code& ec, const tcp::endpoint& next) {
    seen.emplace_back(ec, next);
    return next != not_this;
  };
  const endpoint_list all{left_out, nobody, acceptor.local_endpoint()};
  connected got;
  beck::async_connect(socket, all, condition, got.handler());
  ctx.run();
  CHECK(got.to == acceptor.local_endpoint());
  REQUIRE(seen.size() == 3);
  CHECK(!seen[0].first);
  CHECK(!seen[1].first);  // none was tried yet
  CHECK(seen[2].first == error::connection_refused);
  CHECK(seen[2].second == all[2]);
}

CONFORMANCE("a condition that leaves out everything gives not_found") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket socket(ctx);
  connected got;
  beck::async_connect(
      socket, endpoint_list{acceptor.local_endpoint()},
      [](const error_code&, const tcp::endpoint&) { return false; }, got.handler());
  ctx.run();
  CHECK(got.failed(error::not_found));
}

CONFORMANCE("an open socket is closed before the first attempt") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v6());
  tcp::socket socket(ctx);
  socket.open(tcp::v4());
  connected got;
  beck::async_connect(socket, endpoint_list{acceptor.local_endpoint()}, got.handler());
  ctx.run();
  CHECK(!got.ec);
  CHECK(socket.remote_endpoint().is_v6());
}

CONFORMANCE("results of a lookup are endpoints to connect to") {
  beck::test::named_machine m;
  tcp::acceptor acceptor(m.ctx(), loopback_v4());
  tcp::resolver resolver(m.ctx());
  const auto found =
      resolver.resolve("127.0.0.1", std::to_string(acceptor.local_endpoint().port()));
  tcp::socket socket(m.ctx());
  connected got;
  beck::async_connect(socket, found, got.handler());
  m.ctx().run();
  CHECK(!got.ec);
  CHECK(got.to == acceptor.local_endpoint());
}

CONFORMANCE("a coroutine's time limit ends the whole of it") {
  beck::test::machine here;
  beck::io_context ctx(here.options());
  if (where != beck::test::on_sim) {  // a listener whose backlog is full answers no SYN
    ::beck::test::mark_skipped("needs a host that does not answer");
    return;
  }
  beck::testing::sim::host& there = here.world().host("there");
  here.world().link(here.host(), there).cut();
  const endpoint_list all{{beck::ip::make_address("10.0.0.2"), 1},
                          {beck::ip::make_address("10.0.0.2"), 2}};
  const auto body = [](beck::io_context& c, endpoint_list to) -> beck::task<> {
    tcp::socket socket(c);
    const auto got = co_await beck::timeout(beck::async_connect(socket, to), 150s);
    CHECK(got.error() == error::timeout);  // within the second attempt
  };
  const auto start = here.world().now();
  beck::co_spawn(ctx, body(ctx, all), beck::detached);
  ctx.run();
  CHECK((here.world().now() - start).nanoseconds() / 1'000'000 == 150'000);
}

CONFORMANCE("closing the socket ends it, and the next endpoints are not tried") {
  beck::io_context ctx(context_options());
  tcp::acceptor first(ctx, loopback_v4()), second(ctx, loopback_v4());
  tcp::socket socket(ctx);
  connected got;
  beck::post(ctx, [&] {
    beck::async_connect(socket, endpoint_list{first.local_endpoint(), second.local_endpoint()},
                        got.handler());
    socket.close();
  });
  ctx.run();
  CHECK(got.calls == 1);
  CHECK((!got.ec || got.ec == error::operation_aborted));
  if (got.ec) CHECK(!socket.is_open());
}

CONFORMANCE("a cancellation slot ends it") {
  beck::io_context ctx(context_options());
  const deaf_port nobody(ctx);
  tcp::acceptor second(ctx, loopback_v4());
  tcp::socket socket(ctx);
  beck::cancellation_signal stop;
  connected got;
  beck::post(ctx, [&] {
    beck::async_connect(socket, endpoint_list{nobody, second.local_endpoint()},
                        beck::bind_cancellation_slot(stop.slot(), got.handler()));
    stop.emit(beck::cancellation_type::total);
  });
  ctx.run();
  CHECK(got.failed(error::operation_aborted));
}

CONFORMANCE("a context is destroyed in the middle of it") {
  const auto token = std::make_shared<int>(0);
  {
    beck::io_context ctx(context_options());
    const deaf_port nobody(ctx);
    tcp::socket socket(ctx), another(ctx);
    const endpoint_list all(5, tcp::endpoint(nobody));
    beck::async_connect(socket, all, [held = token](error_code, const tcp::endpoint&) {
      FAIL("a handler ran although its context was destroyed");
    });
    const auto body = [](tcp::socket& s, endpoint_list to, std::shared_ptr<int>) -> beck::task<> {
      beck::ignore(co_await beck::async_connect(s, to));
    };
    beck::co_spawn(ctx, body(another, all, token), beck::detached);
    ctx.run_one();
  }
  CHECK(token.use_count() == 1);
}

CONFORMANCE("UNIX sockets connect to ranges, too") {
  beck::io_context ctx(context_options());
  using local = beck::local::stream_protocol;
  local::acceptor acceptor(ctx, local::endpoint(std::string("\0beck-connect-range", 19)));
  local::socket socket(ctx);
  const std::vector<local::endpoint> all{local::endpoint(std::string("\0beck-connect-nobody", 20)),
                                         local::endpoint(std::string("\0beck-connect-range", 19))};
  bool done = false;
  beck::async_connect(socket, all, [&](error_code ec, const local::endpoint& to) {
    CHECK(!ec);
    CHECK(to == all[1]);
    done = true;
  });
  ctx.run();
  CHECK(done);
}

CONFORMANCE("the synchronous form does the same") {
  beck::io_context ctx(context_options());
  const deaf_port nobody(ctx), nobody_else(ctx);
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket socket(ctx);
  const endpoint_list all{nobody, acceptor.local_endpoint()};
  CHECK(beck::connect(socket, all) == all[1]);
  error_code ec;
  CHECK(beck::connect(socket, endpoint_list{nobody, nobody_else}, ec) == tcp::endpoint());
  CHECK(ec == error::connection_refused);
  beck::connect(socket, endpoint_list(), ec);
  CHECK(ec == error::not_found);
  const auto not_first = [&](const error_code&, const tcp::endpoint& e) { return e != all[0]; };
  CHECK(beck::connect(socket, all, not_first) == all[1]);
  CHECK_THROWS_AS(beck::connect(socket, endpoint_list{nobody}), beck::io_error);
}

CONFORMANCE("an awaitable gets values and exceptions, from lookups and connects") {
  beck::test::named_machine m;
  tcp::acceptor acceptor(m.ctx(), loopback_v4());
  const deaf_port nobody(m.ctx());
  int thrown = 0;
  const auto body = [](beck::test::named_machine& on, tcp::endpoint there, tcp::endpoint deaf,
                       int& errors) -> beck::awaitable<> {
    tcp::resolver resolver(on.ctx());
    tcp::socket socket(on.ctx());
    const tcp::resolver::results_type found =
        co_await resolver.async_resolve("127.0.0.1", std::to_string(there.port()));
    const tcp::endpoint to = co_await beck::async_connect(socket, found, beck::use_awaitable);
    CHECK(to == there);
    try {
      const endpoint_list all(2, deaf);
      co_await beck::async_connect(socket, all);
    } catch (const beck::io_error& e) {
      CHECK(e.code() == error::connection_refused);
      ++errors;
    }
    try {
      co_await resolver.async_resolve("nowhere", "80", tcp::resolver::flags(), beck::use_awaitable);
    } catch (const beck::io_error& e) {
      CHECK(e.code() == error::host_not_found);
      ++errors;
    }
  };
  beck::co_spawn(m.ctx(), body(m, acceptor.local_endpoint(), nobody, thrown), beck::detached);
  m.ctx().run();
  CHECK(thrown == 2);
}
