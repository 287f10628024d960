// SPDX-License-Identifier: BSL-1.0
// ssl in the namespace boost::asio.
#include <doctest/doctest.h>

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"
#include "tls/identities.hpp"

CONFORMANCE("boost::asio::ssl: a handshake, and an error of its category") {
  namespace ssl = boost::asio::ssl;
  using beck::tls::test::identity_of;
  using beck::tls::test::made;
  boost::asio::io_context ctx(context_options());
  ssl::context server(ssl::context::sslv23_server);
  server.use_certificate_chain(boost::asio::buffer(identity_of(made::good).chain));
  server.use_private_key(boost::asio::buffer(identity_of(made::good).key), ssl::context::pem);
  ssl::context client(ssl::context::sslv23_client);
  ssl::stream<boost::asio::local::stream_protocol::socket> here(ctx, server);
  ssl::stream<boost::asio::local::stream_protocol::socket> there(ctx, client);
  boost::asio::local::connect_pair(here.lowest_layer(), there.lowest_layer());
  int shaken = 0;
  here.async_handshake(ssl::stream_base::server, [&](auto ec) { shaken += ec ? 0 : 1; });
  there.async_handshake(ssl::stream_base::client, [&](auto ec) { shaken += ec ? 0 : 1; });
  ctx.run();
  CHECK(shaken == 2);
  const std::error_code truncated = ssl::error::stream_truncated;
  CHECK(truncated == ssl::error::stream_truncated);
  CHECK(ssl::error::get_stream_category().message(ssl::error::stream_truncated) ==
        truncated.message());
}
