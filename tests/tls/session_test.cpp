// SPDX-License-Identifier: BSL-1.0
// Sessions where the usual ones never come: cut at each byte, stopped at each turn, with more
// output than a thread's memory holds, with answers that the peer does not take, over each other.
#include "tls/session.hpp"

#include <beck/coro/within.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/socket_stream.hpp>
#include <beck/tls/error.hpp>
#include <beck/tls/stream.hpp>

#include <string>
#include <string_view>

#include "support/conformance.hpp"
#include "support/context_options.hpp"
#include "support/outcome.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"
#include "tls/engine_pair.hpp"
#include "tls/narrow_stream.hpp"
#include "tls/read_all.hpp"

using beck::error_code;
using beck::task;
using namespace beck::test;
using namespace beck::tls::test;
namespace tls = beck::tls;
using tls::detail::session;
using tls::detail::session_ref;

namespace {

both_contexts& of_version(tls::version which) {
  static both_contexts v12(tls::version::tls_1_2), v13(tls::version::tls_1_3);
  return which == tls::version::tls_1_2 ? v12 : v13;
}

constexpr tls::version both_versions[] = {tls::version::tls_1_2, tls::version::tls_1_3};

// --- ends ----------------------------------------------------------------------------------------

/// Serves a session that says "text" and its end, but sends only the first `most` bytes of it, and
/// then the end of the socket. Returns whether that was all.
task<bool> serve_cut(stream_socket& raw, engine& server, std::size_t most) {
  std::string out;
  std::size_t sent = 0;
  bool said = false;
  char part[5000];
  while (sent < most && !said) {
    auto got = co_await raw.async_read_some(beck::buffer(part));
    if (got.error()) break;
    feed(server, {part, got.value_}, out);
    if (server.state() == engine_state::open) {
      out += seal(server, "text");
      server.end();
      out += output_of(server);
      said = true;
    }
    const std::size_t now = std::min(out.size(), most - sent);
    beck::ignore(co_await beck::async_write(raw, beck::buffer(out.data(), now)));
    sent += now;
    out.erase(0, now);
  }
  raw.shutdown(beck::socket_base::shutdown_send);  // a close could reset what was sent
  co_return said&& out.empty();
}

}  // namespace

CONFORMANCE("tls session: cut at any byte it is truncated, and only its last byte makes an end") {
  for (const tls::version which : both_versions) {
    bool whole = false;
    for (std::size_t most = 0; !whole; most += most % 100 == 0 || most > 700 ? 1 : 5) {
      beck::io_context ctx(context_options());
      stream_pair raw(ctx);
      tls::stream client(std::move(raw.a), of_version(which).trust, "example.com");
      engine server(of_version(which).identity.state().make_session());
      std::string text;
      error_code end;
      co_spawn(ctx, serve_cut(raw.b, server, most),
               [&](const std::exception_ptr&, bool all) { whole = all; });
      co_spawn(ctx, read_all(client, text, end), beck::detached);
      ctx.run();
      CAPTURE(most);
      REQUIRE((text.empty() || text == "text"));
      REQUIRE(end ==
              (whole ? make_error_code(beck::error::eof) : make_error_code(tls::error::truncated)));
      REQUIRE((!whole || text == "text"));
    }
  }
}

namespace {

/// Sends `data` as the last bytes of a session, then its end.
task<> send_last(session_ref to, std::string_view data) {
  error_code ec = co_await session::handshake(to);
  CHECK(!ec);
  for (int i = 0; i < 1000 && !data.empty(); ++i) {
    const beck::const_buffer part(data.data(), data.size());
    data.remove_prefix(to->output().write_last(beck::const_buffer_span(&part, 1), ec));
    REQUIRE((!ec || ec == beck::error::would_block));
    beck::steady_timer pause(to->executor(), beck::duration(1'000'000));
    if (ec) beck::ignore(co_await pause.async_wait());
  }
  CHECK(data.empty());
  const beck::const_buffer more("x", 1);
  CHECK(to->output().write_now(beck::const_buffer_span(&more, 1), ec) == 0);
  CHECK(ec == beck::error::broken_pipe);
  auto ended = co_await to->output().finish();
  CHECK(!ended.error());
}

}  // namespace

