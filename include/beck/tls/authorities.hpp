// SPDX-License-Identifier: BSL-1.0
//
// Who may issue the certificates that are believed, and what their issuers have taken back.
#pragma once

#include <beck/detail/text_view.hpp>

namespace beck::tls {

namespace detail {
struct trust_settings;
}

/// The roots that a client trusts in servers, or a server in clients, and revocation lists. Nothing
/// is read before a context is made of it. Every setter returns the object. A value.
///   tls::authorities().file("company.pem").revocation_list("company.crl")
class authorities {
 public:
  /// Trusts the roots of the system, unless others are added.
  authorities();
  authorities(const authorities& other);
  authorities& operator=(const authorities& other);
  ~authorities();

  /// Adds the certificates of a file in PEM. An intermediate, or the certificate of a server
  /// itself, is then a root, too.
  authorities& file(beck::detail::text_view path);
  /// Adds the certificates of all files of a folder that end in .pem, .crt or .cer.
  authorities& folder(beck::detail::text_view path);
  /// Adds the certificates of a text in PEM, which is copied.
  authorities& pem(beck::detail::text_view text);
  /// Adds the roots of the system to the others: those in OpenSSL's default places, which the
  /// environment variables SSL_CERT_FILE and SSL_CERT_DIR replace.
  authorities& system();
  /// Adds a file of revocation lists, in PEM or DER. From the first one on, every certificate of a
  /// chain needs a current list of its issuer, else it is refused with revocation_unknown.
  authorities& revocation_list(beck::detail::text_view path);

  /// For the library.
  const detail::trust_settings& settings() const noexcept { return *settings_; }

 private:
  detail::trust_settings* settings_;
};

}  // namespace beck::tls
