// SPDX-License-Identifier: BSL-1.0
//
// The errors of TLS: the end of a connection, a broken protocol, and certificates that are not
// trusted. A code says the kind of failure, for programs; the sentence with names and dates, for
// people, is byte_stream::failure() of the stream, and what() of an exception. docs/tls.md has a
// table of the commonest.
#pragma once

#include <beck/base/error.hpp>
#include <type_traits>

namespace beck::tls {

/// Why a handshake, a connection or the making of a context has failed.
enum class error : int {
  // the connection
  truncated = 1,       ///< the stream ended without close_notify: bytes may be missing
  not_tls,             ///< the peer does not speak TLS; often it speaks HTTP without it
  protocol_broken,     ///< a message that is malformed, out of order, too long, or forged
  too_many_messages,   ///< key updates and the like without end
  refused_by_peer,     ///< the peer has sent an alert; failure() names it
  no_common_version,   ///< no version of TLS that both sides allow
  no_common_cipher,    ///< no cipher, group or signature that both sides allow
  no_common_protocol,  ///< no application protocol that both sides offer (ALPN)
  unknown_name,        ///< no certificate for the name that the client asks for

  // the peer's certificate
  untrusted,        ///< its chain leads to no root that is trusted
  self_signed,      ///< it is signed by itself, and not trusted
  expired,          ///< its time, or that of one in its chain, is over
  not_yet_valid,    ///< its time, or that of one in its chain, has not come
  wrong_name,       ///< it is valid for other names than the expected one
  wrong_purpose,    ///< it may not be used for this side of a connection
  revoked,          ///< its issuer has revoked it
  unknown_status,   ///< whether it is revoked is not known, and has to be
  weak,             ///< its key or its signature is too weak
  wrong_pin,        ///< no key of the chain is one of those that were pinned
  no_certificate,   ///< the peer has sent none, and has to
  bad_certificate,  ///< it is refused for another reason; failure() says which

  // the making of a context
  bad_file,   ///< a file that is not PEM, or has nothing in it that was looked for
  wrong_key,  ///< the private key does not belong to the certificate
  internal,   ///< OpenSSL has failed; failure() has its words
};

/// Returns the category of error. The codes about certificates and protocols compare equal to
/// errc::protocol_error, truncated to errc::connection_reset, the codes of contexts to
/// errc::invalid_argument. Any thread; valid until the process ends.
const std::error_category& error_category() noexcept;

/// Returns the error_code of `e`.
inline error_code make_error_code(error e) noexcept {
  return {static_cast<int>(e), error_category()};
}

}  // namespace beck::tls

/// Makes the enumerators convert to error_code.
template <>
struct std::is_error_code_enum<beck::tls::error> : std::true_type {};
