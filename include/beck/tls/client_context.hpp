// SPDX-License-Identifier: BSL-1.0
//
// The peers that a client trusts, and the settings of its connections. It is the layer that
// http::client::secure() takes.
#pragma once

#include <beck/detail/text_view.hpp>
#include <beck/io/stream_layer.hpp>

namespace beck::tls {

namespace detail {
class client_state;
}

/// The trust of a client: the system's roots unless others are given. Chain and name of the server
/// are always verified. TLS 1.2 and 1.3, without renegotiation, compression and early data.
///   tls::client_context trust;
///   web.secure(trust);
/// Thread: any. One object serves any number of connections, of several contexts at once, and
/// outlives their handshakes.
class client_context final : public stream_layer {
 public:
  /// Trusts the roots of the system. Throws io_error if they cannot be read.
  client_context();
  /// Trusts the certificates of a file in PEM, and no others. Throws io_error: tls::error::bad_file
  /// or the error of the file; what() names it.
  explicit client_context(beck::detail::text_view roots_file);
  ~client_context() override;

  /// Makes the handshake of a client with the server `name`, a host name or an address. Errors:
  /// tls::error, those of the carrier; a result with an error owns a stream whose failure()
  /// explains it.
  task<io_result<owned_stream>> connect(owned_stream carrier,
                                        beck::detail::text_view name) override;
  /// Fails with operation_not_supported: servers need a server_context.
  task<io_result<owned_stream>> accept(owned_stream carrier) override;

  /// For the library.
  detail::client_state& state() const noexcept { return *state_; }

 private:
  detail::client_state* state_;
};

}  // namespace beck::tls
