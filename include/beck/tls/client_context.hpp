// SPDX-License-Identifier: BSL-1.0
//
// The peers that a client trusts, and the settings of its connections. It is the layer that
// http::client::secure() takes.
#pragma once

#include <beck/io/stream_layer.hpp>
#include <beck/tls/client_options.hpp>
#include <string_view>

namespace beck::tls {

namespace detail {
class client_state;
}

/// The trust of a client: the system's roots unless the options name others. The chain and the name
/// of the server are always verified. TLS 1.2 and 1.3, without renegotiation, compression and early
/// data.
///   tls::client_context trust;
///   web.secure(trust);
/// Thread: any. One object serves any number of connections, of several contexts at once, and
/// outlives their handshakes.
class client_context final : public stream_layer {
 public:
  /// Reads the files of `options`; by default trusts the roots of the system. Throws io_error with
  /// the error of a file, or one of tls::error, as server_context; its text names the file. Blocks
  /// while it reads.
  explicit client_context(const client_options& options = client_options());
  /// Trusts only the certificates of a file in PEM. Throws as above.
  explicit client_context(std::string_view roots_file);
  ~client_context() override;

  /// Performs the handshake of a client with the server `name`, a host name or an address. Errors:
  /// tls::error, invalid_argument for a name that is neither, those of the transport. A result with
  /// an error owns a stream whose error_text() explains it.
  task<io_result<owned_stream>> connect(owned_stream transport, std::string_view name) override;
  /// Fails with operation_not_supported: a server needs a server_context.
  task<io_result<owned_stream>> accept(owned_stream transport) override;

  /// Reads all files again, for connections made from now on, and forgets the sessions that could
  /// be resumed. If it throws, as the constructor, nothing has changed. Blocks while it reads.
  void reload();

  /// Returns the state; for the library.
  detail::client_state& state() const noexcept { return *state_; }

 private:
  detail::client_state* state_;
};

}  // namespace beck::tls
