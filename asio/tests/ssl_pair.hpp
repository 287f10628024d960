// SPDX-License-Identifier: BSL-1.0
// Two ends of a connection for the tests of asio::ssl: sockets that are connected, the settings of
// a server and of a client, with certificates of tests/tls/identities.hpp, and functions that run
// a context.
#pragma once

#include <doctest/doctest.h>

#include <asio.hpp>
#include <asio/ssl.hpp>
#include <exception>
#include <string>
#include <utility>

#include "support/conformance.hpp"
#include "support/context_options.hpp"
#include "tls/identities.hpp"

namespace beck_ssl_test {

namespace ssl = asio::ssl;
using beck::tls::test::identity_of;
using beck::tls::test::made;
using plain_socket = asio::local::stream_protocol::socket;

inline ssl::context server_settings(ssl::context::method versions = ssl::context::tls_server,
                                    made which = made::good) {
  ssl::context settings(versions);
  settings.use_certificate_chain(asio::buffer(identity_of(which).chain));
  settings.use_private_key(asio::buffer(identity_of(which).key), ssl::context::pem);
  return settings;
}
inline ssl::context client_settings(ssl::context::method versions = ssl::context::tls_client) {
  ssl::context settings(versions);
  settings.add_certificate_authority(asio::buffer(beck::tls::test::root()));
  settings.set_verify_mode(ssl::verify_peer);
  settings.set_verify_callback(ssl::host_name_verification("example.com"));
  return settings;
}

/// The two ends, before their handshake. Transport: that of the client.
template <class Transport = plain_socket>
struct ssl_pair {
  ssl_pair(asio::io_context& ctx, ssl::context& server_side, ssl::context& client_side)
      : server(ctx, server_side), client(ctx, client_side) {
    asio::local::connect_pair(server.lowest_layer(), client.lowest_layer());
  }
  ssl::stream<plain_socket> server;
  ssl::stream<Transport> client;
};

/// The two ends with their settings.
struct pair_settings {
  ssl::context server_side;
  ssl::context client_side;
};
template <class Transport = plain_socket>
struct standalone_pair : pair_settings, ssl_pair<Transport> {
  explicit standalone_pair(asio::io_context& ctx, ssl::context of_server = server_settings(),
                           ssl::context of_client = client_settings())
      : pair_settings{std::move(of_server), std::move(of_client)},
        ssl_pair<Transport>(ctx, server_side, client_side) {}
};

/// Runs the context until `done()`.
template <class Condition>
void run_until(asio::io_context& ctx, Condition done) {
  ctx.restart();
  while (!done()) REQUIRE(ctx.run_one() == 1);
}

/// Runs coroutines side by side until the context has no work. All must have ended, without an
/// exception.
template <class... Work>
void run_all(asio::io_context& ctx, Work... work) {
  std::size_t ended = 0;
  const auto note = [&ended](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);
    ++ended;
  };
  (asio::co_spawn(ctx, static_cast<Work&&>(work), note), ...);
  ctx.restart();
  ctx.run();
  CHECK(ended == sizeof...(work));
}

/// Performs both handshakes.
template <class Pair>
void shake_hands(asio::io_context& ctx, Pair& pair) {
  int ended = 0;
  const auto note = [&ended](asio::error_code ec) {
    CHECK_MESSAGE(!ec, ec.message());
    ++ended;
  };
  pair.server.async_handshake(ssl::stream_base::server, note);
  pair.client.async_handshake(ssl::stream_base::client, note);
  run_until(ctx, [&] { return ended == 2; });
}

/// Returns byte `at` of the stream of test bytes.
inline char byte_at(std::size_t at) { return static_cast<char>((at * 31 + at / 251) & 0xff); }

}  // namespace beck_ssl_test