CONFORMANCE("tls session: the end goes with the last bytes, and nothing behind it") {
  const std::string data = pattern(200'000);  // more than is encrypted at once
  beck::io_context ctx(context_options());
  stream_pair raw(ctx);
  tls::stream client(std::move(raw.a), both_contexts::get().trust, "example.com");
  const session_ref server(
      new session(beck::owned_stream(new beck::socket_stream(std::move(raw.b))),
                  both_contexts::get().identity.state().make_session()));
  std::string text;
  error_code end;
  co_spawn(ctx, send_last(server, data), beck::detached);
  co_spawn(ctx, read_all(client, text, end), beck::detached);
  ctx.run();
  CHECK((text == data));
  CHECK(end == beck::error::eof);
}

// --- cancellation --------------------------------------------------------------------------------

namespace {

/// One side: it writes a text, reads that of the other side, and says its end. Each operation that
/// is stopped is started again.
struct stubborn {
  explicit stubborn(tls::stream&& of) : s(std::move(of)) {}

  /// Stops everything that is under way.
  void stop() {
    for (beck::stop_source* one : {&stop_read, &stop_write}) std::exchange(*one, {}).request_stop();
  }
  bool again(error_code ec) { return ec == beck::error::operation_aborted && ++stops != 0; }

  tls::stream s;
  beck::stop_source stop_read, stop_write;
  std::string out = pattern(150'000), got;
  error_code read_end, write_end = beck::error::interrupted;
  int stops = 0;
};

task<> write_out(stubborn& one) {
  error_code ec = beck::error::operation_aborted;
  while (one.again(ec)) {
    auto shaken = co_await beck::with_stop(one.stop_write.get_token(), one.s.async_handshake());
    ec = shaken.error();
  }
  std::size_t at = 0;
  while (!ec && at < one.out.size()) {
    const beck::const_buffer rest(one.out.data() + at, one.out.size() - at);
    auto sent = co_await beck::with_stop(one.stop_write.get_token(), one.s.async_write_some(rest));
    at += sent.value_;
    if (!one.again(sent.error())) ec = sent.error();
  }
  if (!ec) ec = beck::error::operation_aborted;
  while (one.again(ec)) {
    auto ended = co_await beck::with_stop(one.stop_write.get_token(), one.s.async_shutdown());
    ec = ended.error();
  }
  one.write_end = ec;
}

task<> read_in(stubborn& one) {
  std::string part(20'000, ' ');
  while (!one.read_end) {
    auto got = co_await beck::with_stop(one.stop_read.get_token(),
                                        one.s.async_read_some(beck::buffer(part)));
    one.got.append(part, 0, got.value_);
    if (!one.again(got.error())) one.read_end = got.error();
  }
}

}  // namespace

CONFORMANCE("tls session: whatever is stopped at whatever turn, the next operation goes on") {
  int stops = 0;
  bool in_time = true;
  for (int turns = 0; in_time; ++turns) {
    beck::io_context ctx(context_options());
    stream_pair raw(ctx);
    stubborn client(
        tls::stream(std::move(raw.a), of_version(tls::version::tls_1_3).trust, "example.com"));
    stubborn server(tls::stream(std::move(raw.b), of_version(tls::version::tls_1_3).identity));
    for (stubborn* one : {&client, &server}) {
      co_spawn(ctx, write_out(*one), beck::detached);
      co_spawn(ctx, read_in(*one), beck::detached);
    }
    for (int i = 0; i < turns && in_time; ++i) in_time = ctx.run_one() != 0;
    (turns % 2 == 0 ? client : server).stop();
    if (turns % 3 == 0) client.s.socket().cancel();
    ctx.run();
    CAPTURE(turns);
    for (const stubborn* one : {&client, &server}) {
      REQUIRE(!one->write_end);
      REQUIRE(one->read_end == beck::error::eof);
      stops += one->stops;
    }
    REQUIRE((client.got == server.out));
    REQUIRE((server.got == client.out));
  }
  CHECK(stops > 100);
}

CONFORMANCE("tls session: a server prepares nothing for a client that says nothing") {
  beck::io_context ctx(context_options());
  stream_pair raw(ctx);
  beck::owned_stream plain(new beck::socket_stream(std::move(raw.b)));
  const session_ref server(new session(
      std::move(plain), of_version(tls::version::tls_1_3).identity.state().make_session()));
  co_spawn(ctx, session::handshake(server), [](const std::exception_ptr&, error_code) {});
  let_settle(ctx);
  CHECK(SSL_in_before(server->engine().ssl()) == 1);  // 33 KiB of OpenSSL's come behind that
  raw.a.close();
  run_all(ctx);
}

// --- output --------------------------------------------------------------------------------------

namespace {

/// A client and a server as sessions over narrow transports.
struct narrow_pair {
  explicit narrow_pair(stream_pair&& raw, std::size_t bytes = 1000)
      : client(
            new session(narrow(std::move(raw.a), bytes),
                        of_version(tls::version::tls_1_3).trust.state().make_session("127.0.0.1"))),
        server(new session(narrow(std::move(raw.b), bytes),
                           of_version(tls::version::tls_1_3).identity.state().make_session())) {}

  static beck::owned_stream narrow(stream_socket&& raw, std::size_t bytes) {
    beck::owned_stream plain(new beck::socket_stream(std::move(raw)));
    return beck::owned_stream(new narrow_stream(std::move(plain), bytes));
  }

  session_ref client, server;
};

/// Sends a text in pieces, and asks for new keys before some of them.
task<> send_with_updates(session_ref of, const std::string& text) {
  error_code ec = co_await session::handshake(of);
  std::size_t at = 0;
  for (int i = 1; !ec && at < text.size(); ++i) {
    if (i % 3 == 0) SSL_key_update(of->engine().ssl(), SSL_KEY_UPDATE_REQUESTED);
    const beck::const_buffer piece(text.data() + at,
                                   std::min<std::size_t>(20'000, text.size() - at));
    auto sent = co_await of->output().write_some(beck::const_buffer_span(&piece, 1));
    ec = sent.error();
    at += sent.value_;
  }
  CHECK(!ec);
  auto ended = co_await of->output().finish();
  CHECK(!ended.error());
}

task<> receive_all(session_ref from, std::string& text) {
  error_code ec = co_await session::handshake(from);
  while (!ec) {
    auto got = co_await from->input().receive();
    text.append(got.value_.data(), got.value_.size());
    ec = got.error();
  }
  CHECK(ec == beck::error::eof);
}

}  // namespace

CONFORMANCE("tls session: keys are changed in both directions while writes are under way") {
  beck::io_context ctx(context_options());
  const narrow_pair p(stream_pair(ctx), 30'000);
  const std::string there = pattern(600'000), back = pattern(500'001);
  std::string got_there, got_back;
  co_spawn(ctx, send_with_updates(p.client, there), beck::detached);
  co_spawn(ctx, send_with_updates(p.server, back), beck::detached);
  co_spawn(ctx, receive_all(p.server, got_there), beck::detached);
  co_spawn(ctx, receive_all(p.client, got_back), beck::detached);
  ctx.run();
  CHECK((got_there == there));
  CHECK((got_back == back));
}

CONFORMANCE("tls session: a handshake of more bytes than a thread's memory is sent whole") {
  // 90,000 are a part of what had no room there; behind 1,000 more waits than a flood may have
  for (const std::size_t width : {90'000U, 1'000U}) {
    beck::io_context ctx(context_options());
    const narrow_pair p(stream_pair(ctx), width);
    SSL* const server = p.server->engine().ssl();
    for (int i = 0; i < 300; ++i)  // a client drops what it has no use for
      SSL_ctrl(server, SSL_CTRL_CHAIN_CERT, 1, SSL_get_certificate(server));
    SSL_ctrl(p.client->engine().ssl(), SSL_CTRL_SET_MAX_CERT_LIST, 1'000'000, nullptr);
    const std::string text = pattern(1000);
    std::string got, none;
    co_spawn(ctx, send_with_updates(p.client, text), beck::detached);
    co_spawn(ctx, receive_all(p.server, got), beck::detached);
    co_spawn(ctx, send_with_updates(p.server, none), beck::detached);
    co_spawn(ctx, receive_all(p.client, none), beck::detached);
    ctx.run();
    CHECK(got == text);
  }
}

namespace {

/// A transport whose two sides are functions. `take` gets bytes to send, and returns how many of
/// them it takes; once it takes none, a write waits for `room`.
template <class Take, class Next>
class scripted_stream final : public beck::byte_stream {
 public:
  scripted_stream(stream_socket&& raw, beck::manual_reset_event& room, Take take, Next next)
      : raw_(std::move(raw)), room_(room), take_(std::move(take)), next_(std::move(next)) {}

  task<beck::io_result<beck::buffer_lease>> receive() override {
    const std::string text = next_();
    beck::buffer_lease lease = beck::detail::make_lease(text.size());
    text.copy(lease.data(), text.size());
    co_return beck::io_result<beck::buffer_lease>(error_code(), std::move(lease));
  }
  task<beck::io_result<std::size_t>> read_some(beck::mutable_buffer) override {
    co_return beck::io_result<std::size_t>(beck::error::eof, 0);
  }
  task<beck::io_result<std::size_t>> write_some(beck::const_buffer_span parts) override {
    const beck::const_buffer given = *parts.begin();
    const std::string bytes(static_cast<const char*>(given.data()), given.size());
    auto waited = co_await room_.wait();
    CHECK((bytes == std::string_view(static_cast<const char*>(given.data()), given.size())));
    co_return beck::io_result<std::size_t>(waited.error(), given.size());
  }
  std::size_t write_now(beck::const_buffer_span parts, error_code& ec) noexcept override {
    const beck::const_buffer first = *parts.begin();
    const std::size_t taken = take_({static_cast<const char*>(first.data()), first.size()});
    if (taken == 0) ec = beck::error::would_block;
    return taken;
  }
  task<beck::io_result<>> finish() override { co_return beck::io_result<>(); }
  beck::detail::stream_object& socket() noexcept override { return raw_.socket(); }
  bool is_plain() const noexcept override { return false; }

 private:
  beck::socket_stream raw_;
  beck::manual_reset_event& room_;
  Take take_;
  Next next_;
};

}  // namespace

namespace {

/// Writes a byte. `result` becomes the error.
task<> write_behind(session_ref to, error_code& result) {
  const beck::const_buffer one("x", 1);
  auto wrote = co_await to->output().write_some(beck::const_buffer_span(&one, 1));
  result = wrote.error();
}

/// Returns how often a peer that takes nothing, not even `own` bytes of the server, can ask for new
/// keys before the server has too many answers for it.
int answered_rounds(std::size_t own) {
  beck::io_context ctx(context_options());
  both_contexts& contexts = of_version(tls::version::tls_1_3);
  engine client(contexts.trust.state().make_session("example.com"));
  client.shake();
  std::string to_server = output_of(client);
  const std::string text = pattern(132'000);  // allows one more request for new keys
  const auto take = [&](std::string_view bytes) -> std::size_t {
    if (client.state() == engine_state::open) return 0;
    feed(client, bytes, to_server);
    return bytes.size();
  };
  const auto next = [&] {
    if (!to_server.empty()) return std::exchange(to_server, {});
    SSL_key_update(client.ssl(), SSL_KEY_UPDATE_REQUESTED);
    return seal(client, text);
  };
  stream_pair raw(ctx);
  beck::manual_reset_event room;
  beck::owned_stream transport(new scripted_stream(std::move(raw.a), room, take, next));
  const session_ref server(
      new session(std::move(transport), contexts.identity.state().make_session()));
  error_code sent, waiting_write;
  int rounds = 0;
  run_task(ctx, [&]() -> task<> {
    const error_code shaken = co_await session::handshake(server);
    CHECK(!shaken);
    const std::string data(own, 'd');
    const beck::const_buffer first(data.data(), data.size());
    if (own != 0)
      CHECK(server->output().write_now(beck::const_buffer_span(&first, 1), sent) == own);
    for (; rounds < 10'000; ++rounds) {
      auto got = co_await server->input().receive();
      REQUIRE(!got.error());
      const beck::const_buffer nothing;
      static_cast<void>(server->output().write_now(beck::const_buffer_span(&nothing, 1), sent));
      if (sent && sent != beck::error::would_block) break;
      if (rounds == 100) {
        co_spawn(ctx, write_behind(server, waiting_write), beck::detached);
        co_await pause(ctx, beck::duration(1));  // the write in the background
      }
    }
    co_await pause(ctx, beck::duration(1));
    CHECK(waiting_write == tls::error::too_many_messages);  // although the transport is still full
    room.set();  // the bytes in its memory have not changed
    const beck::const_buffer more("x", 1);
    auto late = co_await server->output().write_some(beck::const_buffer_span(&more, 1));
    CHECK(late.error() == tls::error::too_many_messages);
  });
  CHECK(sent == tls::error::too_many_messages);
  return rounds;
}

}  // namespace

CONFORMANCE_ON(sim, "tls session: answers that the peer does not take have a bound; reads go on") {
  const int rounds = answered_rounds(0);
  CHECK(rounds > 1000);
  CHECK(answered_rounds(60'000) >= rounds - 1);  // its own bytes do not count
}

namespace {

/// Makes a session over a session over `plain`, sends `out` and receives `got`.
task<> talk_twice_sealed(beck::io_context& ctx, beck::owned_stream plain, bool serves,
                         const std::string& out, std::string& got) {
  both_contexts& with = both_contexts::get();
  auto shaking = serves ? with.identity.accept(std::move(plain))
                        : with.trust.connect(std::move(plain), "example.com");
  auto outer = co_await std::move(shaking);
  REQUIRE(!outer.error());
  tls::detail::ssl_ptr prepared = serves ? with.identity.state().make_session()
                                         : with.trust.state().make_session("example.com");
  const session_ref inner(new session(std::move(outer).value(), std::move(prepared)));
  co_spawn(ctx, receive_all(inner, got), beck::detached);
  co_await send_with_updates(inner, out);
}

}  // namespace

CONFORMANCE("tls session: TLS goes over TLS") {
  beck::io_context ctx(context_options());
  stream_pair raw(ctx);
  const std::string there = pattern(200'000), back = pattern(100'001);
  std::string got_there, got_back;
  const auto plain = [](stream_socket& of) {
    return beck::owned_stream(new beck::socket_stream(std::move(of)));
  };
  co_spawn(ctx, talk_twice_sealed(ctx, plain(raw.a), false, there, got_back), beck::detached);
  co_spawn(ctx, talk_twice_sealed(ctx, plain(raw.b), true, back, got_there), beck::detached);
  ctx.run();
  CHECK((got_there == there));
  CHECK((got_back == back));
}
