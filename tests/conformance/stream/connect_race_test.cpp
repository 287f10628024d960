// SPDX-License-Identifier: BSL-1.0
//
// Happy Eyeballs (RFC 8305): several attempts at once, the first that connects wins, and nothing is
// left of the others. Delays are looked at where time is virtual.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/net/connect_race.hpp>
#include <beck/net/name_error.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/strand.hpp>
#include <beck/run/thread_pool.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "support/allocations.hpp"
#include "support/connecting.hpp"
#include "support/connections.hpp"
#include "support/name_server.hpp"

using namespace std::chrono_literals;
using beck::error_code;
using beck::happy_eyeballs;
using beck::ip::make_address;
using beck::ip::tcp;
using beck::test::connected;
using beck::test::deaf_port;
using beck::test::loopback_v4;
using beck::test::loopback_v6;
using beck::test::named_machine;
namespace error = beck::error;
namespace sim = beck::testing::sim;
using endpoint_list = std::vector<tcp::endpoint>;

namespace {

/// A client, and servers of which some do not answer: 10.0.0.2, 10.0.0.3, ...
struct network {
  network() {
    for (int i = 0; i < 4; ++i) {
      sim::host& h = world.host("server" + std::to_string(i));
      contexts.push_back(std::make_unique<beck::io_context>(h));
    }
  }
  static tcp::endpoint v4(int server) {
    return {make_address("10.0.0." + std::to_string(server + 2)), 80};
  }
  static tcp::endpoint v6(int server) {
    return {make_address("fd00::" + std::to_string(server + 2)), 80};
  }
  sim::host& host(int server) { return world.host("server" + std::to_string(server)); }
  void listen(int server) {
    beck::io_context& there = *contexts[static_cast<std::size_t>(server)];
    acceptors.emplace_back(there, tcp::endpoint(tcp::v4(), 80));
    tcp::acceptor v6_too(there);
    v6_too.open(tcp::v6());
    v6_too.set_option(beck::ip::v6_only(true));
    v6_too.bind(tcp::endpoint(tcp::v6(), 80));
    v6_too.listen();
    acceptors.push_back(std::move(v6_too));
  }
  /// It does not answer.
  void hide(int server) { world.link(client, host(server)).cut(); }
  std::int64_t ms_since_start(const connected& one) const {
    return (one.at - start).nanoseconds() / 1'000'000;
  }

  sim::world world{1, sim::settings().calm()};
  sim::host& client = world.host("client");
  beck::io_context ctx{client};
  std::vector<std::unique_ptr<beck::io_context>> contexts;
  std::vector<tcp::acceptor> acceptors;
  tcp::socket socket{ctx};
  connected got;
  beck::time_point start = world.now();
};

std::vector<int> open_descriptors(sim::host&, beck::io_context& ctx) {
  std::vector<int> seen;
  tcp::socket probe(ctx);  // the lowest free number
  probe.open(tcp::v4());
  seen.push_back(probe.native_handle());
  return seen;
}

}  // namespace

CONFORMANCE("a race of one is a connect") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket socket(ctx);
  connected got;
  beck::async_connect(socket, endpoint_list{acceptor.local_endpoint()}, happy_eyeballs(),
                      got.handler());
  CHECK(got.calls == 0);
  ctx.run();
  CHECK(got.calls == 1);
  CHECK(!got.ec);
  CHECK(got.to == acceptor.local_endpoint());
  CHECK(socket.remote_endpoint() == got.to);
}

CONFORMANCE_ON(beck::test::kernel, "a socket whose executor is another's can race, too") {
  for (const bool by_name : {false, true}) {
    beck::io_context ctx(context_options());
    beck::thread_pool pool(1);
    const beck::any_io_executor home(beck::make_strand(pool.get_executor()));
    const deaf_port nobody(ctx, loopback_v6());
    tcp::acceptor acceptor(ctx, loopback_v4());
    const tcp::endpoint to = acceptor.local_endpoint();
    tcp::socket socket(ctx, home);
    connected got;
    if (by_name) {
      beck::async_connect(socket, "127.0.0.1", std::to_string(to.port()), got.handler());
    } else {
      beck::async_connect(socket, endpoint_list{nobody, to}, happy_eyeballs(), got.handler());
    }
    ctx.run();
    pool.join();
    CHECK(got.calls == 1);
    CHECK(!got.ec);
    CHECK(got.to == to);
    CHECK(socket.get_executor() == home);
    CHECK(socket.is_open());
  }
}

