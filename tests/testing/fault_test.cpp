// SPDX-License-Identifier: BSL-1.0
// Each fault of a simulated world: what a program sees of it.
#include <doctest/doctest.h>
#include <beck/testing/sim.hpp>

#include <beck/net/local.hpp>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "testing/two_hosts.hpp"

using namespace beck;
using beck::test::seconds;
using beck::test::two_contexts;
namespace sim = beck::testing::sim;
using sim::fault;

namespace {

constexpr duration second = seconds(1);

sim::settings only(fault which, double probability) {
  return sim::settings().calm().with(sim::faults::none().set(which, probability).in_every_seed());
}

/// Two hosts with a connection whose first message has been answered.
struct connected : two_contexts {
  explicit connected(const sim::settings& how = sim::settings().calm(), std::uint64_t seed = 1)
      : two_contexts(seed, how) {
    start("hello");
    world.run_until_idle();
    REQUIRE(answer == "hello");
  }
};

/// A UNIX pair on one host.
struct local_pair {
  local_pair() { connect_pair(a, b); }
  sim::world world{1, sim::settings().calm()};
  sim::host& host = world.host("a");
  io_context ctx{host};
  local::stream_protocol::socket a{ctx}, b{ctx};
};

}  // namespace

// --- on the way ----------------------------------------------------------------------------------

TEST_CASE("a lost packet comes when TCP sends it again, and what is behind it waits for it") {
  connected net;
  const time_point start = net.world.now();
  net.client.inject(fault::loss);
  std::string got(2, '\0');
  error_code ec = error::make_error_code(error::eof);
  net.socket.async_write_some(buffer("a", 1), [](error_code, std::size_t) {});
  net.socket.async_write_some(buffer("b", 1), [](error_code, std::size_t) {});
  async_read(net.socket, buffer(got), [&](error_code e, std::size_t) { ec = e; });
  net.world.run_for(duration(150'000'000));
  CHECK(net.echoed == 5);
  net.world.run_until_idle();
  CHECK_FALSE(ec);
  CHECK(got == "ab");
  CHECK(net.world.now() - start >= duration(200'000'000));
  CHECK(net.world.now() - start < seconds(2));
  CHECK(net.world.count(fault::loss) == 1);
}

TEST_CASE("a lost SYN delays a connect by seconds") {
  two_contexts net;
  net.client.inject(fault::loss);
  const time_point start = net.world.now();
  net.start("hello");
  net.world.run_until_idle();
  CHECK(net.answer == "hello");
  CHECK(net.connected_at - start >= second);
  CHECK(net.connected_at - start < seconds(8));
}

TEST_CASE("packets that take longer are overtaken by those of other connections") {
  int overtaken = 0;
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    two_contexts net(seed, sim::settings().calm());
    ip::tcp::socket other(net.on_client);
    ip::tcp::socket ends[2] = {ip::tcp::socket(net.on_server), ip::tcp::socket(net.on_server)};
    net.socket.async_connect(net.server_endpoint(), [](error_code) {});
    other.async_connect(net.server_endpoint(), [](error_code) {});
    for (ip::tcp::socket& end : ends) {
      net.acceptor.async_accept([&end](error_code, ip::tcp::socket s) { end = std::move(s); });
    }
    net.world.run_until_idle();
    std::string order;
    char data[2][8];
    for (int i = 0; i < 2; ++i) {
      ends[i].async_read_some(buffer(data[i]),
                              [&order, &data, i](error_code, std::size_t) { order += data[i][0]; });
    }
    net.client.inject(fault::reordering);
    net.socket.async_write_some(buffer("1", 1), [](error_code, std::size_t) {});
    net.world.run_for(duration(5'000));
    other.async_write_some(buffer("2", 1), [](error_code, std::size_t) {});
    net.world.run_until_idle();
    REQUIRE(order.size() == 2);
    overtaken += order == "21" ? 1 : 0;
  }
  CHECK(overtaken > 16);
}

TEST_CASE("a reset strikes both ends at any byte, and what came before it can be read") {
  bool cut_at[11] = {};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    connected net(sim::settings().calm(), seed);
    net.client.inject(fault::reset);
    error_code read;
    char data[1];
    net.socket.async_write_some(buffer("0123456789", 10), [](error_code, std::size_t) {});
    net.world.run_until_idle();
    net.socket.async_read_some(buffer(data), [&](error_code ec, std::size_t) { read = ec; });
    net.world.run_until_idle();
    CHECK(net.echo_end == error::connection_reset);
    CHECK(read == error::connection_reset);
    REQUIRE(net.echoed - 5 <= 10);
    cut_at[net.echoed - 5] = true;
  }
  for (const bool seen : cut_at) CHECK(seen);
}

