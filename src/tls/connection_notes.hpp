// SPDX-License-Identifier: BSL-1.0
// What belongs to one connection besides its SSL, which owns it: the settings that it was made
// with, and why its peer is not believed.
#pragma once

#include <memory>

#include "tls/trust.hpp"

namespace beck::tls::detail {

/// Notes of a connection. They go with the SSL that they are attached to.
struct connection_notes {
  peer_check peer;
  std::shared_ptr<const void> settings;  ///< kept alive: callbacks of OpenSSL use them
};

/// Attaches notes to `ssl`, whose settings are kept alive. Throws std::bad_alloc.
connection_notes& attach_notes(SSL* ssl, std::shared_ptr<const void> settings);
/// Returns the notes of `ssl`, or nullptr.
connection_notes* notes_of(const SSL* ssl) noexcept;

/// Sets the callback about OCSP: OpenSSL's own is a macro that casts as C does.
void set_status_callback(SSL_CTX* context, int (*callback)(SSL*, void*), void* argument) noexcept;

}  // namespace beck::tls::detail
