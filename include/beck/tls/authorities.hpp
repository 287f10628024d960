// SPDX-License-Identifier: BSL-1.0
//
// The issuers whose certificates are trusted, and the revocation lists of these issuers.
#pragma once

#include <string_view>

namespace beck::tls {

namespace detail {
struct trust_settings;
}

/// The roots that a client trusts for servers, or a server for clients, and revocation lists. The
/// files are read when a context is made of this object. Every setter returns the object. A value.
///   tls::authorities().file("company.pem").revocation_list("company.crl")
class authorities {
 public:
  /// Trusts the roots of the system, unless other roots are added.
  authorities();
  authorities(const authorities& other);
  authorities& operator=(const authorities& other);
  ~authorities();

  /// Adds the certificates of a file in PEM. Each becomes a root, also an intermediate or the
  /// certificate of a server itself.
  authorities& file(std::string_view path);
  /// Adds the certificates of all files of a folder that end in .pem, .crt or .cer.
  authorities& folder(std::string_view path);
  /// Adds the certificates of a text in PEM, which is copied.
  authorities& pem(std::string_view text);
  /// Adds the roots of the system: those in OpenSSL's default places, or in the places that the
  /// environment variables SSL_CERT_FILE and SSL_CERT_DIR name.
  authorities& system();
  /// Adds a file of revocation lists, in PEM or DER. With at least one such file, every certificate
  /// of a chain needs a current list of its issuer, else it is refused with revocation_unknown.
  authorities& revocation_list(std::string_view path);

  /// Returns the settings; for the library.
  const detail::trust_settings& settings() const noexcept { return *settings_; }

 private:
  detail::trust_settings* settings_;
};

}  // namespace beck::tls
