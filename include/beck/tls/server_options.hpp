// SPDX-License-Identifier: BSL-1.0
//
// The settings of a server_context beyond its first identity: further names, OCSP responses,
// certificates of clients, tickets, protocols, versions.
#pragma once

#include <beck/detail/text_view.hpp>
#include <beck/tls/authorities.hpp>
#include <beck/tls/client_options.hpp>
#include <beck/tls/ticket_keys.hpp>

namespace beck::tls {

namespace detail {
struct server_settings;
}

/// Whether clients have to send a certificate. Without one, an optional handshake goes on; one that
/// is sent and not believed ends it in both cases.
enum class client_certificate : unsigned char { optional, required };

/// The settings of a server. Nothing is read before a context is made of it. Every setter returns
/// the object. A value.
class server_options {
 public:
  /// Makes the defaults: both versions, ALPN as protocols() says, tickets with keys of its own, no
  /// certificates of clients.
  server_options();
  server_options(const server_options& other);
  server_options& operator=(const server_options& other);
  ~server_options();

  /// Adds an identity, for clients that ask for a DNS name in its certificate: files as of
  /// server_context. Exact names come before wildcards, which stand for one label; of two
  /// identities with the same name the later one has it. Clients that ask for no name, or an
  /// unknown one, get the identity of the server_context.
  server_options& identity(beck::detail::text_view chain_file, beck::detail::text_view key_file);
  /// Sends the OCSP response in this file, in DER, with the identity that was added last, without
  /// one with that of the server_context, to clients that ask. It is read again by reload(). Once
  /// it is too old it is not sent.
  server_options& ocsp(beck::detail::text_view file);
  /// Asks clients for a certificate that `issuers` have issued.
  server_options& clients(const authorities& issuers,
                          client_certificate need = client_certificate::required);
  /// Sets the application protocols, with spaces between them, the best first. A client that offers
  /// others only is refused with no_shared_protocol; one that offers none is served. Default:
  /// "http/1.1 http/1.0"; an empty text turns ALPN off. Throws std::invalid_argument for a name of
  /// more than 255 bytes. Source: RFC 7301.
  server_options& protocols(beck::detail::text_view names);
  /// Sets the versions that are allowed. Default: TLS 1.2 to 1.3. Throws std::invalid_argument if
  /// `least` is above `most`.
  server_options& versions(version least, version most);
  /// Sets the keys of tickets, which several contexts, or processes, may share. Default: keys that
  /// this server alone has.
  server_options& tickets(const ticket_keys& keys);
  /// Sets whether clients get a ticket to resume their session. Default: on.
  server_options& resumption(bool on) noexcept;

  /// For the library.
  detail::server_settings& settings() const noexcept { return *settings_; }

 private:
  detail::server_settings* settings_;
};

}  // namespace beck::tls
