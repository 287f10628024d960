// SPDX-License-Identifier: BSL-1.0
// The shared states of the two contexts: they make the objects of OpenSSL that sessions work with.
// Everything about certificates, verification, tickets and protocols is set here, so that the
// engine and the session know nothing of it. Also here: what belongs to one connection besides its
// SSL, which owns it, and the log of secrets for programs that look into captured packets.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <beck/detail/text_view.hpp>

#include "tls/identity.hpp"
#include "tls/openssl.hpp"
#include "tls/trust.hpp"

namespace beck::tls::detail {

class ticket_store;

/// The values behind the options that both sides have, before anything was loaded.
struct common_settings {
  int version_min = TLS1_2_VERSION;
  int version_max = TLS1_3_VERSION;
  std::string protocols;  ///< as ALPN has them: a byte of length before each
  bool resumes = true;
};

struct client_settings : common_settings {
  trust_settings trust;
  std::vector<key_hash> pins;
  bool demands_ocsp = false;
  identity_source identity;  ///< without a chain: none
};

struct server_settings : common_settings {
  std::vector<identity_source> identities;  ///< the first one is for names that no other has
  trust_settings clients;
  bool asks_clients = false;
  bool demands_clients = false;
  std::shared_ptr<ticket_store> tickets;  ///< none: those of one server alone
};

/// Returns a context with the settings that both sides share: versions, ciphers and groups; no
/// renegotiation, no compression, no early data, buffers that are freed when they are empty.
/// Throws std::bad_alloc.
ssl_ctx_ptr make_context(const SSL_METHOD* method, const common_settings& settings);

class server_generation;
class client_generation;

/// The state of a server_context. Thread: any.
class server_state {
 public:
  /// Throws as load_identity() and trust. Requires that the settings have keys of tickets.
  explicit server_state(server_settings settings);

  /// Makes an object for one connection, which accepts. It keeps the settings of now. Throws
  /// std::bad_alloc.
  ssl_ptr make_session() const;
  /// Reads all files again, for the sessions that are made from now on. Throws as the constructor,
  /// and leaves everything as it was.
  void reload();
  /// Returns the first moment at which a certificate has expired, in seconds from 1970.
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

  /// Makes an object for one connection, which connects, with SNI and the expected name or address
  /// set. Throws std::bad_alloc, std::invalid_argument for a name that is neither a host name nor
  /// an address.
  ssl_ptr make_session(beck::detail::text_view name);
  /// Reads all files again, and forgets all sessions. Throws as the constructor, and leaves
  /// everything as it was.
  void reload();

 private:
  const client_settings settings_;
  std::mutex mutex_;  ///< for the pointer below
  std::shared_ptr<client_generation> generation_;
};

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

/// Makes connections of the context append their secrets to the file, which is made readable for
/// its owner alone. Returns whether it could be opened. Source: the format of SSLKEYLOGFILE.
bool log_keys_to(SSL_CTX* context, const char* path);

/// Calls log_keys_to() with the environment variable SSLKEYLOGFILE, in a build that allows it.
void log_keys_if_asked(SSL_CTX* context);

}  // namespace beck::tls::detail
