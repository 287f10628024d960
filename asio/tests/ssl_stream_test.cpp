// SPDX-License-Identifier: BSL-1.0
// ssl::stream between two ends of the program: every function in each form, and its errors.
#include <array>
#include <future>
#include <thread>

#include "ssl_pair.hpp"

namespace {

using namespace beck_ssl_test;
using asio::use_awaitable;

template <class Stream>
asio::awaitable<void> echo_until_eof(Stream& stream) {
  co_await stream.async_handshake(ssl::stream_base::server, use_awaitable);
  char data[4096];
  for (;;) {
    auto [ec, n] =
        co_await stream.async_read_some(asio::buffer(data), asio::as_tuple(use_awaitable));
    if (ec == asio::error::eof) break;
    REQUIRE_FALSE(ec);
    co_await asio::async_write(stream, asio::buffer(data, n), use_awaitable);
  }
  co_await stream.async_shutdown(use_awaitable);
}

template <class Stream>
asio::awaitable<void> say_hello(Stream& stream) {
  co_await stream.async_handshake(ssl::stream_base::client, use_awaitable);
  co_await asio::async_write(stream, asio::buffer("hello", 5), use_awaitable);
  std::string answer(5, '\0');
  co_await asio::async_read(stream, asio::buffer(answer), use_awaitable);
  CHECK(answer == "hello");
  co_await stream.async_shutdown(use_awaitable);
}

/// Sends test bytes; after each megabyte both sides get new keys.
template <class Stream>
asio::awaitable<void> send_bytes(Stream& stream, std::size_t size) {
  std::string part(65'536, '\0');
  for (std::size_t at = 0; at < size; at += part.size()) {
    for (std::size_t i = 0; i != part.size(); ++i) part[i] = byte_at(at + i);
    if (at % 1'048'576 == 0) {
      CHECK(SSL_key_update(stream.native_handle(), SSL_KEY_UPDATE_REQUESTED) == 1);
    }
    co_await asio::async_write(stream, asio::buffer(part), use_awaitable);
  }
}
template <class Stream>
asio::awaitable<void> check_bytes(Stream& stream, std::size_t size) {
  std::string part(10'000, '\0');
  std::size_t wrong = 0;
  for (std::size_t at = 0; at < size;) {
    const std::size_t n = co_await stream.async_read_some(asio::buffer(part), use_awaitable);
    for (std::size_t i = 0; i != n; ++i) wrong += part[i] != byte_at(at + i) ? 1U : 0U;
    at += n;
  }
  CHECK(wrong == 0);
}

}  // namespace

CONFORMANCE("asio::ssl: an echo, and an end that both sides say") {
  for (const auto versions : {ssl::context::tlsv12, ssl::context::tlsv13, ssl::context::sslv23}) {
    asio::io_context ctx(context_options());
    standalone_pair<> pair(ctx, server_settings(versions), client_settings(versions));
    run_all(ctx, echo_until_eof(pair.server), say_hello(pair.client));
    if (versions == ssl::context::tlsv12) {
      CHECK(SSL_version(pair.client.native_handle()) == TLS1_2_VERSION);
    }
  }
}

CONFORMANCE_ON(::beck::test::kernel,
               "asio::ssl: 10 MB both ways at once, with new keys on the way") {
  asio::io_context ctx(context_options());
  standalone_pair<> pair(ctx, server_settings(ssl::context::tlsv13),
                         client_settings(ssl::context::tlsv13));
  shake_hands(ctx, pair);
  constexpr std::size_t size = 160 * 65'536;
  run_all(ctx, send_bytes(pair.server, size), check_bytes(pair.server, size),
          send_bytes(pair.client, size), check_bytes(pair.client, size));
}

CONFORMANCE("asio::ssl: a transport that ends without close_notify is truncated, not at its end") {
  asio::io_context ctx(context_options());
  standalone_pair<> pair(ctx);
  shake_hands(ctx, pair);
  pair.client.next_layer().shutdown(asio::socket_base::shutdown_send);
  asio::error_code read;
  asio::error_code ended;
  char byte;
  pair.server.async_read_some(asio::buffer(&byte, 1), [&](asio::error_code ec, std::size_t n) {
    read = ec;
    CHECK(n == 0);
    pair.server.async_shutdown([&](asio::error_code e) { ended = e; });
  });
  ctx.run();
  CHECK(read == ssl::error::stream_truncated);
  CHECK(read.message() == "stream truncated");
  CHECK(read.category() == ssl::error::get_stream_category());
  CHECK(ended);
}

CONFORMANCE("asio::ssl: a transport that ends inside a handshake is truncated") {
  asio::io_context ctx(context_options());
  standalone_pair<> pair(ctx);
  pair.client.next_layer().close();
  asio::error_code result;
  pair.server.async_handshake(ssl::stream_base::server, [&](asio::error_code ec) { result = ec; });
  ctx.run();
  CHECK(result == ssl::error::stream_truncated);
}

CONFORMANCE("asio::ssl: a refused certificate fails on both sides, one of which gets an alert") {
  asio::io_context ctx(context_options());
  standalone_pair<> pair(ctx, server_settings(ssl::context::tls, made::other_root),
                         client_settings());
  asio::error_code at_server;
  asio::error_code at_client;
  pair.server.async_handshake(ssl::stream_base::server, [&](auto ec) { at_server = ec; });
  pair.client.async_handshake(ssl::stream_base::client, [&](auto ec) { at_client = ec; });
  ctx.run();
  CHECK(at_client.category() == asio::error::get_ssl_category());
  CHECK(at_client.message() == "certificate verify failed (SSL routines)");
  CHECK(at_server.category() == asio::error::get_ssl_category());
  CHECK(at_server.message().find("alert unknown ca") != std::string::npos);
  CHECK(ERR_peek_error() == 0);
}

CONFORMANCE("asio::ssl: a shutdown beside a read in flight ends both") {
  asio::io_context ctx(context_options());
  standalone_pair<> pair(ctx);
  shake_hands(ctx, pair);
  asio::error_code read;
  asio::error_code ended = asio::error::would_block;
  char byte;
  pair.client.async_read_some(asio::buffer(&byte, 1), [&](auto ec, std::size_t) { read = ec; });
  pair.client.async_shutdown([&](asio::error_code ec) { ended = ec; });
  asio::error_code peer;
  pair.server.async_read_some(asio::buffer(&byte, 1), [&](asio::error_code ec, std::size_t) {
    peer = ec;
    pair.server.async_shutdown([](asio::error_code) {});
  });
  ctx.run();
  CHECK(peer == asio::error::eof);
  CHECK(read == asio::error::eof);
  CHECK_FALSE(ended);
}

CONFORMANCE("asio::ssl: a write during a renegotiation waits for input beside a read") {
  asio::io_context ctx(context_options());
  ssl::context server = server_settings(ssl::context::tlsv12);
  server.set_options(SSL_OP_ALLOW_CLIENT_RENEGOTIATION);
  ssl::context client = client_settings(ssl::context::tlsv12);
  ssl_pair<> pair(ctx, server, client);
  shake_hands(ctx, pair);
  std::string at_client(5, '\0');
  std::string at_server(5, '\0');
  bool is_written = false;
  asio::async_read(pair.client, asio::buffer(at_client), [](auto ec, auto) { CHECK_FALSE(ec); });
  CHECK(SSL_renegotiate(pair.client.native_handle()) == 1);
  asio::async_write(pair.client, asio::buffer("hello", 5), [&](auto ec, auto) {
    CHECK_FALSE(ec);
    is_written = true;
  });
  asio::async_read(pair.server, asio::buffer(at_server), [&](asio::error_code ec, std::size_t n) {
    CHECK_FALSE(ec);
    asio::async_write(pair.server, asio::buffer(at_server, n),
                      [](auto e, auto) { CHECK_FALSE(e); });
  });
  ctx.run();
  CHECK(is_written);
  CHECK(at_client == "hello");
  CHECK(SSL_num_renegotiations(pair.client.native_handle()) == 1);
}

CONFORMANCE("asio::ssl: sequences of buffers, empty ones, and a small write in one record") {
  asio::io_context ctx(context_options());
  standalone_pair<> pair(ctx);
  shake_hands(ctx, pair);
  const std::string large(20'000, 'z');
  const std::array<asio::const_buffer, 4> parts{asio::const_buffer(), asio::buffer("ab", 2),
                                                asio::buffer("cd", 2), asio::buffer(large)};
  std::size_t first = 0;
  std::size_t empty = 1;
  pair.client.async_write_some(asio::const_buffer(), [&](auto ec, std::size_t n) {
    CHECK_FALSE(ec);
    empty = n;
  });
  pair.client.async_write_some(parts, [&](auto, std::size_t n) { first = n; });
  char head[3];
  char tail[2];
  std::string answer;
  const std::array<asio::mutable_buffer, 3> room{asio::mutable_buffer(), asio::buffer(head),
                                                 asio::buffer(tail)};
  asio::async_read(pair.server, room, [&](asio::error_code ec, std::size_t n) {
    CHECK_FALSE(ec);
    CHECK(n == 5);
    answer = std::string(head, 3) + std::string(tail, 2);
  });
  run_until(ctx, [&] { return first != 0 && !answer.empty(); });
  CHECK(empty == 0);
  CHECK(first == 8192);
  CHECK(answer == "abcdz");
  std::string rest(8192 - 5, '\0');
  asio::async_write(pair.client, std::array<asio::const_buffer, 2>{asio::buffer("end", 3), {}},
                    [](auto ec, std::size_t n) {
                      CHECK_FALSE(ec);
                      CHECK(n == 3);
                    });
  asio::async_read(pair.server, asio::buffer(rest), [&](auto ec, auto) { CHECK_FALSE(ec); });
  char end[3];
  ctx.restart();
  ctx.run();
  asio::async_read(pair.server, asio::buffer(end), [&](auto ec, auto) { CHECK_FALSE(ec); });
  ctx.restart();
  ctx.run();
  CHECK(std::string(end, 3) == "end");
}

CONFORMANCE("asio::ssl: a handshake with input that was read before") {
  asio::io_context ctx(context_options());
  ssl::context server = server_settings();
  ssl::context client = client_settings();
  for (const bool in_parts : {false, true}) {
    ssl_pair<> pair(ctx, server, client);
    int ended = 0;
    pair.client.async_handshake(ssl::stream_base::client, [&](asio::error_code ec) {
      CHECK_FALSE(ec);
      ++ended;
    });
    char early[100];
    asio::async_read(pair.server.next_layer(), asio::buffer(early), [&](auto ec, std::size_t) {
      CHECK_FALSE(ec);
      const auto note = [&](asio::error_code e, std::size_t used) {
        CHECK_MESSAGE(!e, e.message());
        CHECK(used == sizeof early);
        ++ended;
      };
      const std::array<asio::const_buffer, 2> parts{asio::buffer(early, 3),
                                                    asio::buffer(early + 3, sizeof early - 3)};
      if (in_parts) {
        pair.server.async_handshake(ssl::stream_base::server, parts, note);
      } else {
        pair.server.async_handshake(ssl::stream_base::server, asio::buffer(early), note);
      }
    });
    ctx.restart();
    ctx.run();
    CHECK(ended == 2);
  }
}

CONFORMANCE("asio::ssl: a session is resumed through the native handles") {
  for (const auto versions : {ssl::context::tlsv12, ssl::context::tlsv13}) {
    asio::io_context ctx(context_options());
    ssl::context server = server_settings(versions);
    ssl::context client = client_settings(versions);
    ssl_pair<> first(ctx, server, client);
    run_all(ctx, echo_until_eof(first.server), say_hello(first.client));
    SSL_SESSION* const session = SSL_get1_session(first.client.native_handle());
    ssl_pair<> second(ctx, server, client);
    CHECK(SSL_set_session(second.client.native_handle(), session) == 1);
    run_all(ctx, echo_until_eof(second.server), say_hello(second.client));
    CHECK(SSL_session_reused(second.client.native_handle()) == 1);
    CHECK(SSL_session_reused(second.server.native_handle()) == 1);
    SSL_SESSION_free(session);
  }
}

CONFORMANCE("asio::ssl: streams are moved, refer to a socket, and own a handle of OpenSSL") {
  asio::io_context ctx(context_options());
  ssl::context server = server_settings();
  ssl::context client = client_settings();
  plain_socket a(ctx);
  plain_socket b(ctx);
  asio::local::connect_pair(a, b);
  ssl::stream<plain_socket&> referring(a, server);
  CHECK(&referring.next_layer() == &a);
  CHECK(&referring.lowest_layer() == &a);
  ssl::stream<plain_socket> made(std::move(b), SSL_new(client.native_handle()));
  SSL* const handle = made.native_handle();
  ssl::stream<plain_socket> moved(std::move(made));
  ssl::stream<plain_socket> assigned(ctx, client);
  assigned = std::move(moved);
  CHECK(assigned.native_handle() == handle);
  CHECK(assigned.get_executor() == ctx.get_executor());
  run_all(ctx, echo_until_eof(referring), say_hello(assigned));
  CHECK_THROWS_AS(ssl::stream<plain_socket>(ctx, static_cast<SSL*>(nullptr)), asio::system_error);
}

CONFORMANCE("asio::ssl: completion tokens of each kind") {
  asio::io_context ctx(context_options());
  standalone_pair<> pair(ctx);
  std::future<void> shaken =
      pair.server.async_handshake(ssl::stream_base::server, asio::use_future);
  auto strand = asio::make_strand(ctx);
  bool is_there = false;
  auto owned = std::make_unique<int>(5);
  pair.client.async_handshake(
      ssl::stream_base::client,
      asio::bind_executor(strand, [&, owned = std::move(owned)](asio::error_code ec) {
        CHECK_FALSE(ec);
        CHECK(*owned == 5);
        is_there = strand.running_in_this_thread();
      }));
  ctx.run();
  shaken.get();
  CHECK(is_there);
  auto later = pair.client.async_write_some(asio::buffer("x", 1), asio::deferred);
  std::size_t sent = 0;
  std::move(later)([&](asio::error_code, std::size_t n) { sent = n; });
  char byte;
  std::future<std::size_t> read =
      pair.server.async_read_some(asio::buffer(&byte, 1), asio::use_future);
  ctx.restart();
  ctx.run();
  CHECK(sent == 1);
  CHECK(read.get() == 1);
  CHECK(byte == 'x');
}

CONFORMANCE_ON(::beck::test::kernel, "asio::ssl: the blocking functions") {
  ssl::context server = server_settings();
  ssl::context client = client_settings();
  asio::io_context ctx(context_options());
  asio::io_context other(context_options());
  ssl::stream<plain_socket> here(ctx, server);
  ssl::stream<plain_socket> there(other, client);
  asio::local::connect_pair(here.lowest_layer(), there.lowest_layer());
  const std::string sent(100'000, 's');
  std::thread peer([&] {
    there.handshake(ssl::stream_base::client);
    asio::write(there, asio::buffer(sent));
    char byte;
    CHECK(there.read_some(asio::buffer(&byte, 1)) == 1);
    there.shutdown();
    asio::error_code ec;
    there.write_some(asio::buffer("x", 1), ec);
    CHECK(ec.category() == asio::error::get_ssl_category());
    CHECK_THROWS_AS(there.write_some(asio::buffer("x", 1)), asio::system_error);
  });
  char early[5];
  asio::read(here.next_layer(), asio::buffer(early));
  here.handshake(ssl::stream_base::server, asio::buffer(early));
  std::string got(sent.size(), '\0');
  asio::read(here, asio::buffer(got));
  CHECK(got == sent);
  CHECK(here.write_some(asio::buffer("y", 1)) == 1);
  char byte;
  asio::error_code ec;
  CHECK(here.read_some(asio::buffer(&byte, 1), ec) == 0);
  CHECK(ec == asio::error::eof);
  here.shutdown(ec);
  CHECK_FALSE(ec);
  peer.join();
}

CONFORMANCE_ON(::beck::test::kernel, "asio::ssl: a stream has the default token of its transport") {
  using token = asio::as_tuple_t<asio::use_awaitable_t<>>;
  using client_stream = token::as_default_on_t<ssl::stream<plain_socket>>;
  ssl::context server = server_settings();
  ssl::context client = client_settings();
  asio::io_context ctx(context_options());
  ssl_pair<client_stream::next_layer_type> pair(ctx, server, client);
  static_assert(std::is_same_v<decltype(pair.client), client_stream>);
  std::string answer(2, '\0');
  asio::error_code last;
  run_all(
      ctx,
      [&]() -> asio::awaitable<void> {
        co_await pair.server.async_handshake(ssl::stream_base::server);
        char bytes[3];
        co_await asio::async_read(pair.server, asio::buffer(bytes));
        co_await asio::async_write(pair.server, asio::buffer("ok", 2));
        co_await pair.server.async_shutdown(asio::as_tuple(asio::use_awaitable));
      },
      [&]() -> asio::awaitable<void> {
        auto [shaken] = co_await pair.client.async_handshake(ssl::stream_base::client);
        CHECK_FALSE(shaken);
        auto [ec, sent] = co_await pair.client.async_write_some(asio::buffer("hey", 3));
        CHECK(sent == 3);
        auto [failure, bytes] = co_await asio::async_read(pair.client, asio::buffer(answer));
        CHECK(bytes == 2);
        auto [end, none] = co_await pair.client.async_read_some(asio::buffer(answer));
        last = end;
        auto [closed] = co_await pair.client.async_shutdown();
        CHECK_FALSE(closed);
      });
  CHECK(answer == "ok");
  CHECK(last == asio::error::eof);
}
