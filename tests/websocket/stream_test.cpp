// SPDX-License-Identifier: BSL-1.0
// Streams of both ends: messages and their parts, many writers, cancellation, the close handshake.
#include <beck/websocket/stream.hpp>

#include <beck/coro/timeout.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/conformance.hpp"
#include "support/pattern.hpp"
#include "websocket/pair.hpp"

using namespace beck::websocket;
using namespace beck::websocket::test;
using beck::error_code;
using beck::io_result;
using beck::task;
using beck::test::pattern;

namespace {

constexpr auto text = message_kind::text;
constexpr auto binary = message_kind::binary;

limits large() { return limits{.frame_bytes = 1 << 24, .message_bytes = 1 << 24}; }

/// Runs a task for a millisecond at most.
template <class T>
task<T> briefly(task<T> work) {
  auto result = co_await beck::timeout(std::move(work), beck::duration(1'000'000));
  co_return result;
}

/// Reads in parts of at most `room` bytes up to the end of a message.
task<std::string> read_parts(stream& from, std::size_t room, std::vector<message_part>& parts) {
  std::string all, piece(room, ' ');
  for (;;) {
    auto [ec, part] = co_await from.read_some(beck::buffer(piece));
    if (ec) co_return "error: " + ec.message();
    parts.push_back(part);
    all.append(piece, 0, part.bytes);
    if (part.is_last) co_return all;
  }
}

}  // namespace

CONFORMANCE("websocket: messages of all sizes arrive whole, in both directions") {
  pair_site s(large(), large());
  REQUIRE(!s.connect());
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{125}, std::size_t{126}, std::size_t{4096},
        std::size_t{5000}, std::size_t{65'535}, std::size_t{65'536}, std::size_t{70'000},
        std::size_t{1'000'000}}) {
    CAPTURE(bytes);
    const std::string data = pattern(bytes);
    for (const bool from_client : {true, false}) {
      stream& from = from_client ? s.client() : s.server();
      stream& to = from_client ? s.server() : s.client();
      std::optional<io_result<>> sent;
      s.start(from.write(bytes % 2 == 0 ? text : binary, as_buffer(data)), sent);
      beck::flat_buffer got;
      const auto result = s.run(to.read(got));
      CHECK(!result.error());
      CHECK(*result == (bytes % 2 == 0 ? text : binary));
      CHECK((got.view() == std::string_view(data.data(), data.size())));
      s.ends.run_until([&] { return sent.has_value(); });
      CHECK(!sent->error());
    }
  }
  CHECK(s.client().queued() == 0);
  CHECK(!s.client().error());
  CHECK(s.client().error_text().empty());
}

