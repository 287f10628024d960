// SPDX-License-Identifier: BSL-1.0
// One connection between a server and a client of beck's: what each of them got of it.
#pragma once

#include <beck/coro/co_spawn.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/post.hpp>
#include <beck/tls/client_context.hpp>
#include <beck/tls/server_context.hpp>
#include <beck/tls/stream.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include "support/context_options.hpp"
#include "tls/identities.hpp"

namespace beck::tls::test {

/// What one side got.
struct side {
  error_code ec;  ///< of the handshake, or of the byte that each side sends and receives behind it
  std::string text;  ///< the sentence
  std::string protocol, version, peer;
  bool resumed = false;
  bool done = false;
};

struct both_sides {
  side server, client;

  /// Returns whether both sides have exchanged a byte.
  bool good() const { return !server.ec && !client.ec; }
};

/// Makes the handshake, then sends and receives a byte: in TLS 1.3 a client learns only then that
/// the server has refused its certificate, and gets its ticket.
/// `shuts_down`: whether the stream ends with a close_notify. `on_shaken`: called behind the
/// handshake.
inline task<> talk(stream& one, side& to, bool shuts_down, const std::function<void()>& on_shaken) {
  auto shaken = co_await one.async_handshake();
  to.ec = shaken.error();
  on_shaken();
  char byte = 'x';
  if (!to.ec) {
    auto sent = co_await async_write(one, buffer(&byte, 1));
    to.ec = sent.error();
  }
  if (!to.ec) {
    auto got = co_await async_read(one, buffer(&byte, 1));
    to.ec = got.error();
  }
  to.text = std::string(one.error_text());
  to.protocol = std::string(one.protocol());
  to.version = std::string(one.version());
  to.peer = std::string(one.peer());
  to.resumed = one.is_resumed();
  if (!to.ec && shuts_down) beck::ignore(co_await one.async_shutdown());
  one.socket().close();
  to.done = true;
}

/// A listening socket, and connections to it.
class handshakes {
 public:
  explicit handshakes(const io_context::options& where = context_options())
      : ctx(where), acceptor_(ctx, ip::tcp::endpoint(ip::address_v4::loopback(), 0)) {}

  /// Calls `function` on the context, whose date it then sees.
  template <class Function>
  void run(Function function) {
    post(ctx, function);
    ctx.restart();
    ctx.poll();
  }

  /// Connects, and returns the result of both sides.
  both_sides shake(server_context& identity, client_context& trust, std::string_view name) {
    both_sides got;
    co_spawn(ctx, serve(identity, got.server), detached);
    co_spawn(ctx, ask(trust, std::string(name), got.client), detached);
    while (!got.server.done || !got.client.done) {
      ctx.restart();
      REQUIRE(ctx.run_one() != 0);
    }
    return got;
  }

  io_context ctx;
  bool shuts_down = true;
  /// Called when the client has chosen the session that it offers, before its first byte.
  std::function<void()> on_offer = [] {};
  /// Called when the client has made its handshake, before it reads.
  std::function<void()> on_shaken = [] {};

 private:
  task<> serve(server_context& identity, side& to) {
    auto accepted = co_await acceptor_.async_accept();
    stream one(std::move(accepted).value(), identity);
    const std::function<void()> nothing = [] {};
    co_await talk(one, to, shuts_down, nothing);
  }
  task<> ask(client_context& trust, std::string name, side& to) {
    ip::tcp::socket socket(ctx);
    auto connected = co_await socket.async_connect(acceptor_.local_endpoint());
    connected.value();
    stream one(std::move(socket), trust, name);
    on_offer();
    co_await talk(one, to, shuts_down, on_shaken);
  }

  ip::tcp::acceptor acceptor_;
};

/// The files, made once for the program.
inline const identity_files& files() {
  static const identity_files made;
  return made;
}

/// The options of a client that trusts the root of the tests.
inline client_options trusting() {
  return client_options().trust(authorities().file(files().path("root.pem")));
}

inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace beck::tls::test
