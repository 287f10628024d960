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
};

}  // namespace beck::http
