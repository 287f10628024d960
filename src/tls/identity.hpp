// SPDX-License-Identifier: BSL-1.0
// A certificate with its chain and its private key, loaded and checked as a whole, so that a server
// never starts with one that no client accepts. Also the table that maps names to identities: exact
// names first, then wildcards for one label (RFC 6066, section 3; RFC 6125, section 6.4.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tls/openssl.hpp"

namespace beck::tls::detail {

/// The files of an identity. A value.
struct identity_source {
  std::string chain;  ///< the certificate, then each issuer; the root is optional
  std::string key;    ///< may be the same file
  std::string ocsp;   ///< a response in DER, or empty
  // For tests of clients: allows certificates that are not valid now, and wrong responses.
  bool any_date = false;
  std::string ocsp_unchecked;
};

/// A loaded identity. Move-only.
struct identity {
  x509_ptr leaf;
  std::vector<x509_ptr> issuers;
  key_ptr key;
  std::string ocsp;           ///< the response, or empty
  std::int64_t ocsp_end = 0;  ///< the time after which it must not be sent, in seconds since 1970
};

/// Loads an identity. Throws io_error with the file, the line or the certificate, and the reason:
/// the system's error, bad_pem, encrypted_key, key_mismatch, broken_chain, weak_certificate,
/// expired, not_yet_valid, bad_ocsp_response.
identity load_identity(const identity_source& from);

/// Makes an SSL_CTX use the identity. Throws io_error (weak_certificate) if OpenSSL refuses one of
/// its certificates or its key at the context's security level.
void present(SSL_CTX* context, const identity& who, const identity_source& from);

/// Returns the first time at which a certificate of the identity has expired, in seconds since
/// 1970.
std::int64_t end_of(const identity& who) noexcept;

/// Names in lower case, each with the index of an identity. Thread: any, unless it is being
/// changed.
class name_table {
 public:
  static constexpr std::size_t none = SIZE_MAX;

  /// Adds a name of a certificate, such as "a.example" or "*.a.example". A name that is already in
  /// the table gets the new index.
  void add(std::string_view name, std::size_t index);
  /// Returns the index for the name that a client asks for, in any case, with or without a dot at
  /// its end; `none` if no name matches.
  std::size_t find(std::string_view asked) const;

 private:
  std::map<std::string, std::size_t, std::less<>> exact_;
  std::map<std::string, std::size_t, std::less<>> below_;  ///< "*.a.example" is "a.example" here
};

/// Returns the host name in the server name extension of a ClientHello; empty if it is malformed.
std::string_view server_name_in(const unsigned char* extension, std::size_t bytes) noexcept;

}  // namespace beck::tls::detail