CONFORMANCE("one that is refused is followed at once") {
  beck::io_context ctx(context_options());
  const deaf_port nobody(ctx, loopback_v6());
  tcp::acceptor acceptor(ctx, loopback_v4());
  tcp::socket socket(ctx);
  connected got;
  beck::async_connect(socket, endpoint_list{acceptor.local_endpoint(), nobody},
                      happy_eyeballs{beck::duration(1h)}, got.handler());
  ctx.run();
  CHECK(!got.ec);
  CHECK(got.to == acceptor.local_endpoint());
}

CONFORMANCE("v6 comes first, and the versions take turns") {
  beck::io_context ctx(context_options());
  tcp::acceptor v4(ctx, loopback_v4()), v6(ctx, loopback_v6());
  tcp::socket socket(ctx);
  connected got;
  beck::async_connect(socket, endpoint_list{v4.local_endpoint(), v6.local_endpoint()},
                      happy_eyeballs{beck::duration(1h)}, got.handler());
  ctx.run();
  CHECK(got.to == v6.local_endpoint());
}

CONFORMANCE_ON(beck::test::kernel,
               "a race that runs out of memory ends with that, or without what it lacked (K9)") {
  NEEDS_ALLOCATION_FAULTS();
  for (const bool by_name : {false, true}) {
    bool fired = true;
    int n = 1;
    for (; fired && n < 100; ++n) {
      beck::io_context ctx(context_options());
      tcp::acceptor acceptor(ctx, loopback_v4());
      const tcp::endpoint there = acceptor.local_endpoint();
      tcp::socket socket(ctx);
      connected got;
      if (by_name) {
        beck::async_connect(socket, "127.0.0.1", std::to_string(there.port()), happy_eyeballs(),
                            got.handler());
      } else {
        const tcp::endpoint nobody = loopback_v4(1);
        beck::async_connect(socket, endpoint_list{nobody, there}, happy_eyeballs(), got.handler());
      }
      {
        const beck::test::allocation_fault fault(n);
        CHECK_NOTHROW(ctx.run());
        fired = fault.fired();
      }
      INFO("allocation " << n << (by_name ? ", by name" : ""));
      CHECK(got.calls == 1);
      CHECK((!got.ec || got.ec == error::no_memory));
      CHECK(socket.is_open() == !got.ec);
    }
    CHECK(n > 2);
    CHECK_FALSE(fired);
  }
}

CONFORMANCE("if nobody can be connected to the socket stays what it was") {
  beck::io_context ctx(context_options());
  const deaf_port a(ctx), b(ctx, loopback_v6()), c(ctx);
  tcp::socket socket(ctx);
  socket.open(tcp::v4());
  const int before = socket.native_handle();
  connected got;
  beck::async_connect(socket, endpoint_list{a, b, c}, happy_eyeballs(), got.handler());
  ctx.run();
  CHECK(got.failed(error::connection_refused));
  CHECK(socket.native_handle() == before);
}

CONFORMANCE("a race without endpoints is not_found, never inside the call") {
  beck::io_context ctx(context_options());
  tcp::socket socket(ctx);
  connected got;
  beck::async_connect(socket, endpoint_list(), happy_eyeballs(), got.handler());
  CHECK(got.calls == 0);
  ctx.run();
  CHECK(got.failed(error::not_found));
}

