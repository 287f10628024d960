// SPDX-License-Identifier: BSL-1.0
//
// The settings of a server_context beyond its first identity: further names, OCSP responses,
// certificates of clients, tickets, protocols, versions.
#pragma once

#include <beck/tls/authorities.hpp>
#include <beck/tls/client_options.hpp>
#include <beck/tls/ticket_keys.hpp>
#include <string_view>

namespace beck::tls {

namespace detail {
struct server_settings;
}

/// Whether clients have to send a certificate. If it is optional, the handshake of a client without
/// one continues. A certificate that is sent and not trusted ends the handshake in both cases.
enum class client_certificate : unsigned char { optional, required };

/// The settings of a server. The files are read when a context is made of this object. Every setter
/// returns the object. A value.
class server_options {
 public:
  /// Makes the defaults: both versions, ALPN as in protocols(), tickets with keys of this server,
  /// no certificates of clients.
  server_options();
  server_options(const server_options& other);
  server_options& operator=(const server_options& other);
  ~server_options();

  /// Adds an identity, for clients that ask for a DNS name of its certificate. Files as of
  /// server_context. An exact name is preferred to a wildcard, which matches one label; if two
  /// identities have the same name, the later one is used. Clients that ask for no name, or an
  /// unknown one, get the identity of the server_context.
  server_options& identity(std::string_view chain_file, std::string_view key_file);
  /// Sends the OCSP response in this file, in DER, to clients that ask. It belongs to the identity
  /// added last, or to that of the server_context if none was added. reload() reads it again. An
  /// expired response is not sent.
  server_options& ocsp(std::string_view file);
  /// Asks clients for a certificate issued by `issuers`.
  server_options& clients(const authorities& issuers,
                          client_certificate need = client_certificate::required);
  /// Sets the application protocols, separated by spaces, the best first. A client that offers only
  /// others is refused with no_shared_protocol; one that offers none is served. Default: "http/1.1
  /// http/1.0"; an empty text turns ALPN off. Throws std::invalid_argument for a name of more than
  /// 255 bytes. Source: RFC 7301.
  server_options& protocols(std::string_view names);
  /// Sets the allowed versions. Default: TLS 1.2 to 1.3. Throws std::invalid_argument if `least` is
  /// above `most`.
  server_options& versions(version least, version most);
  /// Sets the keys of tickets, which several contexts, or processes, may share. Default: keys of
  /// this server only.
  server_options& tickets(const ticket_keys& keys);
  /// Sets whether clients get a ticket to resume their session. Default: on.
  server_options& resumption(bool on) noexcept;

  /// Returns the settings; for the library.
  detail::server_settings& settings() const noexcept { return *settings_; }

 private:
  detail::server_settings* settings_;
};

}  // namespace beck::tls
