// SPDX-License-Identifier: BSL-1.0
//
// The settings of a client_context beyond the defaults: other roots, pinned keys, revocation, a
// certificate of the client, protocols, versions.
#pragma once

#include <beck/tls/authorities.hpp>
#include <string_view>

namespace beck::tls {

namespace detail {
struct client_settings;
}

/// Versions of the protocol. Older ones are not supported.
enum class version : unsigned short {
  tls_1_2 = 0x0303,
  tls_1_3 = 0x0304,
};

/// The settings of a client. The files are read when a context is made of this object. Every setter
/// returns the object. A value.
class client_options {
 public:
  /// Makes the defaults: the system's roots, both versions, no ALPN, sessions are resumed.
  client_options();
  client_options(const client_options& other);
  client_options& operator=(const client_options& other);
  ~client_options();

  /// Sets the issuers that are trusted. Default: authorities().
  client_options& trust(const authorities& roots);
  /// Adds a pin: the SHA-256 of a public key (SubjectPublicKeyInfo) in base64, with or without
  /// "sha256/" before it. In addition to all other checks, one certificate of the verified chain,
  /// the server's or an issuer's, must have one of the pinned keys. Else: bad_pin. Throws
  /// std::invalid_argument for another text. Source: RFC 7469, section 2.4.
  client_options& pin(std::string_view hash);
  /// Requires that the server sends a current OCSP response of "good" with its certificate. Else:
  /// revoked or revocation_unknown. Source: RFC 6066, section 8.
  client_options& demand_ocsp(bool on = true) noexcept;
  /// Sets the certificate that is sent to servers that ask for one: files as of a server_context.
  client_options& identity(std::string_view chain_file, std::string_view key_file);
  /// Sets the application protocols to offer, separated by spaces, the best first, such as
  /// "http/1.1". Default: none. Throws std::invalid_argument for a name of more than 255 bytes.
  /// Source: RFC 7301.
  client_options& protocols(std::string_view names);
  /// Sets the allowed versions. Default: TLS 1.2 to 1.3. Throws std::invalid_argument if `least` is
  /// above `most`.
  client_options& versions(version least, version most);
  /// Sets whether sessions are kept and resumed: at most 4 for each name and 512 in all, in memory,
  /// while session and certificate are valid. Default: on.
  client_options& resumption(bool on) noexcept;

  /// Returns the settings; for the library.
  detail::client_settings& settings() const noexcept { return *settings_; }

 private:
  detail::client_settings* settings_;
};

}  // namespace beck::tls