TEST_CASE("a stream may end at any byte: its reader sees the end, its writer a reset") {
  bool cut_at[11] = {};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    connected net(sim::settings().calm(), seed);
    net.client.inject(fault::end);
    error_code read;
    char data[16];
    net.socket.async_write_some(buffer("0123456789", 10), [](error_code, std::size_t) {});
    async_read(net.socket, buffer(data), [&](error_code ec, std::size_t) { read = ec; });
    net.world.run_until_idle();
    CHECK(read == error::connection_reset);
    REQUIRE(net.echoed - 5 <= 10);
    cut_at[net.echoed - 5] = true;
    CHECK(net.echo_end == error::eof);
  }
  for (const bool seen : cut_at) CHECK(seen);
}

TEST_CASE("a silent connection carries nothing, tells nobody, and lets its sender time out") {
  connected net;
  net.client.break_connection(net.socket.native_handle(), fault::silence);
  error_code read;
  char data[8];
  net.socket.async_write_some(buffer("x", 1), [](error_code, std::size_t) {});
  net.socket.async_read_some(buffer(data), [&](error_code ec, std::size_t) { read = ec; });
  net.world.run_for(seconds(900));
  CHECK(net.echoed == 5);
  CHECK_FALSE(read);
  net.world.run_for(seconds(100));
  CHECK(read == error::timed_out);
  CHECK_FALSE(net.echo_end);  // who only reads never learns it
}

TEST_CASE("a connection can be broken by hand, and only where there is one") {
  for (const fault how : {fault::reset, fault::end}) {
    connected net;
    net.client.break_connection(net.socket.native_handle(), how);
    net.world.run_until_idle();
    CHECK(net.echo_end == (how == fault::reset ? error::make_error_code(error::connection_reset)
                                               : error::make_error_code(error::eof)));
    CHECK_THROWS_AS(net.client.break_connection(1234, how), io_error);
    CHECK_THROWS_AS(net.client.break_connection(net.socket.native_handle(), fault::loss), io_error);
  }
}

TEST_CASE("a sender may learn late that there is room again") {
  sim::settings how = sim::settings().calm().buffer_sizes(64, 64);
  for (const bool stalled : {false, true}) {
    two_contexts net(3, how);
    if (stalled) net.server.inject(fault::stall, 100);
    net.start(std::string(400, 'x'));
    const time_point start = net.world.now();
    net.on_client.get_executor();
    net.world.run_until_idle();
    CHECK((net.world.now() - start > second) == stalled);
  }
}

TEST_CASE("the writer to a peer that never reads waits until it gives up by itself") {
  two_contexts net(1, sim::settings().calm().buffer_sizes(1000, 1000));
  ip::tcp::socket idle(net.on_server);
  net.acceptor.async_accept(
      [&idle](error_code, ip::tcp::socket socket) { idle = std::move(socket); });
  const std::string text(5000, 'x');
  std::size_t written = 0;
  error_code result;
  net.socket.async_connect(net.server_endpoint(), [&](error_code) {
    async_write(net.socket, buffer(text), [&](error_code ec, std::size_t n) {
      result = ec;
      written = n;
    });
  });
  net.world.run_for(seconds(3600));
  CHECK(written == 0);
  net.socket.cancel();
  net.world.run_until_idle();
  CHECK(result == error::operation_aborted);
  CHECK(written == 2000);  // both buffers
}

