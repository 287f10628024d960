// SPDX-License-Identifier: BSL-1.0
// Time limits and floods, in simulated worlds: silence, pings without a pong, peers that take
// nothing, never close, or send too much.
#include <beck/websocket/accept.hpp>

#include <beck/coro/timeout.hpp>
#include <beck/io/steady_timer.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "http/server_site.hpp"
#include "websocket/site.hpp"

using namespace beck::websocket;
using namespace beck::websocket::test;
using namespace std::chrono_literals;
using beck::error_code;
using beck::task;
using beck::http::test::site;
namespace http = beck::http;

namespace {

/// A site that echoes, and notes the ends of its connections.
struct echo_world {
  explicit echo_world(const limits& most = limits()) : s(echo_site{most, &ends}) {}

  peer& start() { return s.start(upgrade_request()); }
  error_code end() const { return ends.empty() ? error_code() : ends.back(); }

  std::vector<error_code> ends;
  site s;
};

/// Accepts, and then does nothing until the handler is stopped.
struct silent_site {
  task<> operator()(http::request& q, http::response& r) const {
    auto accepted = co_await accept(q, r, accept_options{.limits = most});
    keep->push_back(std::move(accepted).value());
  }
  limits most;
  std::vector<stream>* keep;
};

}  // namespace

TEST_CASE("websocket limits: silence is answered with a ping, and with the end if no pong comes") {
  echo_world w(limits{.ping_interval = 30s, .pong_timeout = 10s});
  peer& silent = w.start();
  w.s.listen_to(silent, 29s);
  CHECK(frames_in(silent).empty());
  w.s.listen_to(silent, 2s);
  CHECK(transcript_of(silent) == "ping:");
  w.s.listen_to(silent, 8s);
  CHECK(w.ends.empty());
  w.s.listen_to(silent, 2s);
  CHECK(silent.done);
  CHECK(w.end() == stream_error::pong_late);
  CHECK(w.end() == beck::errc::timed_out);
  CHECK(transcript_of(silent) == "ping:");
  CHECK(w.s.server.stats().connections == 0);
}

TEST_CASE("websocket limits: any byte of the peer shows that it is there") {
  echo_world w(limits{.ping_interval = 30s, .pong_timeout = 10s});
  peer& one = w.start();
  for (int i = 0; i < 5; ++i) {
    w.s.both(one, frame(opcode::pong, ""), 25s);
    w.s.both(one, text_frame("x").substr(0, 3), 25s);
    w.s.both(one, text_frame("x").substr(3), 25s);
  }
  w.s.listen_to(one, 1s);
  CHECK(transcript_of(one) == "text:x text:x text:x text:x text:x");
  w.s.listen_to(one, 8s);
  w.s.both(one, frame(opcode::pong, ""), 20s);
  w.s.listen_to(one, 1s);
  CHECK(w.ends.empty());
  CHECK(transcript_of(one) == "text:x text:x text:x text:x text:x ping:");
  w.s.listen_to(one, 10s);
  CHECK(w.ends.empty());
  CHECK(transcript_of(one) == "text:x text:x text:x text:x text:x ping: ping:");
}

TEST_CASE("websocket limits: reads that are given up early do not hide the silence of a peer") {
  std::optional<error_code> end;
  site s([&](http::request& q, http::response& r) -> task<> {
    const limits most = limits{.ping_interval = 30s, .pong_timeout = 10s};
    auto accepted = co_await accept(q, r, accept_options{.limits = most});
    stream ws = std::move(accepted).value();
    beck::flat_buffer data;
    while (!ws.error()) beck::ignore(co_await beck::timeout(ws.read(data), 300ms));
    end = ws.error();
  });
  peer& silent = s.start(upgrade_request());
  s.listen_to(silent, 29s);
  CHECK(frames_in(silent).empty());
  s.listen_to(silent, 2s);
  CHECK(transcript_of(silent) == "ping:");
  s.listen_to(silent, 10s);
  REQUIRE(end);
  CHECK(*end == stream_error::pong_late);
}

TEST_CASE("websocket limits: without a limit for silence no ping is sent") {
  echo_world w(limits{.ping_interval = beck::duration::max()});
  peer& silent = w.start();
  w.s.listen_to(silent, 24h);
  CHECK(frames_in(silent).empty());
  CHECK(!silent.done);
}

