// SPDX-License-Identifier: BSL-1.0
// Streams of TLS over sockets: bytes in both directions at once, ends, cancellation, tokens.
#include <beck/tls/stream.hpp>

#include <beck/coro/timeout.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/tls/error.hpp>

#include <chrono>
#include <memory>
#include <string>

#include "support/conformance.hpp"
#include "support/context_options.hpp"
#include "support/outcome.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"
#include "tls/both_contexts.hpp"
#include "tls/read_all.hpp"

using beck::error_code;
using beck::task;
using namespace beck::test;
namespace tls = beck::tls;
using tls::test::both_contexts;
using tls::test::read_all;

namespace {

/// A client and a server of one context over a pair of sockets.
struct secure_pair {
  explicit secure_pair(beck::io_context& ctx) : secure_pair(stream_pair(ctx)) {}
  explicit secure_pair(stream_pair&& raw)
      : client(std::move(raw.a), both_contexts::get().trust, "example.com"),
        server(std::move(raw.b), both_contexts::get().identity) {}

  tls::stream client, server;
};

task<> shake(tls::stream& s, error_code& ec) {
  auto ended = co_await s.async_handshake();
  ec = ended.error();
}

task<> write_all(tls::stream& to, std::string text, bool& whole) {
  auto sent = co_await beck::async_write(to, beck::buffer(text));
  whole = sent && sent.value_ == text.size();
}

task<> shut_down(tls::stream& s, error_code& ec) {
  auto ended = co_await s.async_shutdown();
  ec = ended.error();
}

}  // namespace

CONFORMANCE("tls: a handshake, a line in each direction, and an end that both sides know") {
  beck::io_context ctx(context_options());
  secure_pair p(ctx);
  error_code a = beck::error::interrupted, b = beck::error::interrupted;
  co_spawn(ctx, shake(p.client, a), beck::detached);
  co_spawn(ctx, shake(p.server, b), beck::detached);
  run_all(ctx);
  CHECK(!a);
  CHECK(!b);
  CHECK(std::string(p.client.version()) == "TLSv1.3");
  CHECK(p.client.error_text().empty());
  ctx.restart();
  run_task(ctx, [&]() -> task<> {
    char line[6];
    beck::ignore(co_await beck::async_write(p.client, beck::buffer("hello\n", 6)));
    auto got = co_await beck::async_read(p.server, beck::buffer(line));
    CHECK(std::string(line, got.value_) == "hello\n");
    beck::ignore(co_await beck::async_write(p.server, beck::buffer("world\n", 6)));
    auto back = co_await beck::async_read(p.client, beck::buffer(line));
    CHECK(std::string(line, back.value_) == "world\n");
    auto ended = co_await p.client.async_shutdown();
    CHECK(!ended.error());
    auto end = co_await p.server.async_read_some(beck::buffer(line));
    CHECK(end.error() == beck::error::eof);
    beck::ignore(co_await beck::async_write(p.server, beck::buffer("later\n", 6)));
    auto half = co_await beck::async_read(p.client, beck::buffer(line));
    CHECK(std::string(line, half.value_) == "later\n");  // the other direction is still open
  });
}