CONFORMANCE("a coroutine connects by name, and to the second address if the first one refuses") {
  named_machine m;
  tcp::acceptor acceptor(m.ctx(), loopback_v4());
  // A simulated machine knows itself as localhost, the scripted name server knows "there".
  const std::string host = named_machine::is_virtual() ? "localhost" : "there";
  const std::string port = std::to_string(acceptor.local_endpoint().port());
  bool done = false;
  const auto body = [](named_machine& on, tcp::acceptor& a, std::string name, std::string service,
                       bool& over) -> beck::task<> {
    tcp::socket socket(on.ctx());
    const auto to = co_await beck::async_connect(socket, name, service);
    CHECK(!to.error());
    CHECK(*to == a.local_endpoint());
    CHECK(socket.remote_endpoint() == *to);
    over = true;
  };
  beck::co_spawn(m.ctx(), body(m, acceptor, host, port, done), beck::detached);
  m.ctx().run();
  CHECK(done);
}

CONFORMANCE("a name that is not found is the error of the connect") {
  named_machine m;
  tcp::socket socket(m.ctx());
  connected got, invalid;
  beck::async_connect(socket, "nowhere", "80", got.handler());
  tcp::socket another(m.ctx());
  beck::async_connect(another, std::string(300, 'x'), "80", invalid.handler());
  m.ctx().run();
  CHECK(got.failed(error::host_not_found));
  CHECK(invalid.failed(error::invalid_host_name));
  CHECK(!socket.is_open());
}

CONFORMANCE("a time limit ends the lookup of a connect by name") {
  named_machine m;
  m.be_silent();
  bool done = false;
  const auto body = [](named_machine& on, bool& over) -> beck::task<> {
    tcp::socket socket(on.ctx());
    const auto to = co_await beck::timeout(beck::async_connect(socket, "there", "80"), 10ms);
    CHECK(to.error() == error::timeout);
    over = true;
  };
  beck::co_spawn(m.ctx(), body(m, done), beck::detached);
  m.ctx().run();
  CHECK(done);
  m.speak();
}

CONFORMANCE("a cancellation slot ends a race before and while it runs") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, loopback_v4());
  for (int handlers = 0; handlers < 3; ++handlers) {
    tcp::socket socket(ctx);
    beck::cancellation_signal stop;
    connected got;
    beck::async_connect(socket, endpoint_list{acceptor.local_endpoint()}, happy_eyeballs(),
                        beck::bind_cancellation_slot(stop.slot(), got.handler()));
    ctx.restart();
    for (int i = 0; i < handlers && got.calls == 0; ++i) ctx.poll_one();
    beck::post(ctx, [&] {
      for (int i = 0; i < 2 && got.calls == 0; ++i) stop.emit(beck::cancellation_type::total);
    });
    ctx.run();
    CHECK(got.calls == 1);
    if (got.ec) {
      CHECK(got.ec == error::operation_aborted);
      CHECK(!socket.is_open());
    } else {
      CHECK(socket.is_open());
    }
  }
}

CONFORMANCE("a context is destroyed in the middle of races") {
  const auto token = std::make_shared<int>(0);
  for (int handlers = 0; handlers < 6; ++handlers) {
    beck::io_context ctx(context_options());
    const deaf_port nobody(ctx), nobody_v6(ctx, loopback_v6());
    tcp::socket socket(ctx), another(ctx);
    const endpoint_list all{nobody, nobody_v6, nobody, nobody, nobody};
    beck::async_connect(socket, all, happy_eyeballs(),
                        [held = token](error_code, const tcp::endpoint&) {});
    const auto body = [](tcp::socket& s, endpoint_list to, std::shared_ptr<int>) -> beck::task<> {
      beck::ignore(co_await beck::async_connect(s, to, happy_eyeballs()));
    };
    beck::co_spawn(ctx, body(another, all, token), beck::detached);
    for (int i = 0; i < handlers; ++i) ctx.poll_one();
  }
  CHECK(token.use_count() == 1);
}