// --- in the kernel -------------------------------------------------------------------------------

TEST_CASE("tiny buffers take a few bytes at a time") {
  local_pair pair;
  pair.host.inject(fault::tiny_buffers, 2);
  local::stream_protocol::socket a(pair.ctx), b(pair.ctx);
  connect_pair(a, b);
  const std::string text(100, 'x');
  std::size_t taken = 0;
  a.async_write_some(buffer(text), [&](error_code, std::size_t n) { taken = n; });
  pair.world.run_until_idle();
  CHECK(taken > 0);
  CHECK(taken <= 32);
  CHECK(pair.a.write_some(buffer(text)) == 100);
}

TEST_CASE("reads and writes may fall short, down to one byte, and nothing gets lost") {
  for (const fault which : {fault::short_read, fault::short_write}) {
    std::size_t least = 100, most = 0;
    for (int i = 0; i < 200; ++i) {
      local_pair pair;
      pair.host.inject(which, 1 + static_cast<unsigned>(i));  // so that seeds are not needed
      std::string got(20, '\0');
      std::size_t once = 0;
      pair.a.async_write_some(buffer("0123456789abcdefghij", 20),
                              [&](error_code, std::size_t n) { once = n; });
      pair.world.run_until_idle();
      if (which == fault::short_read) once = pair.b.read_some(buffer(got));
      CHECK(once < 20);
      CHECK(once > 0);
      least = once < least ? once : least;
      most = once > most ? once : most;
    }
    CHECK(least < 20);
    CHECK(most >= least);
  }
  sim::world world(1, only(fault::short_write, 1)
                          .with(sim::faults::none()
                                    .set(fault::short_write, 1)
                                    .set(fault::short_read, 1)
                                    .in_every_seed()));
  io_context ctx(world.host("a"));
  local::stream_protocol::socket a(ctx), b(ctx);
  connect_pair(a, b);
  const std::string text = "the quick brown fox jumps over the lazy dog";
  std::string got(text.size(), '\0');
  async_write(a, buffer(text), [](error_code ec, std::size_t) { CHECK_FALSE(ec); });
  async_read(b, buffer(got), [](error_code ec, std::size_t) { CHECK_FALSE(ec); });
  world.run();
  CHECK(got == text);
}

TEST_CASE("a connect may be refused though somebody listens") {
  two_contexts net;
  net.client.inject(fault::connect_refused);
  net.start("hello");
  net.world.run_until_idle();
  CHECK(net.connect_result == error::connection_refused);
}

TEST_CASE("a connect to which nobody answers times out") {
  two_contexts net;
  net.client.inject(fault::connect_timed_out);
  const time_point start = net.world.now();
  net.start("hello");
  net.world.run_for(seconds(200));
  CHECK(net.connect_result == error::timed_out);
  CHECK(net.connected_at - start >= seconds(127));
  CHECK(net.connected_at - start < seconds(128));
}

TEST_CASE("a full backlog delays a TCP connect and refuses a UNIX one") {
  two_contexts net;
  net.client.inject(fault::backlog_full, 2);
  const time_point start = net.world.now();
  net.start("hello");
  net.world.run_for(seconds(10));
  CHECK(net.answer == "hello");
  CHECK(net.connected_at - start >= seconds(3));  // the third SYN
  local::stream_protocol::acceptor acceptor(net.on_client, "/a");
  local::stream_protocol::socket socket(net.on_client);
  net.client.inject(fault::backlog_full);
  error_code ec;
  socket.async_connect("/a", [&](error_code e) { ec = e; });
  net.world.run_until_idle();
  CHECK(ec == error::connection_refused);
}