CONFORMANCE("tls: the first operation makes the handshake, and both directions are full at once") {
  beck::io_context ctx(context_options());
  secure_pair p(ctx);
  const std::string there = pattern(1'000'000), back = pattern(700'001);
  for (const std::size_t piece : {7'000U, 65'536U, 1'000'000U}) {
    bool sent_there = false, sent_back = false;
    std::string got_there, got_back;
    error_code end_there, end_back;
    co_spawn(ctx, write_all(p.client, there, sent_there), beck::detached);
    co_spawn(ctx, write_all(p.server, back, sent_back), beck::detached);
    const auto exactly = [](tls::stream& from, std::string& text, std::size_t bytes,
                            std::size_t at_once) -> task<> {
      std::string part(at_once, ' ');
      while (text.size() < bytes) {
        auto got = co_await from.async_read_some(beck::buffer(part));
        text.append(part, 0, got.value_);
        if (got.error()) break;
      }
    };
    co_spawn(ctx, exactly(p.server, got_there, there.size(), piece), beck::detached);
    co_spawn(ctx, exactly(p.client, got_back, back.size(), piece), beck::detached);
    ctx.restart();
    ctx.run();
    CHECK(sent_there);
    CHECK(sent_back);
    CHECK((got_there == there));
    CHECK((got_back == back));
  }
}

CONFORMANCE("tls: reads of one byte lose nothing") {
  beck::io_context ctx(context_options());
  secure_pair p(ctx);
  const std::string text = pattern(20'000);
  bool sent = false;
  std::string got;
  error_code end, closed;
  co_spawn(ctx, write_all(p.client, text, sent), beck::detached);
  co_spawn(ctx, read_all(p.server, got, end, 1), beck::detached);
  CHECK(run_until(ctx, [&] { return got.size() == text.size(); }));
  co_spawn(ctx, shut_down(p.client, closed), beck::detached);
  run_all(ctx);
  CHECK(sent);
  CHECK((got == text));
  CHECK(end == beck::error::eof);
}

CONFORMANCE("tls: an end without close_notify is told from an end with it") {
  beck::io_context ctx(context_options());
  secure_pair p(ctx);
  bool sent = false;
  std::string got;
  error_code end;
  co_spawn(ctx, write_all(p.client, "half", sent), beck::detached);
  co_spawn(ctx, read_all(p.server, got, end, 100), beck::detached);
  CHECK(run_until(ctx, [&] { return got.size() == 4; }));
  char room[1];
  outcome back, answered;
  p.server.async_write_some(beck::buffer("x", 1), note(back));
  p.client.async_read_some(beck::buffer(room), note(answered));  // with the tickets: no reset
  CHECK(run_until(ctx, answered));
  p.client.socket().close();
  run_all(ctx);
  CHECK(got == "half");
  CHECK(end == tls::error::truncated);
  CHECK(end == std::errc::connection_reset);
}

CONFORMANCE("tls: a stream that is destroyed without a shutdown leaves its peer truncated") {
  beck::io_context ctx(context_options());
  secure_pair p(ctx);
  error_code a = beck::error::interrupted, b = a, end;
  co_spawn(ctx, shake(p.client, a), beck::detached);
  co_spawn(ctx, shake(p.server, b), beck::detached);
  run_all(ctx);
  std::string none;
  co_spawn(ctx, read_all(p.client, none, end, 10), beck::detached);
  { const tls::stream gone(std::move(p.server)); }
  run_all(ctx);
  CHECK(end == tls::error::truncated);
}

CONFORMANCE("tls: a handshake with another name fails on both sides, and says why") {
  beck::io_context ctx(context_options());
  stream_pair raw(ctx);
  tls::stream client(std::move(raw.a), both_contexts::get().trust, "example.org");
  tls::stream server(std::move(raw.b), both_contexts::get().identity);
  error_code a, b;
  std::string text;
  co_spawn(ctx, shake(client, a), beck::detached);
  co_spawn(ctx, read_all(server, text, b, 100), beck::detached);
  run_until(ctx, [&] { return static_cast<bool>(a); });
  CHECK(a == tls::error::wrong_name);
  CHECK(!client.error_text().empty());
  run_all(ctx);
  CHECK(b == tls::error::alert_bad_certificate);
  CHECK(!server.error_text().empty());
}

CONFORMANCE("tls: a read that is cancelled loses no byte") {
  beck::io_context ctx(context_options());
  secure_pair p(ctx);
  const std::string text = pattern(50'000);
  bool sent = false;
  std::string got;
  co_spawn(ctx, write_all(p.client, text, sent), beck::detached);
  run_task(ctx, [&]() -> task<> {
    std::string part(3'000, ' ');
    for (int i = 0; got.size() < text.size(); ++i) {
      auto one = co_await beck::timeout(p.server.async_read_some(beck::buffer(part)),
                                        std::chrono::microseconds(1 + i % 7 * 20));
      got.append(part, 0, one.value_);
      if (one.error() && one.error() != beck::error::timeout) break;
    }
  });
  CHECK((got == text));
}

CONFORMANCE("tls: the deadline of the socket ends an operation, and the next one goes on") {
  beck::io_context ctx(context_options());
  secure_pair p(ctx);
  char room[5];
  outcome late, got, sent;
  p.client.socket().expires_after(beck::duration(1000));
  p.client.async_read_some(beck::buffer(room), note(late));  // in the middle of the handshake
  CHECK(run_until(ctx, late));
  CHECK(late.ec == beck::error::timeout);
  p.client.socket().expires_never();
  p.client.async_read_some(beck::buffer(room), note(got));
  p.server.async_write_some(beck::buffer("hello", 5), note(sent));
  CHECK(run_until(ctx, got));
  CHECK(got.ok());
  CHECK(std::string(room, got.bytes) == "hello");
  p.client.socket().expires_after(beck::duration(1000));
  outcome later, last;
  p.client.async_read_some(beck::buffer(room), note(later));
  CHECK(run_until(ctx, later));
  CHECK(later.ec == beck::error::timeout);
  p.client.socket().expires_never();
  p.client.async_read_some(beck::buffer(room), note(last));
  outcome more;
  p.server.async_write_some(beck::buffer("world", 5), note(more));
  CHECK(run_until(ctx, last));
  CHECK(last.ok());
}

CONFORMANCE("tls: reads and writes take handlers and deferred tokens") {
  beck::io_context ctx(context_options());
  secure_pair p(ctx);
  char room[5];
  outcome got, sent, shaken;
  p.client.async_handshake(note(shaken));
  p.server.async_read_some(beck::buffer(room), note(got));
  auto write = p.client.async_write_some(beck::buffer("hello", 5), beck::deferred);
  std::move(write)(note(sent));
  run_all(ctx);
  CHECK(shaken.ok());
  CHECK(sent.ok());
  CHECK(sent.bytes == 5);
  CHECK(got.ok());
  CHECK(std::string(room, got.bytes) == "hello");
}

CONFORMANCE("tls: a stream that another one is moved to ends its own connection") {
  beck::io_context ctx(context_options());
  secure_pair one(ctx), other(ctx);
  error_code end;
  co_spawn(ctx, shake(one.server, end), beck::detached);
  one.client = std::move(other.client);
  for (int i = 0; i < 1000 && !end; ++i) tick(ctx);
  CHECK(end == tls::error::truncated);
  error_code a = beck::error::interrupted, b = a;
  co_spawn(ctx, shake(one.client, a), beck::detached);
  co_spawn(ctx, shake(other.server, b), beck::detached);
  run_all(ctx);
  CHECK(!a);
  CHECK(!b);
}

CONFORMANCE_ON(sim, "tls: a shutdown waits for two seconds at most for a peer that takes nothing") {
  beck::io_context ctx(context_options());
  secure_pair p(ctx);
  error_code a = beck::error::interrupted, b, closed;
  co_spawn(ctx, shake(p.client, a), beck::detached);
  co_spawn(ctx, shake(p.server, b), beck::detached);
  run_all(ctx);
  CHECK(!a);
  const std::string text = pattern(1'000'000);
  for (int i = 0; i < 3; ++i) {  // more than the sockets take
    outcome sent;
    p.client.async_write_some(beck::buffer(text), note(sent));
    tick(ctx);
    if (!sent.done()) p.client.socket().cancel();
    run_until(ctx, sent);
  }
  beck::duration took;
  const auto measured = [](tls::stream& of, error_code& ec, beck::duration& time) -> task<> {
    const beck::time_point began = beck::steady_now();
    co_await shut_down(of, ec);
    time = beck::steady_now() - began;
  };
  co_spawn(ctx, measured(p.client, closed, took), beck::detached);
  run_until(ctx, [&] { return static_cast<bool>(closed); });
  CHECK(closed == beck::error::timeout);
  CHECK(took < std::chrono::seconds(3));  // of virtual time
  p.client.socket().close();
  run_all(ctx);
}

// --- streams of users ----------------------------------------------------------------------------

namespace {

/// A stream as users write them: it counts what passes.
class counting_stream {
 public:
  counting_stream(stream_socket&& socket, std::size_t& calls)
      : socket_(std::move(socket)), calls_(&calls) {}

  auto get_executor() { return socket_.get_executor(); }
  template <class Token>
  auto async_read_some(const beck::mutable_buffer& to, Token&& token) {
    ++*calls_;
    return socket_.async_read_some(to, std::forward<Token>(token));
  }
  template <class Token>
  auto async_write_some(const beck::const_buffer& from, Token&& token) {
    ++*calls_;
    return socket_.async_write_some(from, std::forward<Token>(token));
  }
  stream_socket& lowest_layer() { return socket_; }

 private:
  stream_socket socket_;
  std::size_t* calls_;
};

}  // namespace

CONFORMANCE("tls: a stream of the user's carries it as a socket does") {
  beck::io_context ctx(context_options());
  stream_pair raw(ctx);
  std::size_t calls = 0;
  tls::stream client(counting_stream(std::move(raw.a), calls), both_contexts::get().trust,
                     "example.com");
  tls::stream server(counting_stream(std::move(raw.b), calls), both_contexts::get().identity);
  const std::string question = pattern(200'000), answer = pattern(300'000) + "end";
  std::string asked, answered;
  error_code end_here, end_there, shut_here, shut_there;
  bool sent_here = false, sent_there = false;
  co_spawn(ctx, write_all(client, question, sent_here), beck::detached);
  co_spawn(ctx, write_all(server, answer, sent_there), beck::detached);
  co_spawn(ctx, read_all(client, answered, end_here, 5000), beck::detached);
  co_spawn(ctx, read_all(server, asked, end_there, 100), beck::detached);
  while (!sent_here || !sent_there) REQUIRE(ctx.run_one() != 0);
  co_spawn(ctx, shut_down(client, shut_here), beck::detached);
  co_spawn(ctx, shut_down(server, shut_there), beck::detached);
  ctx.run();
  CHECK((asked == question));
  CHECK((answered == answer));
  CHECK(end_here == beck::error::eof);
  CHECK(end_there == beck::error::eof);
  CHECK(!shut_here);
  CHECK(!shut_there);
  CHECK(calls > 100);
}

namespace {

task<> use_as_transport(beck::byte_stream& a, stream_socket& peer, bool& done) {
  const beck::const_buffer parts[] = {{nullptr, 0}, {"text", 4}};
  error_code ec;
  CHECK(a.write_now(beck::const_buffer_span(parts, 2), ec) == 0);
  CHECK(ec == beck::error::would_block);
  auto none = co_await a.write_some(beck::const_buffer_span(parts, 1));
  CHECK(none.value_ == 0);
  std::size_t sent = 0;
  while (sent < 4) {  // a world may split it
    const beck::const_buffer rest[] = {parts[0], parts[1] + sent};
    auto more = co_await a.write_some(beck::const_buffer_span(rest, 2));
    REQUIRE(more.value_ != 0);
    sent += more.value_;
  }
  auto ended = co_await a.finish();
  CHECK(!ended.error());
  char got[10];
  auto all = co_await beck::async_read(peer, beck::buffer(got));
  CHECK(all.error() == beck::error::eof);
  CHECK(std::string_view(got, all.value_) == "text");
  peer.shutdown(beck::socket_base::shutdown_send);
  auto end = co_await a.receive();
  CHECK(end.error() == beck::error::eof);
  CHECK(end.value_.empty());
  done = true;
}

}  // namespace

CONFORMANCE("tls: a stream of the user's keeps what a byte_stream promises") {
  beck::io_context ctx(context_options());
  stream_pair raw(ctx);
  std::size_t calls = 0;
  beck::detail::adapted_stream a(counting_stream(std::move(raw.a), calls));
  bool done = false;
  co_spawn(ctx, use_as_transport(a, raw.b, done), beck::detached);
  ctx.run();
  CHECK(done);
}

CONFORMANCE("tls: over a stream of the user's a read is cancelled, and a destructor ends it") {
  beck::io_context ctx(context_options());
  stream_pair raw(ctx);
  std::size_t calls = 0;
  auto client = std::make_unique<tls::stream>(counting_stream(std::move(raw.a), calls),
                                              both_contexts::get().trust, "example.com");
  tls::stream server(counting_stream(std::move(raw.b), calls), both_contexts::get().identity);
  error_code shaken, late, cut;
  std::string text;
  co_spawn(ctx, shake(*client, shaken), beck::detached);
  co_spawn(ctx, read_all(server, text, cut, 100), beck::detached);
  const auto read_for_a_while = [](tls::stream& from, error_code& ec) -> task<> {
    char part[10];
    auto got =
        co_await beck::timeout(from.async_read_some(beck::buffer(part)), beck::duration(1'000'000));
    ec = got.error();
  };
  co_spawn(ctx, read_for_a_while(*client, late), beck::detached);
  while (!late) REQUIRE(ctx.run_one() != 0);
  CHECK(!shaken);
  CHECK(late == beck::error::timeout);
  client.reset();
  ctx.run();
  CHECK(cut == std::errc::connection_reset);  // truncated, or a reset of the socket
  CHECK(text.empty());
}
