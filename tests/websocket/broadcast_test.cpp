// SPDX-License-Identifier: BSL-1.0
// Broadcasts: a message is made once, each peer costs one send and no allocation, and a peer that
// does not read costs a bounded queue.
#include <beck/websocket/message.hpp>

#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "http/counted_server.hpp"
#include "support/allocations.hpp"
#include "websocket/frame_writer.hpp"
#include "websocket/pair.hpp"

using namespace beck::websocket;
using namespace beck::websocket::test;
using beck::task;
using beck::http::test::call_counts;
using beck::test::kernel;
namespace http = beck::http;
namespace ip = beck::ip;

namespace {

constexpr auto text = message_kind::text;

/// A server that keeps the streams of its peers.
class counted : public beck::http::test::counted_server {
 public:
  explicit counted(const limits& most = limits())
      : counted_server([this, most](http::request& q, http::response& r) -> task<> {
          auto accepted = co_await accept(q, r, accept_options{.limits = most});
          streams.push_back(std::move(accepted).value());
        }) {}

  void connect() {
    const int fd = counted_server::connect();
    send(fd, upgrade_request());
    const std::size_t before = streams.size();
    while (streams.size() == before) ctx.poll();
    while (!has(receive(fd), "\r\n\r\n")) ctx.poll();
  }
  /// Returns what has come.
  static std::string receive(int fd) {
    std::string got(100'000, ' ');
    const ssize_t bytes = ::recv(fd, got.data(), got.size(), MSG_DONTWAIT);
    got.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
    return got;
  }
  void settle() {
    for (int i = 0; i < 20; ++i) ctx.poll();
  }

  std::vector<stream> streams;
};

}  // namespace

CONFORMANCE_ON(kernel, "websocket: a broadcast is one allocation, and one send a peer") {
  counted c;
  constexpr int members = 100;
  for (int i = 0; i < members; ++i) c.connect();
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{20'000}}) {
    const std::string data(bytes, 'n');
    const std::string expected = frame(opcode::text, data, {.masked = false});
    for (int round = 0; round < 3; ++round) {
      const int sends = c.calls.sends;
      const std::uint64_t allocations = beck::test::allocations();
      {
        const message news(text, as_buffer(data));
        for (stream& each : c.streams) beck::ignore(each.send(news));
        while (c.calls.sends - sends < members) c.ctx.poll_one();
      }
      const std::uint64_t allocated = beck::test::allocations() - allocations;
      CHECK(c.calls.sends - sends == members);
      if (round != 0 && beck::test::counts_allocations()) CHECK(allocated == 1);
      for (const int fd : c.peers) {
        std::string got;
        while (got.size() < expected.size()) got += counted::receive(fd);
        CHECK((got == expected));
      }
    }
  }
}

CONFORMANCE_ON(kernel, "websocket: an echo is one receive and one send, and allocates nothing") {
  counted c;
  c.connect();
  co_spawn(
      c.ctx, [&]() -> task<> { beck::ignore(co_await echo_all(c.streams[0])); }, beck::detached);
  const int fd = c.peers[0];
  const std::string message_frame = text_frame("hello");
  const auto turn = [&] {
    counted::send(fd, message_frame);
    char got[100];
    while (::recv(fd, got, sizeof got, MSG_DONTWAIT) <= 0) c.ctx.poll_one();
  };
  for (int i = 0; i < 20; ++i) turn();
  const call_counts before = c.calls;
  const std::uint64_t allocations = beck::test::allocations();
  for (int i = 0; i < 100; ++i) turn();
  const std::uint64_t allocated = beck::test::allocations() - allocations;
  CHECK(c.calls.sends - before.sends == 100);
  CHECK(c.calls.receives - before.receives == 100);
  CHECK(c.calls.empty_receives == before.empty_receives);
  if (beck::test::counts_allocations()) CHECK(allocated == 0);
  // Messages that come together are answered together.
  std::string many;
  for (int i = 0; i < 16; ++i) many += message_frame;
  const int sends = c.calls.sends;
  counted::send(fd, many);
  std::string got;
  while (got.size() < 16 * 7) {
    c.ctx.poll_one();
    got += counted::receive(fd);
  }
  CHECK(c.calls.sends - sends == 1);
}

CONFORMANCE("websocket: a connection that waits holds no buffer of the context") {
  served s(echo_site(), http::limits(), context_options({.lease_count = 1, .lease_bytes = 4096}));
  const auto waits = [&] { return s.ctx.stats().lease_waits; };
  for (int i = 0; i < 3; ++i) {
    peer& one = s.start(upgrade_request() + text_frame("early"));
    s.run_until([&] { return transcript_of(one) == "text:early" || waits() != 0; });
    s.send(one, text_frame("late"));
    s.run_until([&] { return transcript_of(one) == "text:early text:late" || waits() != 0; });
  }
  CHECK(waits() == 0);
}

CONFORMANCE("websocket: a large message is received straight into the memory of its reader") {
  pair_site s;
  REQUIRE(!s.connect());
  const std::string data(60'000, 'l');  // one frame
  const auto leases = [&] { return s.ends.ctx.stats().leases; };
  std::string part(data.size(), ' ');
  beck::flat_buffer whole;
  for (int round = 0; round < 4; ++round) {
    std::optional<beck::io_result<>> sent;
    s.start(s.client().write(text, as_buffer(data)), sent);
    const std::uint64_t before = leases();
    if (round == 0) {
      for (bool is_last = false; !is_last;)
        is_last = s.run(s.server().read_some(beck::buffer(part)))->is_last;
    } else {
      CHECK(!s.run(s.server().read(whole)).error());
      CHECK((whole.view() == std::string_view(data.data(), data.size())));
    }
    // A buffer has 4096 bytes. Behind a large message not even the first head needs one.
    CHECK(leases() - before <= (round < 2 ? 4 : 0));
    s.ends.run_until([&] { return sent.has_value(); });
  }
}

CONFORMANCE("websocket: a queue of 0 bytes is one of 1,024") {
  pair_site s(limits{.queue_bytes = 0});
  REQUIRE(!s.connect());
  CHECK(!s.server().send(message(text, as_buffer(std::string(900, 'n')))));
  CHECK((s.run(read_text(s.client())) == std::string(900, 'n')));
  CHECK(s.server().send(message(text, as_buffer(std::string(1'100, 'n')))) ==
        beck::error::message_size);
}

CONFORMANCE("websocket: a full queue refuses a message, or ends the connection") {
  for (const bool drops : {false, true}) {
    pair_site s(limits{.queue_bytes = 100'000, .drop_when_full = drops});
    REQUIRE(!s.connect());
    const message news(text, as_buffer(std::string(50'000, 'n')));
    CHECK(s.server().send(message(text, as_buffer(std::string(100'000, 'n')))) ==
          beck::error::message_size);
    std::size_t taken = 0;
    beck::error_code ec;
    while (!(ec = s.server().send(news))) {
      REQUIRE(++taken < 10'000);
      s.settle();
    }
    if (drops) {
      CHECK(ec == stream_error::queue_full);
      CHECK(s.server().error() == stream_error::queue_full);
      CHECK(s.server().error_text() ==
            "More bytes wait to be sent than limits::queue_bytes allows: 100000 bytes");
      CHECK(s.server().send(news) == stream_error::queue_full);
      continue;
    }
    CHECK(ec == beck::error::would_block);
    CHECK(!s.server().error());
    for (std::size_t i = 0; i < taken; ++i)
      CHECK((s.run(read_text(s.client())) == std::string(50'000, 'n')));
    CHECK(!s.server().send(news));
    CHECK((s.run(read_text(s.client())) == std::string(50'000, 'n')));
  }
}

CONFORMANCE("websocket: a message is shared by peers, and masked for a server") {
  pair_site s;
  for (int i = 0; i < 5; ++i) REQUIRE(!s.connect());
  message news(text, as_buffer("news"));
  CHECK(news.data() == "news");
  CHECK(news.kind() == text);
  const message copy = news;
  CHECK(copy.frame().data() == news.frame().data());
  for (stream& each : s.servers) CHECK(!each.send(news));
  for (stream& each : s.clients) CHECK(!each.send(copy));
  news = message();
  CHECK(!news);
  CHECK(news.data().empty());
  CHECK(news.frame().size() == 0);
  for (stream& each : s.clients) CHECK(s.run(read_text(each)) == "news");
  for (stream& each : s.servers) CHECK(s.run(read_text(each)) == "news");
}

TEST_CASE("websocket: threads share a message, and the last one frees it") {
  constexpr int threads = 4;
  std::size_t seen[threads] = {};
  {
    message news(text, as_buffer("news"));
    std::vector<std::thread> all;
    for (std::size_t& each : seen) {
      all.emplace_back([copy = news, &each] {
        for (int i = 0; i < 1000; ++i) {
          const message own = copy;
          each += own.data().size();
        }
      });
    }
    news = message();
    for (std::thread& each : all) each.join();
  }
  for (const std::size_t each : seen) CHECK(each == 4000);
}

TEST_CASE("websocket: the frame of a message is shared with the queues, and others are copied") {
  beck::byte_queue queue;
  const message shared(text, as_buffer("shared"));
  detail::add_frame(queue, shared);
  beck::const_buffer part[4];
  CHECK(queue.gather(part) == 1);
  CHECK(part[0].data() == shared.frame().data());
  detail::add_frame(queue, as_buffer("head"), as_buffer("data"), nullptr);
  CHECK(queue.gather(part) == 2);
  CHECK(part[1].size() == 8);
  queue.clear();
  const beck::websocket::mask_key masking{{'\1', '\2', '\3', '\4'}};
  const std::string large(10'001, 'x');
  detail::add_frame(queue, as_buffer("head"), as_buffer(large), &masking);
  std::string got;
  const std::size_t count = queue.gather(part);
  for (std::size_t i = 0; i < count; ++i)
    got.append(static_cast<const char*>(part[i].data()), part[i].size());
  CHECK(got.substr(0, 4) == "head");
  std::string plain = got.substr(4);
  beck::websocket::apply_mask(plain.data(), plain.size(), masking, 0);
  CHECK((plain == large));
}

TEST_CASE("websocket: without memory for a frame the queue stays as it was") {
  NEEDS_ALLOCATION_FAULTS();
  beck::byte_queue queue;
  detail::add_frame(queue, as_buffer("abc"), {}, nullptr);
  const std::string large(1'000'000, 'x');
  for (int fails = 1; fails < 5; ++fails) {
    const beck::test::allocation_fault fault(fails);
    CHECK_THROWS_AS(detail::add_frame(queue, as_buffer("head"), as_buffer(large), nullptr),
                    std::bad_alloc);
    CHECK(queue.size() == 3);
  }
  detail::add_frame(queue, as_buffer("head"), as_buffer(large), nullptr);
  CHECK(queue.size() == 3 + 4 + large.size());
}
