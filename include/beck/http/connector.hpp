// SPDX-License-Identifier: BSL-1.0
//
// The interface through which a client opens its connections: proxies, UNIX sockets, TLS, and
// scripts in tests are connectors. Without one a client connects over TCP.
#pragma once

#include <beck/http/url.hpp>
#include <beck/io/stream_layer.hpp>
#include <string_view>

namespace beck::http {

/// The destination of a connection. Refers to a URL.
struct origin {
  /// Takes the origin of a URL.
  explicit origin(const url& of) noexcept
      : is_https(of.is_https), kind(of.kind), port(of.port), host(of.host) {}

  bool is_https;
  host_kind kind;
  std::uint16_t port;
  std::string_view host;  ///< an IPv6 address without its brackets
};

/// How requests are written.
struct request_form {
  /// The target of a request is its whole URL: "GET http://example.com/a HTTP/1.1". A response with
  /// 407 is then an error, client_error::proxy_refused.
  bool has_whole_url = false;
  /// The value of Proxy-Authorization; empty: none.
  std::string_view proxy_authorization;
  /// The name of the proxy in error texts.
  std::string_view proxy_name;
};

/// Opens connections. Thread: that of the client's context. Lifetime: outlives the client.
class connector {
 public:
  connector() noexcept = default;
  connector(const connector&) = delete;
  connector& operator=(const connector&) = delete;
  virtual ~connector() = default;

  /// Opens a stream to `to`, which outlives the task, on the executor `on`. For https the stream
  /// must encrypt, and must have verified the host; a connector that cannot do this returns
  /// client_error::no_tls. The caller limits the time, and cancels the task through its scope. An
  /// exception ends the call with its error_code, or with client_error::connector_failed.
  virtual task<io_result<owned_stream>> connect(any_io_executor on, const origin& to) = 0;
  /// Returns how requests are written to the streams that connect() opens to `to`: for a proxy that
  /// serves requests, instead of tunnels. The texts live as long as the connector. Default: as to
  /// an origin.
  virtual request_form form(const origin& to) const {
    static_cast<void>(to);
    return {};
  }
};

}  // namespace beck::http
