// SPDX-License-Identifier: BSL-1.0
//
// The identity of a server: certificates with their keys, and the settings of its connections. It
// is the layer that http::server::listen() takes.
#pragma once

#include <beck/detail/text_view.hpp>
#include <beck/io/stream_layer.hpp>

namespace beck::tls {

namespace detail {
class server_state;
}

/// The identity of a server. TLS 1.2 and 1.3, without renegotiation, compression and early data.
///   tls::server_context identity("chain.pem", "key.pem");
///   server.listen(tcp::endpoint(tcp::v6(), 8443), identity);
/// Thread: any. One object serves any number of connections, of several contexts at once, and
/// outlives their handshakes.
class server_context final : public stream_layer {
 public:
  /// Reads a certificate with the chain behind it, and the private key, from files in PEM. Throws
  /// io_error: tls::error::bad_file, tls::error::wrong_key, or the error of the file; what() names
  /// the file.
  server_context(beck::detail::text_view chain_file, beck::detail::text_view key_file);
  ~server_context() override;

  /// Makes the handshake of a server. Errors: tls::error, those of the carrier; a result with an
  /// error owns a stream whose failure() explains it.
  task<io_result<owned_stream>> accept(owned_stream carrier) override;
  /// Fails with operation_not_supported: clients need a client_context.
  task<io_result<owned_stream>> connect(owned_stream carrier,
                                        beck::detail::text_view name) override;

  /// For the library.
  detail::server_state& state() const noexcept { return *state_; }

 private:
  detail::server_state* state_;
};

}  // namespace beck::tls
