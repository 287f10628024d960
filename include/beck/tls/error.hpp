// SPDX-License-Identifier: BSL-1.0
//
// The errors of TLS: certificates that are not believed, peers that do not agree, the end of a
// connection, files that cannot be loaded, and the alerts of a peer. A code says the kind of
// failure, for programs; the sentence with names and dates, for people, is byte_stream::failure()
// of the stream, and what() of an exception. docs/tls.md has a table of the commonest.
#pragma once

#include <beck/base/error.hpp>
#include <type_traits>

namespace beck::tls {

/// Why a handshake, a connection or the loading of a file has failed.
enum class error : int {
  // The certificate of the peer, or one of its chain.
  wrong_name = 1,      ///< it was not issued for the name or address that was expected
  expired,             ///< its last day has passed
  not_yet_valid,       ///< its first day has not come
  self_signed,         ///< it is, or its chain ends in, a root that is not trusted
  unknown_issuer,      ///< its issuer is neither trusted nor sent along
  revoked,             ///< its issuer has taken it back
  revocation_unknown,  ///< a check was demanded, and the list or response is missing or too old
  bad_pin,             ///< no key of its chain is one of the pinned
  weak_certificate,    ///< a key or signature below 112 bits of security
  wrong_usage,         ///< it was issued for another use, or its issuer must not issue
  bad_certificate,     ///< a false signature, or another fault
  no_certificate,      ///< the peer sent none

  // What the peers do not share.
  no_shared_version = 20,  ///< the peer speaks no version that is allowed here
  no_shared_cipher,        ///< no cipher, group or kind of signature is known to both
  no_shared_protocol,      ///< no protocol of ALPN is known to both
  not_tls,                 ///< the peer does not speak TLS
  protocol_broken,         ///< a message that is malformed, out of order, too long, or forged
  too_many_messages,       ///< key updates and the like without end
  truncated,               ///< the stream ended without close_notify: bytes may be missing
  internal,                ///< OpenSSL has failed; failure() has its words

  // What is loaded.
  bad_pem = 40,       ///< a file is not PEM, or a block in it cannot be decoded
  key_mismatch,       ///< the private key does not belong to the certificate
  encrypted_key,      ///< the private key is protected by a password
  broken_chain,       ///< a certificate is not followed by its issuer
  bad_ocsp_response,  ///< a response that cannot be served for the certificate

  // Fatal alerts of the peer, as 256 and their number. Source: RFC 8446, section 6.2.
  alert_unexpected_message = 266,
  alert_bad_record_mac = 276,
  alert_handshake_failure = 296,
  alert_bad_certificate = 298,
  alert_unsupported_certificate = 299,
  alert_certificate_revoked = 300,
  alert_certificate_expired = 301,
  alert_certificate_unknown = 302,
  alert_illegal_parameter = 303,
  alert_unknown_ca = 304,
  alert_access_denied = 305,
  alert_decode_error = 306,
  alert_decrypt_error = 307,
  alert_protocol_version = 326,
  alert_insufficient_security = 327,
  alert_internal_error = 336,
  alert_unrecognized_name = 368,
  alert_bad_status_response = 369,
  alert_certificate_required = 372,
  alert_no_application_protocol = 376,
};

/// Returns the category of error. truncated compares equal to errc::connection_reset, the codes
/// about files to errc::invalid_argument, the others to errc::protocol_error. Any thread; valid
/// until the process ends.
const std::error_category& error_category() noexcept;

/// Returns the error_code of `e`.
inline error_code make_error_code(error e) noexcept {
  return {static_cast<int>(e), error_category()};
}

}  // namespace beck::tls

/// Makes the enumerators convert to error_code.
template <>
struct std::is_error_code_enum<beck::tls::error> : std::true_type {};
