// SPDX-License-Identifier: BSL-1.0
// The shared states of the two contexts: they make the OpenSSL objects that sessions use.
// Certificates, verification, tickets and protocols are set up here, so that the engine and the
// session need not know them. Also here: the notes of one connection besides its SSL, which owns
// them, and the log of secrets for programs that decrypt captured packets.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <string_view>

#include "tls/identity.hpp"
#include "tls/openssl.hpp"
#include "tls/trust.hpp"

namespace beck::tls::detail {

class ticket_store;

/// The common options of both sides, before any file is loaded.
struct common_settings {
  int version_min = TLS1_2_VERSION;
  int version_max = TLS1_3_VERSION;
  std::string protocols;  ///< in ALPN's form: a length byte before each
  bool resumes = true;
};

struct client_settings : common_settings {
  trust_settings trust;
  std::vector<key_hash> pins;
  bool demands_ocsp = false;
  identity_source identity;  ///< without a chain: no identity
};

struct server_settings : common_settings {
  std::vector<identity_source> identities;  ///< the first is the default for unknown names
  trust_settings clients;
  bool asks_clients = false;
  bool demands_clients = false;
  std::shared_ptr<ticket_store> tickets;  ///< empty: keys of one server only
};

/// Returns a context with the settings common to both sides: versions, ciphers and groups; no
/// renegotiation, no compression, no early data, buffers that are freed when they are empty. Throws
/// std::bad_alloc.
ssl_ctx_ptr make_context(const SSL_METHOD* method, const common_settings& settings);

class server_generation;
class client_generation;

/// The state of a server_context. Thread: any.
class server_state {
 public:
  /// Throws as load_identity() and trust. Requires that the settings have ticket keys.
  explicit server_state(server_settings settings);

  /// Makes the object of one accepted connection. It keeps the present settings. Throws
  /// std::bad_alloc.
  ssl_ptr make_session() const;
  /// Reads all files again, for sessions made from now on. Throws as the constructor, and then
  /// changes nothing.
  void reload();
  /// Returns the first time at which a certificate has expired, in seconds since 1970.
  std::int64_t end() const;

 private:
  std::shared_ptr<const server_generation> now() const;

  const server_settings settings_;
  mutable std::mutex mutex_;  ///< for the pointer below
  std::shared_ptr<const server_generation> generation_;
};

/// The state of a client_context. Thread: any.
class client_state {
 public:
  /// Throws as trust and load_identity().
  explicit client_state(client_settings settings);

  /// Makes the object of one connection to a server, with SNI and the expected name or address set.
  /// Throws std::bad_alloc, std::invalid_argument for a name that is neither a host name nor an
  /// address.
  ssl_ptr make_session(std::string_view name);
  /// Reads all files again, and forgets all sessions. Throws as the constructor, and then changes
  /// nothing.
  void reload();

 private:
  const client_settings settings_;
  std::mutex mutex_;  ///< for the pointer below
  std::shared_ptr<client_generation> generation_;
};

/// Notes of a connection. They are freed with the SSL that they are attached to.
struct connection_notes {
  peer_check peer;
  std::shared_ptr<const void> settings;  ///< kept alive: callbacks of OpenSSL use them
};

/// Attaches notes to `ssl`, and keeps `settings` alive with them. Throws std::bad_alloc.
connection_notes& attach_notes(SSL* ssl, std::shared_ptr<const void> settings);
/// Returns the notes of `ssl`, or nullptr.
connection_notes* notes_of(const SSL* ssl) noexcept;

/// Sets the callback for OCSP responses. OpenSSL's own function is a macro with a C cast.
void set_status_callback(SSL_CTX* context, int (*callback)(SSL*, void*), void* argument) noexcept;

/// Makes connections of the context append their secrets to the file, which only its owner may
/// read. Returns whether it could be opened. Source: the format of SSLKEYLOGFILE.
bool log_keys_to(SSL_CTX* context, const char* path);

/// Calls log_keys_to() with the file of the environment variable SSLKEYLOGFILE, in a build that
/// allows it.
void log_keys_if_asked(SSL_CTX* context);

}  // namespace beck::tls::detail
