// SPDX-License-Identifier: BSL-1.0
// Certificates for tests, good ones and one for each way to be wrong, made when a test first asks
// for them. Keys and signatures follow from fixed seeds. Nothing of it is a secret.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/temporary_folder.hpp"

namespace beck::tls::test {

/// The certificates. All are issued by an intermediate of one root unless their names say
/// otherwise, and valid from 2000 to 2049.
enum class made : unsigned char {
  good,              ///< P-256, for example.com and www.example.com
  rsa,               ///< RSA 2048, for example.com
  other_name,        ///< for other.example
  address,           ///< for 127.0.0.1 and ::1
  wildcard,          ///< for *.example.com
  partial_wildcard,  ///< for w*.example.com
  only_common_name,  ///< CN=example.com, and no name that counts
  expired,           ///< in 2010
  not_yet_valid,     ///< before 2040
  self_signed,       ///< for example.com
  no_intermediate,   ///< for example.com; the chain lacks its issuer
  other_root,        ///< for example.com, from a root that is not trusted
  revoked,           ///< for example.com and for clients; the revocation list has it
  weak,              ///< RSA 1024, for example.com
  for_clients,       ///< for example.com, but only for clients
  client,            ///< of a client, until 2040
  other_client,      ///< of a client, from a root that is not trusted
};
inline constexpr unsigned made_count = 17;

/// Returns the name of the enumerator, which the files have, too.
std::string_view name_of(made which) noexcept;

/// A certificate with its chain, and its key, as PEM.
struct identity {
  std::string chain;
  std::string key;
};

/// Returns the identity; the same one in every call.
const identity& identity_of(made which);
/// Returns the root, as PEM.
const std::string& root();
/// Returns the certificate of the intermediate, as PEM.
const std::string& intermediate();
/// Returns the lists of the root and of the intermediate, as PEM.
const std::string& revocation_lists();
/// Returns "sha256/..." of the certificate's public key.
std::string pin_of(made which);
std::string pin_of_intermediate();

/// What a response says.
enum class ocsp_says : unsigned char {
  good,
  revoked,
  unknown,
  too_old,  ///< from 2001 to 2002
  not_yet,  ///< from 2040 on
  foreign_signature,
  foreign_issuer,  ///< about the certificate of another issuer with the same number
};
/// Returns a response about the certificate, in DER, signed by the intermediate.
std::string ocsp_response(made about, ocsp_says what);

/// A temporary folder with all of it: NAME.pem, NAME.key, root.pem, lists.crl, good.ocsp ...
class identity_files {
 public:
  identity_files();

  const std::string& folder() const noexcept { return folder_.path(); }
  std::string path(std::string_view name) const { return folder_.path(name); }
  std::string chain(made which) const { return path(std::string(name_of(which)) + ".pem"); }
  std::string key(made which) const { return path(std::string(name_of(which)) + ".key"); }
  /// Writes or replaces a file of the folder and returns its path.
  std::string write(std::string_view name, std::string_view text) const;
  /// Returns the bytes of a file of the folder.
  std::string read(std::string_view name) const;

 private:
  beck::test::temporary_folder folder_;
};

}  // namespace beck::tls::test
