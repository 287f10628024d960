// SPDX-License-Identifier: BSL-1.0
// The shared states of the two contexts: they make the objects of OpenSSL that sessions work with.
// Everything about certificates, verification, tickets and protocols is set here, so that the
// engine and the session know nothing of it.
#pragma once

#include <string>

#include <beck/detail/text_view.hpp>

#include "tls/openssl.hpp"

namespace beck::tls::detail {

/// Returns a context with the settings that both sides share: versions 1.2 and 1.3, no
/// renegotiation, no compression, no early data, buffers that are freed when they are empty.
/// Throws std::bad_alloc.
ssl_ctx_ptr make_context(const SSL_METHOD* method);

/// The state of a server_context. Thread: any.
class server_state {
 public:
  server_state(std::string chain_file, std::string key_file);

  /// Makes an object for one connection, which accepts. It keeps the settings of now. Throws
  /// std::bad_alloc.
  ssl_ptr make_session() const;

 private:
  std::string chain_file_, key_file_;
  ssl_ctx_ptr context_;
};

/// The state of a client_context. Thread: any.
class client_state {
 public:
  /// `roots_file`: empty for the roots of the system.
  explicit client_state(const std::string& roots_file);

  /// Makes an object for one connection, which connects, with SNI and the expected name or address
  /// set. Throws std::bad_alloc, std::invalid_argument for a name that is empty or has a NUL.
  ssl_ptr make_session(beck::detail::text_view name) const;

 private:
  ssl_ctx_ptr context_;
};

}  // namespace beck::tls::detail
