// SPDX-License-Identifier: BSL-1.0
//
// The identity of a server: certificates with their keys, and the settings of its connections. It
// is the layer that http::server::listen() takes.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/io/stream_layer.hpp>
#include <beck/tls/server_options.hpp>
#include <string_view>

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
  /// Reads a certificate with its chain, each certificate followed by its issuer, and the private
  /// key, from files in PEM, and the files of `options`. Throws io_error with the error of a file,
  /// or one of tls::error: bad_pem, encrypted_key, key_mismatch, broken_chain, expired,
  /// not_yet_valid, weak_certificate, bad_ocsp_response. Its text names the file and the line or
  /// the certificate. Blocks while it reads.
  server_context(std::string_view chain_file, std::string_view key_file,
                 const server_options& options = server_options());
  ~server_context() override;

  /// Performs the handshake of a server. Errors: tls::error, those of the transport. A result with
  /// an error owns a stream whose error_text() explains it.
  task<io_result<owned_stream>> accept(owned_stream transport) override;
  /// Fails with operation_not_supported: a client needs a client_context.
  task<io_result<owned_stream>> connect(owned_stream transport, std::string_view name) override;

  /// Reads all files again, for connections accepted from now on; the others keep their identity.
  /// If it throws, as the constructor, nothing has changed. Blocks while it reads.
  void reload();
  /// Returns the time until the first certificate of an identity or of its chain expires; negative
  /// after that. For monitoring.
  duration expires_in() const;

  /// Returns the state; for the library.
  detail::server_state& state() const noexcept { return *state_; }

 private:
  detail::server_state* state_ = nullptr;
};

}  // namespace beck::tls