CONFORMANCE("websocket: a message is read in parts of any size, and the rest by read()") {
  pair_site s(large(), large());
  REQUIRE(!s.connect());
  const std::string data = pattern(30'000);
  for (const std::size_t room :
       {std::size_t{1}, std::size_t{7}, std::size_t{3000}, std::size_t{64'000}}) {
    CAPTURE(room);
    std::optional<io_result<>> sent;
    s.start(s.client().write(binary, as_buffer(data)), sent);
    std::vector<message_part> parts;
    CHECK((s.run(read_parts(s.server(), room, parts)) == data));
    for (const message_part& part : parts) {
      CHECK(part.kind == binary);
      CHECK(part.bytes != 0);
      CHECK(part.is_last == (&part == &parts.back()));
    }
  }
  CHECK(!s.run(s.client().write(text, as_buffer("abcdef"))).error());
  CHECK(!s.run(s.client().write(text, as_buffer(""))).error());
  char two[2];
  const auto first = s.run(s.server().read_some(beck::buffer(two)));
  CHECK(first->bytes == 2);
  CHECK(!first->is_last);
  beck::flat_buffer rest;
  CHECK(!s.run(s.server().read(rest)).error());
  CHECK(rest.view() == "cdef");
  const auto none = s.run(s.server().read_some(beck::buffer(two)));
  CHECK(none->bytes == 0);
  CHECK(none->is_last);
  CHECK(!s.run(s.server().read_some(beck::mutable_buffer())).error());  // at once
}

CONFORMANCE("websocket: parts of a message are sent as they come, and other writes wait") {
  pair_site s;
  REQUIRE(!s.connect());
  CHECK(!s.run(s.client().write_part(text, as_buffer("one "), false)).error());
  std::optional<io_result<>> other;
  s.start(s.client().write(text, as_buffer("other")), other);
  const message news(text, as_buffer("news"));
  CHECK(!s.client().send(news));
  s.settle();
  CHECK(!other);
  char room[10];
  const auto part = s.run(s.server().read_some(beck::buffer(room)));
  CHECK(std::string_view(room, part->bytes) == "one ");
  CHECK(!part->is_last);
  CHECK(!s.run(s.client().write_part(text, as_buffer("two "), false)).error());
  CHECK(!s.run(s.client().write_part(text, as_buffer(""), true)).error());
  CHECK(s.run(read_text(s.server())) == "two ");
  CHECK(s.run(read_text(s.server())) == "news");
  CHECK(s.run(read_text(s.server())) == "other");
  CHECK(other.has_value());
}

CONFORMANCE("websocket: many writers share a stream, and no message is torn") {
  limits small_queue = large();
  small_queue.queue_bytes = 5000;
  pair_site s(large(), small_queue);
  REQUIRE(!s.connect());
  constexpr int writers = 20;
  std::vector<std::string> texts;
  for (int i = 0; i < writers; ++i)
    texts.push_back(pattern(i % 3 == 0 ? 20'000U : 100U, static_cast<std::size_t>(i % 3)) +
                    std::to_string(i));
  std::vector<std::optional<io_result<>>> sent(writers);
  for (std::size_t i = 0; i < writers; ++i)
    s.start(s.client().write(text, as_buffer(texts[i])), sent[i]);
  for (int i = 0; i < writers; ++i)
    CHECK((s.run(read_text(s.server())) == texts[static_cast<std::size_t>(i)]));
  for (const auto& one : sent) CHECK(one.has_value());
}

CONFORMANCE("websocket: what was sent during a large message follows it by itself") {
  pair_site s(large(), large());
  REQUIRE(!s.connect());
  const std::string half = pattern(8000);
  CHECK(!s.run(s.server().write_part(text, as_buffer(half), false)).error());
  CHECK(!s.server().send(message(text, as_buffer("news"))));
  CHECK(!s.run(s.server().write_part(text, as_buffer(half), true)).error());
  CHECK((s.run(read_text(s.client())) == half + half));
  CHECK(s.run(read_text(s.client())) == "news");
}

CONFORMANCE("websocket: messages that wait for the end of a message leave room for its parts") {
  for (const bool in_parts : {true, false}) {
    pair_site s(large(), large());
    REQUIRE(!s.connect());
    const std::string data = pattern(8'000'000);  // more than the sockets take
    std::optional<io_result<>> sent;
    if (in_parts) {
      CHECK(!s.run(s.server().write_part(text, as_buffer("a"), false)).error());
    } else {
      s.start(s.server().write(text, as_buffer(data)), sent);
      s.settle();
      REQUIRE(!sent);
    }
    const message news(text, as_buffer(pattern(1000)));
    std::size_t taken = 0;
    while (!s.server().send(news)) REQUIRE(++taken < 1000);
    CHECK(taken != 0);
    if (in_parts) s.start(s.server().write_part(text, as_buffer(data), true), sent);
    CHECK((s.run(read_text(s.client())) == (in_parts ? "a" + data : data)));
    for (std::size_t i = 0; i < taken; ++i) CHECK((s.run(read_text(s.client())) == pattern(1000)));
    s.ends.run_until([&] { return sent.has_value(); });
    CHECK(!sent->error());
  }
}

CONFORMANCE("websocket: a peer that is not read makes the writer wait") {
  pair_site s(large(), large());
  REQUIRE(!s.connect());
  const std::string data = pattern(60'000);
  std::size_t written = 0;
  bool ended = false;
  co_spawn(
      s.ends.ctx,
      [&]() -> task<> {
        for (;;) {
          auto sent = co_await s.client().write(text, as_buffer(data));
          if (sent.error()) break;
          ++written;
        }
        ended = true;
      },
      beck::detached);
  std::size_t before = 1;
  while (before != written) {
    before = written;
    s.settle();
  }
  CHECK(!ended);
  CHECK(s.client().queued() <= limits().queue_bytes);
  CHECK(s.client().queued() > limits().queue_bytes / 2);
  CHECK(written < 1000);  // what the sockets and the queue hold
  for (std::size_t i = 0; i < before; ++i) CHECK((s.run(read_text(s.server())) == data));
  s.ends.run_until([&] { return written > before; });
  s.clients.clear();
  s.ends.run_until([&] { return ended; });
}

CONFORMANCE("websocket: a cancelled read loses nothing, also in the middle of a message") {
  pair_site s(large(), large());
  REQUIRE(!s.connect());
  const std::string data = pattern(50'000);
  beck::flat_buffer got;
  const auto late = s.run(briefly(s.server().read(got)));
  CHECK(late.error() == beck::error::timeout);
  CHECK(!s.run(s.client().write_part(text, as_buffer(data), false)).error());
  for (int i = 0; i < 3; ++i) {
    const auto again = s.run(briefly(s.server().read(got)));
    CHECK(again.error() == beck::error::timeout);
  }
  CHECK(!s.server().error());
  CHECK(!s.run(s.client().write_part(text, as_buffer("end"), true)).error());
  CHECK(!s.run(s.server().read(got)).error());
  CHECK((std::string(got.view().data(), got.size()) == data + "end"));
  // The rest of a message may be read in parts; the next message is alone in the buffer.
  CHECK(!s.run(s.client().write_part(text, as_buffer("ab"), false)).error());
  CHECK(s.run(briefly(s.server().read(got))).error() == beck::error::timeout);
  CHECK(got.view() == "ab");
  CHECK(!s.run(s.client().write_part(text, as_buffer("cd"), true)).error());
  std::vector<message_part> parts;
  CHECK(s.run(read_parts(s.server(), 10, parts)) == "cd");
  CHECK(!s.run(s.client().write(text, as_buffer("next"))).error());
  CHECK(!s.run(s.server().read(got)).error());
  CHECK(got.view() == "next");
}

CONFORMANCE("websocket: a write that is cancelled before its first byte leaves no trace") {
  pair_site s;
  REQUIRE(!s.connect());
  CHECK(!s.run(s.client().write_part(text, as_buffer("a"), false)).error());
  const auto late = s.run(briefly(s.client().write(text, as_buffer("never"))));
  CHECK(late.error() == beck::error::timeout);
  CHECK(!s.run(s.client().write_part(text, as_buffer("b"), true)).error());
  CHECK(!s.run(s.client().write(text, as_buffer("next"))).error());
  CHECK(s.run(read_text(s.server())) == "ab");
  CHECK(s.run(read_text(s.server())) == "next");
}

CONFORMANCE("websocket: a write that is cancelled inside its message ends the connection") {
  pair_site s(large(), large());
  REQUIRE(!s.connect());
  const std::string data = pattern(16'000'000);  // more than the sockets take
  const auto late = s.run(briefly(s.client().write(text, as_buffer(data))));
  CHECK(late.error() == beck::error::timeout);
  CHECK(s.client().error() == stream_error::write_cancelled);
  const auto later = s.run(s.client().write(text, as_buffer("x")));
  CHECK(later.error() == stream_error::write_cancelled);
  beck::flat_buffer got;
  const auto end = s.run(s.server().read(got));
  CHECK(end.error() == stream_error::closed);
  CHECK(s.server().peer_code() == close_code::internal_error);
}

CONFORMANCE("websocket: either end closes, and both get the code and the reason") {
  for (const bool by_client : {true, false}) {
    pair_site s;
    REQUIRE(!s.connect());
    stream& first = by_client ? s.client() : s.server();
    stream& second = by_client ? s.server() : s.client();
    std::optional<std::string> read;
    s.start(read_text(second), read);
    CHECK(!s.run(first.close(static_cast<close_code>(4001), "enough")).error());
    s.ends.run_until([&] { return read.has_value(); });
    CHECK(*read == "error: The WebSocket connection is closed");
    CHECK(second.peer_code() == static_cast<close_code>(4001));
    CHECK(second.peer_reason() == "enough");
    CHECK(second.error_text() == "The WebSocket connection is closed: 4001 enough");
    CHECK(first.peer_code() == static_cast<close_code>(4001));
    CHECK(first.peer_reason().empty());
    CHECK(first.error() == stream_error::closed);
    CHECK(s.run(first.write(text, as_buffer("x"))).error() == stream_error::closed);
    CHECK(first.send(message(text, as_buffer("x"))) == stream_error::closed);
    CHECK(s.run(read_text(first)) == "error: The WebSocket connection is closed");
    CHECK(!s.run(first.close()).error());  // again: nothing happens
    CHECK(!s.run(second.close()).error());
  }
}

CONFORMANCE("websocket: both ends may close at once, and while they read") {
  pair_site s;
  REQUIRE(!s.connect());
  std::optional<std::string> one, other;
  std::optional<io_result<>> first, second;
  s.start(read_text(s.client()), one);
  s.start(read_text(s.server()), other);
  s.settle();
  s.start(s.client().close(close_code::going_away), first);
  s.start(s.server().close(close_code::normal), second);
  s.ends.run_until([&] { return first && second && one && other; });
  CHECK(!first->error());
  CHECK(!second->error());
  CHECK(s.client().peer_code() == close_code::normal);
  CHECK(s.server().peer_code() == close_code::going_away);
}

CONFORMANCE("websocket: what was written before close() arrives before it") {
  pair_site s(large(), large());
  REQUIRE(!s.connect());
  const std::string data = pattern(200'000);
  std::optional<io_result<>> sent, closed;
  s.start(s.client().write(binary, as_buffer(data)), sent);
  s.ends.run_until([&] { return sent.has_value(); });
  s.start(s.client().close(), closed);
  CHECK((s.run(read_text(s.server())) == data));
  CHECK(s.run(read_text(s.server())) == "error: The WebSocket connection is closed");
  s.ends.run_until([&] { return closed.has_value(); });
  CHECK(!closed->error());
}

CONFORMANCE("websocket: a peer that goes without a close frame is cut short") {
  pair_site s;
  REQUIRE(!s.connect());
  std::optional<std::string> read;
  s.start(read_text(s.server()), read);
  s.settle();
  s.clients.clear();
  s.ends.run_until([&] { return read.has_value(); });
  CHECK(s.server().error());
  CHECK(s.server().peer_code() == close_code::abnormal);
  CHECK(s.server().error() == beck::errc::connection_reset);
}

CONFORMANCE("websocket: close codes and reasons that must not be sent are refused") {
  pair_site s;
  REQUIRE(!s.connect());
  for (const unsigned code : {0U, 999U, 1004U, 1005U, 1006U, 1015U, 2999U, 5000U})
    CHECK_THROWS_AS(static_cast<void>(s.client().close(static_cast<close_code>(code))),
                    std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(s.client().close(close_code::normal, std::string(124, 'x'))),
                  std::invalid_argument);
  std::optional<std::string> read;
  s.start(read_text(s.server()), read);
  CHECK(!s.run(s.client().close(close_code::normal, std::string(123, 'x'))).error());
  CHECK(s.server().peer_reason() == std::string(123, 'x'));
}

CONFORMANCE("websocket: streams are moved and destroyed while tasks use them") {
  pair_site s;
  REQUIRE(!s.connect());
  std::optional<std::string> read;
  beck::flat_buffer data;
  std::optional<io_result<message_kind>> got;
  s.start(s.server().read(data), got);
  stream moved = std::move(s.servers.front());
  s.settle();
  CHECK(!s.run(s.client().write(text, as_buffer("hello"))).error());
  s.ends.run_until([&] { return got.has_value(); });
  CHECK(data.view() == "hello");
  got.reset();
  s.start(moved.read(data), got);
  s.settle();
  moved = stream();
  s.ends.run_until([&] { return got.has_value(); });
  CHECK(got->error() == beck::error::operation_aborted);
  s.ends.run_until([&] { return s.ends.server.stats().connections == 0; });
}

CONFORMANCE("websocket: a context is destroyed with streams, reads and writes under way") {
  for (int round = 0; round < 2; ++round) {
    auto s = std::make_unique<pair_site>(large(), large());
    REQUIRE(!s->connect());
    const std::string data = pattern(9'000'000);
    std::optional<io_result<>> sent;
    std::optional<std::string> read;
    s->start(s->client().write(text, as_buffer(data)), sent);
    s->start(read_text(s->client()), read);
    s->settle();
    CHECK(!sent);
  }
}

CONFORMANCE("websocket: behind a large message anything may follow, however it arrives") {
  served s(echo_site{large()});
  const std::string one = pattern(20'000), two = pattern(30'001, 1);
  const std::string half = two.substr(0, 15'000), rest = two.substr(15'000);
  const std::string frames =
      text_frame(one) + text_frame(one) + ping_frame("p") + frame(opcode::binary, two) +
      text_frame("a") + text_frame("") + frame(opcode::text, half, part()) + ping_frame("q") +
      frame(opcode::continuation, rest) + text_frame(one) + frame(opcode::text, "", part()) +
      frame(opcode::continuation, two) + text_frame(one) + close_frame(1000);
  const std::string whole = transcript_of(frames, side::server);
  std::string echoes = whole;  // pings are answered with pongs, and may overtake an echo
  for (const char* ping : {"ping:p ", "ping:q "}) echoes.erase(echoes.find(ping), 7);
  for (const unsigned piece : {0U, 1U, 1000U, 4096U, 20'000U, 20'008U, 20'009U, 33'333U}) {
    CAPTURE(piece);
    std::string got = talk(s, frames, piece);
    for (const char* pong : {"pong:p ", "pong:q "}) {
      REQUIRE(has(got, pong));
      got.erase(got.find(pong), 7);
    }
    const bool right = got == echoes;
    CHECK(right);
  }
  // The same without the rest of a message: nothing is taken for a whole one.
  peer& cut = s.start(upgrade_request() + text_frame(one) + text_frame(one).substr(0, 10'000));
  s.run_until([&] { return transcript_of(cut) == "text:" + one; });
  cut.socket.close();
  s.run_until([&] { return s.server.stats().connections == 0; });
}

CONFORMANCE("websocket: a read that has less room than its message tells the peer") {
  pair_site s;
  REQUIRE(!s.connect());
  std::optional<std::string> told;
  s.start(read_text(s.client()), told);
  CHECK(!s.run(s.client().write(text, as_buffer(pattern(3000)))).error());
  beck::flat_buffer small(1000);
  CHECK(s.run(s.server().read(small)).error() == stream_error::message_too_long);
  s.ends.run_until([&] { return told.has_value(); });
  CHECK(s.client().peer_code() == close_code::too_big);
}