CONFORMANCE_ON(beck::test::epoll | beck::test::sim, "races run on shared contexts") {
  beck::test::machine here;
  beck::io_context ctx(here.options({.threads = 3}));
  const deaf_port nobody(ctx, loopback_v6());
  tcp::acceptor acceptor(ctx, loopback_v4());
  const endpoint_list all{nobody, acceptor.local_endpoint()};
  std::atomic<int> connects{0};
  const auto body = [](beck::io_context& c, endpoint_list to, std::atomic<int>& n) -> beck::task<> {
    for (int i = 0; i < 5; ++i) {
      tcp::socket socket(c);
      const auto got = co_await beck::async_connect(socket, to, happy_eyeballs());
      CHECK(!got.error());
      ++n;
    }
  };
  for (int i = 0; i < 6; ++i) beck::co_spawn(ctx, body(ctx, all, connects), beck::detached);
  std::vector<std::thread> threads;
  if (where != beck::test::on_sim) {
    for (int i = 0; i < 2; ++i) threads.emplace_back([&ctx] { ctx.run(); });
  }
  ctx.run();
  for (std::thread& t : threads) t.join();
  CHECK(connects == 30);
}

CONFORMANCE_ON(beck::test::epoll,
               "coroutines of another, shared context race, with time limits or without") {
  beck::io_context ctx(context_options());
  auto guard = std::make_optional(beck::make_work_guard(ctx));
  const deaf_port nobody(ctx, loopback_v6());
  tcp::acceptor acceptor(ctx, loopback_v4());
  const endpoint_list all{nobody, acceptor.local_endpoint()};
  std::thread running([&ctx] { ctx.run(); });
  std::atomic<int> ended{0};
  constexpr int coroutines = 4, rounds = 10;
  const auto body = [](beck::io_context& c, endpoint_list to, std::atomic<int>& n,
                       int which) -> beck::task<> {
    for (int i = 0; i < rounds; ++i) {
      tcp::socket socket(c);
      const auto limit = (i + which) % 3 == 0 ? 0us : (i + which) % 3 == 1 ? 50us : 10'000'000us;
      const auto got =
          co_await beck::timeout(beck::async_connect(socket, to, happy_eyeballs()), limit);
      CHECK((!got.error() || got.error() == error::timeout));
      CHECK(socket.is_open() == !got.error());
      ++n;
    }
  };
  beck::io_context pool(context_options({.threads = 2}));
  for (int i = 0; i < coroutines; ++i)
    beck::co_spawn(pool, body(ctx, all, ended, i), beck::detached);
  std::thread helper([&pool] { pool.run(); });
  pool.run();
  helper.join();
  guard.reset();
  running.join();
  CHECK(ended == coroutines * rounds);
}

// --- where time is virtual -----------------------------------------------------------------------

CONFORMANCE_ON(beck::test::sim, "a host that does not answer costs 250 ms, not two minutes") {
  network net;
  net.hide(0);
  net.listen(1);
  beck::async_connect(net.socket, endpoint_list{net.v4(0), net.v4(1)}, happy_eyeballs(),
                      net.got.handler());
  net.world.run();
  CHECK(net.got.to == net.v4(1));
  CHECK(net.ms_since_start(net.got) == 250);
}

CONFORMANCE_ON(beck::test::sim, "each attempt begins a delay after the one before it") {
  network net;
  for (const int silent : {0, 1, 2}) net.hide(silent);
  net.listen(3);
  beck::async_connect(net.socket, endpoint_list{net.v4(0), net.v4(1), net.v4(2), net.v4(3)},
                      happy_eyeballs{beck::duration(100ms)}, net.got.handler());
  net.world.run();
  CHECK(net.got.to == net.v4(3));
  CHECK(net.ms_since_start(net.got) == 300);
}

CONFORMANCE_ON(beck::test::sim, "a failure brings the next attempt forward, and starts its delay") {
  network net;
  net.hide(1);  // server 0 refuses at once, 1 is silent, 2 answers
  net.listen(2);
  beck::async_connect(net.socket, endpoint_list{net.v4(0), net.v4(1), net.v4(2)}, happy_eyeballs(),
                      net.got.handler());
  net.world.run();
  CHECK(net.got.to == net.v4(2));
  CHECK(net.ms_since_start(net.got) == 250);
}

