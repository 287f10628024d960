// SPDX-License-Identifier: BSL-1.0
// Decides which certificates are trusted: roots, revocation lists, pinned keys, and the check of a
// peer's chain against them; OCSP responses that a server sends with its certificate or a client
// requires (RFC 6960; RFC 6066, section 8).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tls/failure.hpp"
#include "tls/openssl.hpp"

namespace beck::tls::detail {

/// The SHA-256 of a public key (SubjectPublicKeyInfo).
using key_hash = std::array<unsigned char, 32>;

/// Returns the SHA-256 of some bytes. Throws std::bad_alloc if it cannot be computed: an unset hash
/// would be the same for all data.
key_hash hash_of(const void* data, std::size_t bytes);

/// Returns the hash in `text`: 43 characters of base64 and '=', with or without "sha256/" or
/// "sha256//" before it. Throws std::invalid_argument for another text.
key_hash parse_pin(std::string_view text);

/// The sources of trust. A value.
struct trust_settings {
  bool system = false;  ///< add the system's roots; without other roots they are trusted anyway
  std::vector<std::string> files;
  std::vector<std::string> folders;
  std::vector<std::string> texts;  ///< in PEM
  std::vector<std::string> revocation_lists;
};

/// The expectation of one handshake about its peer, and the failure found. Attached to its SSL
/// until the handshake has ended.
struct peer_check {
  std::string name;  ///< the expected host name or address; empty: any, for clients
  failure found;     ///< why the peer is not trusted
};

class pem_file;

/// Loaded roots and rules. Immutable. Thread: any, several at once.
class trust {
 public:
  /// Loads the files and texts of `from`. Throws io_error with the file, the line and the reason.
  explicit trust(const trust_settings& from, std::vector<key_hash> pins = {},
                 bool demand_ocsp = false);

  /// Makes every handshake of the context check its peer's chain with this object. The context
  /// keeps a pointer: the trust must outlive it and its connections.
  void apply_to(SSL_CTX* context) const;
  /// Returns the names of the roots, for servers that ask clients for certificates.
  STACK_OF(X509_NAME) * root_names() const;
  /// Returns a hash of the roots and the lists: sessions verified with one trust are not used with
  /// another.
  key_hash fingerprint() const;

 private:
  static int verify(X509_STORE_CTX* chain, void* self);
  static int check_status(SSL* ssl, void* self);
  failure check(X509_STORE_CTX* chain, const peer_check& peer) const;
  failure check_pins(STACK_OF(X509) * chain) const;
  void add_roots(const pem_file& from);

  store_ptr store_;
  std::vector<key_hash> pins_;
  std::vector<key_hash> hashes_;  ///< of all loaded files
  bool has_lists_ = false;
  bool demand_ocsp_ = false;
};

/// Makes `ssl`, of a client, expect the peer named in `check`, and ask for this name (SNI). Returns
/// invalid_argument for a name that is neither a host name nor an address.
error_code expect(SSL* ssl, peer_check& check);

/// An OCSP response to send.
struct stapled {
  std::string bytes;
  std::int64_t end = 0;  ///< when it expires, in seconds since 1970
};

/// Loads the response in the file `path`, in DER. `issuer` may be unknown. Throws io_error:
/// bad_ocsp_response if it is malformed, for another certificate, too old, or not "good".
stapled load_response(const std::string& path, const X509& leaf, const X509* issuer);

/// Checks a response that a server has sent for the first certificate of `chain`, at the time
/// `now`: it must be signed by the issuer or a delegate of the issuer, current, and "good". Errors:
/// revoked, revocation_unknown. Changes the error queue of the thread.
failure check_response(std::string_view response, STACK_OF(X509) * chain, X509_STORE* roots,
                       std::int64_t now);

}  // namespace beck::tls::detail