TEST_CASE("an acceptor survives connections that are gone before they are accepted") {
  two_contexts net;
  net.server.inject(fault::accept_aborted);
  net.start("hello");
  net.world.run_until_idle();
  CHECK_FALSE(net.connect_result);
  CHECK(net.ask_result == error::connection_reset);
  net.socket.close();
  co_spawn(net.on_client, net.ask(net.socket, "again"), detached);
  net.world.run_until_idle();
  CHECK(net.answer == "again");
}

TEST_CASE("an acceptor without descriptors pauses and accepts later") {
  two_contexts net;
  net.server.inject(fault::accept_exhausted, 3);
  std::vector<std::string> log;
  net.on_server.on_log(
      [](const char* line, void* data) {
        static_cast<std::vector<std::string>*>(data)->push_back(line);
      },
      &log);
  net.start("hello");
  net.world.run_until_idle();
  CHECK(net.echoed == 0);
  net.world.run_for(second);
  CHECK(net.answer == "hello");
  CHECK(log.size() == 1);
}

TEST_CASE("an interrupted close has closed") {
  sim::world world(1, sim::settings().calm());
  io_context ctx(world.host("a"));
  ip::tcp::socket a(ctx, ip::tcp::v4());
  const int number = a.native_handle();
  world.host("a").inject(fault::close_interrupted);
  error_code ec;
  a.close(ec);
  CHECK(world.count(fault::close_interrupted) == 1);
  ip::tcp::socket b(ctx, ip::tcp::v4());
  CHECK(b.native_handle() == number);
  ip::tcp::socket c(ctx, ip::tcp::v4());
  CHECK(c.native_handle() == number + 1);  // nobody closed b's
}

TEST_CASE("an operation that was woken for nothing waits on") {
  local_pair pair;
  pair.host.inject(fault::spurious_event, 1);
  int reads = 0, writes = 0;
  char data[8];
  pair.b.async_read_some(buffer(data), [&](error_code ec, std::size_t) {
    CHECK_FALSE(ec);
    ++reads;
  });
  pair.world.run_until_idle();
  CHECK(reads == 0);
  const std::uint64_t vain = pair.ctx.stats().wrong_attempts;
  CHECK(vain >= 1);
  pair.a.async_write_some(buffer("x", 1), [&](error_code, std::size_t) { ++writes; });
  pair.world.run_until_idle();
  CHECK(reads == 1);
  CHECK(writes == 1);
}

// --- the clock -----------------------------------------------------------------------------------

TEST_CASE("a clock that leaps makes timers late and never early, and harms no connection") {
  sim::world world(1, only(fault::clock_jump, 1));
  io_context ctx(world.host("a"));
  steady_timer timer(ctx, second);
  const time_point due = timer.expiry();
  time_point fired;
  timer.async_wait([&](error_code ec) {
    CHECK_FALSE(ec);
    fired = world.now();
  });
  ip::tcp::acceptor acceptor(ctx, ip::tcp::endpoint(ip::tcp::v4(), 0));
  ip::tcp::socket client(ctx), server(ctx);
  client.async_connect(acceptor.local_endpoint(), [](error_code ec) { CHECK_FALSE(ec); });
  acceptor.async_accept([](error_code ec, ip::tcp::socket) { CHECK_FALSE(ec); });
  world.run();
  CHECK(fired >= due);
  CHECK(world.count(fault::clock_jump) >= 1);
  CHECK(world.now() > due + second);
}

TEST_CASE("a world can be told to leap, and then nothing happens in between") {
  sim::world world(1, sim::settings().calm());
  io_context ctx(world.host("a"));
  std::string order;
  steady_timer first(ctx, second), last(ctx, seconds(2));
  last.async_wait([&](error_code) { order += "last "; });
  first.async_wait([&](error_code) { order += "first "; });
  const time_point start = world.now();
  world.jump(seconds(10));
  CHECK(world.now() == start + seconds(10));
  CHECK(world.run() == 2);
  CHECK(order == "first last ");
}