TEST_CASE("websocket limits: a stream that is not read does not take its peer for silent") {
  std::vector<stream> kept;
  site s(silent_site{limits(), &kept});
  peer& one = s.start(upgrade_request(), text_frame("unread"), 1h);
  CHECK(kept.size() == 1);
  CHECK(!kept[0].error());
  s.listen_to(one, 1s);
  CHECK(frames_in(one).empty());
  kept.clear();
}

TEST_CASE("websocket limits: a peer that takes nothing of what is sent is cut") {
  echo_world w(limits{.ping_interval = 1h, .send_timeout = 30s});
  const std::string large = text_frame(std::string(60'000, 'l'));
  peer& deaf = w.start();
  for (int i = 0; i < 20; ++i) w.s.step(deaf, large);
  w.s.world.run_for(29s);
  CHECK(w.ends.empty());
  w.s.world.run_for(32s);
  CHECK(w.end() == stream_error::send_late);
  CHECK(w.s.server.stats().connections == 0);
  peer& slow = w.start();
  for (int i = 0; i < 10; ++i) w.s.step(slow, large);
  for (int i = 0; i < 40; ++i) {
    std::string part(65'536, ' ');
    std::size_t bytes = 0;
    slow.socket.async_read_some(beck::buffer(part), [&](error_code, std::size_t n) { bytes = n; });
    w.s.world.run_for(20s);
    slow.received.append(part, 0, bytes);
  }
  CHECK(w.ends.size() == 1);  // the slow one is still served
}

TEST_CASE("websocket limits: the time for a pong begins when the ping has left the queue") {
  echo_world w(limits{.ping_interval = 30s, .pong_timeout = 10s});
  const std::string large(60'000, 'l');
  peer& slow = w.start();
  for (int i = 0; i < 6; ++i) w.s.step(slow, text_frame(large));
  const auto take = [&] {
    std::string part(32'768, ' ');
    std::size_t bytes = 0;
    slow.socket.async_read_some(beck::buffer(part), [&](error_code, std::size_t n) { bytes = n; });
    w.s.world.run_for(15s);
    slow.received.append(part, 0, bytes);
    return bytes;
  };
  for (int i = 0; i < 4; ++i) CHECK(take() != 0);
  CHECK(w.ends.empty());  // its ping waits behind the echoes
  w.s.listen_to(slow, 5s);
  CHECK(transcript_of(slow).ends_with(" ping:"));
  CHECK(w.ends.empty());
  w.s.listen_to(slow, 10s);
  CHECK(w.end() == stream_error::pong_late);
}

TEST_CASE("websocket limits: a ping that fills the queue, and leaves at once, is waited for, too") {
  std::vector<error_code> ends;
  const limits most = limits{.ping_interval = 30s, .pong_timeout = 10s};
  site s([&](http::request& q, http::response& r) -> task<> {
    auto accepted = co_await accept(q, r, accept_options{.limits = most});
    stream ws = std::move(accepted).value();
    const std::string filling(65'530, 'f');  // with its head two bytes less than is sent at once
    const message most_of_all(message_kind::text, beck::buffer(filling));
    beck::steady_timer timer(r.get_executor(), 30s);  // then the ping is due
    timer.async_wait([&](error_code) { CHECK(!ws.send(most_of_all)); });
    beck::flat_buffer line;
    auto got = co_await ws.read(line);
    ends.push_back(got.error());
  });
  peer& silent = s.start(upgrade_request());
  s.listen_to(silent, 35s);
  CHECK(transcript_of(silent).ends_with("f ping:"));
  CHECK(ends.empty());
  s.listen_to(silent, 10s);
  REQUIRE(ends.size() == 1);
  CHECK(ends[0] == stream_error::pong_late);
}

TEST_CASE("websocket limits: a peer that never answers a close frame is waited for, not for ever") {
  std::optional<beck::io_result<>> closed;
  std::optional<std::string> failure;
  site s([&](http::request& q, http::response& r) -> task<> {
    auto accepted = co_await accept(q, r, accept_options{.limits = limits{.close_timeout = 3s}});
    stream ws = std::move(accepted).value();
    auto result = co_await ws.close(close_code::going_away);
    closed.emplace(result);
    failure = ws.error_text();
  });
  peer& one = s.start(upgrade_request(), 2900ms);
  CHECK(!closed);
  s.listen_to(one, 200ms);
  REQUIRE(closed);
  CHECK(closed->error() == stream_error::close_late);
  CHECK(*failure == "The peer sent no close frame within limits::close_timeout: 3000 ms");
  CHECK(transcript_of(one) == "close:1001:");
  CHECK(one.done);
  // It goes on sending: that prolongs nothing, and nothing follows the close frame.
  closed.reset();
  peer& chatty = s.start(upgrade_request());
  for (int i = 0; i < 40; ++i) s.both(chatty, text_frame("more") + ping_frame(""), 100ms);
  s.listen_to(chatty, 1s);
  CHECK(frames_in(chatty) == frame(opcode::close, close_body(1001), {.masked = false}));
  REQUIRE(closed);
  CHECK(closed->error() == stream_error::close_late);
  CHECK(s.server.stats().connections == 0);
  // So does an answer that comes late, of a peer that stays.
  closed.reset();
  peer& late = s.start(upgrade_request(), 2900ms);
  s.both(late, close_frame(1001), 200ms);
  REQUIRE(closed);
  CHECK(!closed->error());
  CHECK(s.server.stats().connections == 0);
}

TEST_CASE("websocket limits: a peer that answers a close frame and stays is cut, too") {
  echo_world w;
  peer& one = w.start();
  w.s.step(one, close_frame(1000));
  w.s.world.run_for(2s);
  CHECK(w.s.server.stats().connections == 1);
  w.s.world.run_for(2s);
  CHECK(w.s.server.stats().connections == 0);
  CHECK(w.end() == stream_error::closed);
  // And one that breaks the protocol gets its close frame, and no more time.
  peer& bad = w.start();
  w.s.step(bad, frame(3, ""));
  w.s.world.run_for(4s);
  CHECK(w.end() == stream_error::bad_opcode);
  CHECK(w.s.server.stats().connections == 0);
  w.s.listen_to(bad, 1s);
  CHECK(transcript_of(bad) == "close:1002:");
}

TEST_CASE("websocket limits: a flood of pings costs bounded work and memory, and data goes on") {
  echo_world w(limits{.control_frames = 500});
  std::string pings;
  for (int i = 0; i < 400; ++i)
    pings += ping_frame(std::string(100, static_cast<char>('a' + i % 26)));
  peer& one = w.start();
  for (int round = 0; round < 5; ++round) {
    w.s.step(one, pings + text_frame("data") + pings + text_frame("data"));
    w.s.listen_to(one, 1s);
  }
  const std::string got = transcript_of(one);
  std::size_t echoes = 0;
  for (std::size_t at = 0; (at = got.find("text:data", at)) != got.npos; ++at) ++echoes;
  CHECK(echoes == 10);
  CHECK(w.ends.empty());
  // The last ping before data is always answered.
  CHECK(has(got, "pong:" + std::string(100, static_cast<char>('a' + 399 % 26))));
  w.s.step(one, pings + pings);
  w.s.listen_to(one, 4s);
  CHECK(w.end() == stream_error::too_many_control);
  CHECK(has(transcript_of(one), "close:1008:"));
}

TEST_CASE("websocket limits: pings of a peer that takes no pong wait in bounded memory") {
  std::vector<stream> kept;
  std::optional<error_code> end;
  std::size_t queued = 0;
  site s([&](http::request& q, http::response& r) -> task<> {
    auto accepted =
        co_await accept(q, r, accept_options{.limits = limits{.control_frames = 1'000'000}});
    kept.push_back(std::move(accepted).value());
    end = co_await echo_all(kept[0]);
  });
  peer& deaf = s.start(upgrade_request());
  std::string pings;
  for (int i = 0; i < 500; ++i) pings += ping_frame(std::string(125, 'p'));
  for (int i = 0; i < 40; ++i) {
    s.step(deaf, pings);
    queued = std::max(queued, kept[0].queued());
  }
  CHECK(!end);
  CHECK(queued <= 17 * 127);
  kept.clear();
}

TEST_CASE("websocket limits: a pong that waits does not come into the middle of a frame") {
  const std::string large(60'000, 'l');
  site s([&](http::request& q, http::response& r) -> task<> {
    auto accepted = co_await accept(q, r);
    stream ws = std::move(accepted).value();
    // The buffers of both sockets are nearly full then, so the next frame is sent in part.
    for (int i = 0; i < 2; ++i)
      beck::ignore(co_await ws.write(message_kind::text, beck::buffer(large)));
    beck::flat_buffer data;
    beck::ignore(co_await ws.read(data));  // and the pings before it
    beck::ignore(co_await ws.write(message_kind::text, beck::buffer(large)));
    beck::ignore(co_await ws.read(data));
  });
  std::string pings;
  for (int i = 0; i < 20; ++i) pings += ping_frame(std::string(100, static_cast<char>('a' + i)));
  peer& one = s.start(upgrade_request(), pings + text_frame("go"));
  s.listen_to(one, 1s);
  const std::string text = "text:" + large + " ";
  std::string expected = text + text;
  for (int i = 0; i < 16; ++i)
    expected += "pong:" + std::string(100, static_cast<char>('a' + i)) + " ";
  const bool whole = transcript_of(one) == expected + text + "pong:" + std::string(100, 't');
  CHECK(whole);
}

TEST_CASE("websocket limits: pings that come slowly for days are no flood") {
  echo_world w(limits{.control_frames = 3});
  peer& one = w.start();
  for (int i = 0; i < 2'000; ++i) w.s.both(one, ping_frame(""), 20s);
  w.s.listen_to(one, 1s);
  CHECK(w.ends.empty());
}

TEST_CASE("websocket limits: 0 frames without data in a row count as 1") {
  echo_world w(limits{.control_frames = 0});
  peer& one = w.start();
  w.s.step(one, ping_frame("one"));
  w.s.listen_to(one, 1s);
  CHECK(transcript_of(one) == "pong:one");
  CHECK(w.ends.empty());
}

TEST_CASE("websocket limits: empty parts of a message are counted like pings") {
  echo_world w(limits{.control_frames = 50});
  std::string empty = frame(opcode::text, "", part());
  for (int i = 0; i < 100; ++i) empty += frame(opcode::continuation, "", part());
  peer& one = w.start();
  w.s.step(one, empty);
  w.s.listen_to(one, 4s);
  CHECK(w.end() == stream_error::too_many_control);
}

TEST_CASE("websocket limits: a message bomb is refused at its head, without memory") {
  echo_world w(limits{.frame_bytes = 800, .message_bytes = 1000});
  // 2^62 bytes are announced; nothing of them is waited for.
  peer& one = w.start();
  w.s.step(one, std::string("\x82\xff\x40\0\0\0\0\0\0\0abcd", 14));
  w.s.listen_to(one, 4s);
  CHECK(w.end() == stream_error::frame_too_long);
  CHECK(transcript_of(one) == "close:1009:");
  peer& parts = w.start();
  w.s.step(parts, frame(opcode::text, std::string(600, 'a'), part()) +
                      frame(opcode::continuation, std::string(401, 'b')));
  w.s.listen_to(parts, 4s);
  CHECK(w.end() == stream_error::message_too_long);
  CHECK(transcript_of(parts) == "close:1009:");
  peer& good = w.start();
  w.s.step(good, frame(opcode::text, std::string(600, 'a'), part()) +
                     frame(opcode::continuation, std::string(400, 'b')));
  w.s.listen_to(good, 1s);
  CHECK(transcript_of(good) == "text:" + std::string(600, 'a') + std::string(400, 'b'));
}

TEST_CASE("websocket limits: a peer that stops at any byte is noticed, and nothing is left") {
  const std::string frames = text_frame("hello") + frame(opcode::binary, std::string(200, 'b')) +
                             ping_frame("p") + close_frame(1000, "bye");
  echo_world w;
  for (std::size_t bytes = 0; bytes < frames.size(); ++bytes) {
    peer& one = w.start();
    w.s.step(one, frames.substr(0, bytes));
    one.socket.close();
    w.s.world.run_for(10ms);
    REQUIRE(w.ends.size() == bytes + 1);
    REQUIRE(w.end() == beck::errc::connection_reset);
  }
  CHECK(w.s.server.stats().connections == 0);
}

TEST_CASE("websocket limits: stop() of the server cuts streams after the grace") {
  echo_world w;
  peer& one = w.start();
  w.s.server.stop(5s);
  w.s.both(one, text_frame("still"), 4s);
  CHECK(w.ends.empty());
  w.s.world.run_for(2s);
  w.s.listen_to(one, 1s);
  CHECK(transcript_of(one) == "text:still");
  CHECK(w.end() == beck::error::operation_aborted);
  CHECK(w.s.server.stats().connections == 0);
}
