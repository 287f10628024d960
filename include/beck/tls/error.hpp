// SPDX-License-Identifier: BSL-1.0
//
// The errors of TLS: refused certificates, peers without a common version or cipher, ends of
// connections, files that cannot be loaded, and the alerts of a peer. A code names the kind of
// failure, for programs. A sentence with names and dates, for people, is in
// byte_stream::error_text() of the stream, and in the text of an exception. docs/tls.md has a table
// of the most common ones.
#pragma once

#include <beck/base/error.hpp>
#include <type_traits>

namespace beck::tls {

/// The reason why a handshake, a connection or the loading of a file has failed.
enum class error : int {
  // The certificate of the peer, or one of its chain.
  wrong_name = 1,      ///< issued for another name or address than the expected one
  expired,             ///< its last day has passed
  not_yet_valid,       ///< its first day has not come
  self_signed,         ///< it is, or its chain ends in, an untrusted root
  unknown_issuer,      ///< its issuer is neither trusted nor in the chain
  revoked,             ///< its issuer has revoked it
  revocation_unknown,  ///< a check was required, and the list or response is missing or too old
  bad_pin,             ///< no key of its chain is pinned
  weak_certificate,    ///< a key or signature below 112 bits of security
  wrong_usage,         ///< issued for another use, or by an issuer without that right
  bad_certificate,     ///< an invalid signature, or another fault
  no_certificate,      ///< the peer sent none

  // The peers have nothing in common.
  no_shared_version = 20,  ///< the peer supports no version that is allowed here
  no_shared_cipher,        ///< no cipher, group or kind of signature is common
  no_shared_protocol,      ///< no protocol of ALPN is common
  not_tls,                 ///< the peer does not speak TLS
  protocol_broken,         ///< a message that is malformed, out of order, too long, or forged
  too_many_messages,       ///< an endless series of key updates or similar messages
  truncated,               ///< the stream ended without close_notify: bytes may be missing
  internal,                ///< OpenSSL has failed; error_text() has its text

  // Files.
  bad_pem = 40,       ///< a file is not PEM, or a block in it cannot be decoded
  key_mismatch,       ///< the private key does not belong to the certificate
  encrypted_key,      ///< the private key is protected by a password
  broken_chain,       ///< a certificate is not followed by its issuer
  bad_ocsp_response,  ///< a response that must not be sent for the certificate

  // Fatal alerts of the peer: 256 plus the number of the alert. Source: RFC 8446, section 6.2.
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