TEST_CASE("a world near the end of time still carries bytes, and its timers do not wrap") {
  constexpr duration before_the_end = seconds(10);
  const time_point begin(duration::max() - before_the_end);
  two_contexts net(1, sim::settings().calm().start(begin));
  CHECK(net.world.now() == begin);
  bool fired = false, never = false;
  steady_timer soon(net.on_client, second), beyond(net.on_client, seconds(100));
  soon.async_wait([&](error_code) { fired = true; });
  beyond.async_wait([&](error_code) { never = true; });
  net.start("hello");
  net.world.run_for(seconds(5));
  CHECK(net.answer == "hello");
  CHECK(fired);
  CHECK_FALSE(never);
  CHECK_THROWS_AS(two_contexts(1, sim::settings().start(time_point(duration(-1)))), io_error);
}

// --- profiles ------------------------------------------------------------------------------------

TEST_CASE("without faults none strikes, and with them about a third is off in any seed") {
  std::size_t on = 0;
  std::size_t differing = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const sim::world quiet(seed);
    const sim::world world(seed, sim::settings().with(sim::faults()));
    const sim::world all(seed, sim::settings().with(sim::faults().in_every_seed()));
    const sim::world next(seed + 1, sim::settings().with(sim::faults()));
    bool differs = false;
    for (std::size_t i = 0; i < sim::fault_kinds; ++i) {
      const auto which = static_cast<fault>(i);
      CHECK_FALSE(quiet.has(which));
      CHECK(all.has(which) == (which != fault::silence));
      on += world.has(which) ? 1u : 0u;
      differs = differs || world.has(which) != next.has(which);
    }
    differing += differs ? 1u : 0u;
  }
  const std::size_t of = 100 * (sim::fault_kinds - 1);
  CHECK(on > of * 6 / 10);
  CHECK(on < of * 73 / 100);
  CHECK(differing > 90);
}

TEST_CASE("each fault has a name of its own") {
  for (std::size_t i = 0; i < sim::fault_kinds; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      CHECK(std::strcmp(to_string(static_cast<fault>(i)), to_string(static_cast<fault>(j))) != 0);
    }
  }
  CHECK(std::string(to_string(fault::loss)) == "loss");
  CHECK(std::string(to_string(fault::clock_jump)) == "clock_jump");
}

TEST_CASE("the hash differs with faults, and follows from the seed with them too") {
  const auto hash_of = [](std::uint64_t seed, const sim::settings& how) {
    two_contexts net(seed, how);
    net.start("hello");
    net.world.run_until_idle();
    return net.world.hash();
  };
  int differing = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const sim::settings with = sim::settings().with(sim::faults().set(fault::loss, 0.5));
    CHECK(hash_of(seed, with) == hash_of(seed, with));
    differing += hash_of(seed, with) != hash_of(seed, sim::settings()) ? 1 : 0;
    CHECK(hash_of(seed, sim::settings().with(sim::faults::none())) ==
          hash_of(seed, sim::settings()));
  }
  CHECK(differing > 10);
}

TEST_CASE("a trace tells what happened, line by line, and leaves the hash as it is") {
  const auto hash_of = [](std::vector<std::string>* lines) {
    two_contexts net;
    if (lines != nullptr) {
      net.world.trace(
          [](const char* line, void* data) {
            static_cast<std::vector<std::string>*>(data)->push_back(line);
          },
          lines);
    }
    net.client.inject(fault::loss);
    net.start("hello");
    net.world.run_until_idle();
    return net.world.hash();
  };
  std::vector<std::string> lines;
  CHECK(hash_of(&lines) == hash_of(nullptr));
  const auto has = [&lines](const char* part) {
    for (const std::string& line : lines) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  };
  CHECK(has("client connect(1000) = Operation now in progress"));
  CHECK(has("client fault: loss"));
  CHECK(has("client -> server: syn"));
  CHECK(has("server accept(1000) = 1001"));
  CHECK(has("client send(1000) = 5"));
  CHECK(has("client -> server(1001): bytes up to 5"));
  CHECK(has("server receive(1001) = 5"));
  CHECK(has("server event(1001): in out"));
  CHECK(lines.front().find("     0.000000000 ") == 0);
}