CONFORMANCE_ON(beck::test::sim, "an attempt that was overtaken may still win") {
  network net;
  net.listen(0);
  net.hide(1);
  net.world.link(net.client, net.host(0)).delay(beck::duration(400ms), beck::duration(400ms));
  beck::async_connect(net.socket, endpoint_list{net.v4(0), net.v4(1)}, happy_eyeballs(),
                      net.got.handler());
  net.world.run();
  CHECK(net.got.to == net.v4(0));
  CHECK(net.ms_since_start(net.got) == 800);
}

CONFORMANCE_ON(beck::test::sim, "with two answers the first one wins and the other is closed") {
  network net;
  net.listen(0);
  net.listen(1);
  net.world.link(net.client, net.host(0)).delay(beck::duration(400ms), beck::duration(400ms));
  beck::async_connect(net.socket, endpoint_list{net.v4(0), net.v4(1)}, happy_eyeballs(),
                      net.got.handler());
  const auto before = open_descriptors(net.client, net.ctx);
  net.world.run();
  CHECK(net.got.to == net.v4(1));
  const int mine = net.socket.native_handle();
  net.socket.close();
  CHECK(mine >= before[0]);
  CHECK(open_descriptors(net.client, net.ctx) == before);  // no descriptor is left
}

CONFORMANCE_ON(beck::test::sim, "when all fail the error is that of the one that failed last") {
  network net;
  net.hide(0);  // times out after two minutes; 1 refuses
  beck::async_connect(net.socket, endpoint_list{net.v4(0), net.v4(1)}, happy_eyeballs(),
                      net.got.handler());
  const auto before = open_descriptors(net.client, net.ctx);
  net.world.run();
  CHECK(net.got.failed(error::timed_out));
  CHECK(net.ms_since_start(net.got) == 127'000);
  CHECK(open_descriptors(net.client, net.ctx) == before);
}

CONFORMANCE_ON(beck::test::sim, "a time limit in the middle of a race leaves nothing behind") {
  network net;
  for (const int silent : {0, 1, 2}) net.hide(silent);
  const auto before = open_descriptors(net.client, net.ctx);
  bool done = false;
  const auto body = [](network& n, endpoint_list all, bool& over) -> beck::task<> {
    const auto to =
        co_await beck::timeout(beck::async_connect(n.socket, all, happy_eyeballs()), 600ms);
    CHECK(to.error() == error::timeout);
    CHECK((beck::steady_now() - n.start).nanoseconds() / 1'000'000 == 600);
    over = true;
  };
  beck::co_spawn(net.ctx, body(net, {net.v4(0), net.v4(1), net.v4(2)}, done), beck::detached);
  net.world.run();
  CHECK(done);
  CHECK(!net.socket.is_open());
  CHECK(open_descriptors(net.client, net.ctx) == before);
}

CONFORMANCE_ON(beck::test::sim,
               "by name: a black hole at the first address of a host is passed by") {
  network net;
  net.listen(0);
  net.client.inject(sim::fault::connect_timed_out);  // the v6 address
  beck::async_connect(net.socket, "server0", "http", net.got.handler());
  net.world.run();
  CHECK(net.got.to == net.v4(0));
  CHECK(net.ms_since_start(net.got) == 250);
}

CONFORMANCE_ON(beck::test::sim, "versions take turns in the order that they came in") {
  const endpoint_list all{network::v4(0), network::v4(1), network::v6(2), network::v6(3)};
  const int order[] = {2, 0, 3, 1};
  for (int answers = 0; answers < 4; ++answers) {
    network one;
    for (int i = 0; i < 4; ++i) {
      if (i == order[answers]) {
        one.listen(i);
      } else {
        one.hide(i);
      }
    }
    beck::async_connect(one.socket, all, happy_eyeballs(), one.got.handler());
    one.world.run();
    CHECK(!one.got.ec);
    CHECK(one.ms_since_start(one.got) == 250 * answers);
  }
}
