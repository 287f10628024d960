// SPDX-License-Identifier: BSL-1.0
// Maps reasons of OpenSSL to our errors; every other reason that a peer can cause is
// protocol_broken.
#include "tls/failure.hpp"

#include "tls/contexts.hpp"

namespace beck::tls::detail {
namespace {

error kind_of(unsigned long entry) noexcept {
  if (ERR_GET_LIB(entry) != ERR_LIB_SSL) return error::internal;
  switch (ERR_GET_REASON(entry)) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
      return error::not_tls;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_NO_PROTOCOLS_AVAILABLE:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_INAPPROPRIATE_FALLBACK:
      return error::no_shared_version;
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SHARED_GROUPS:
    case SSL_R_NO_SUITABLE_GROUPS:
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS:
      return error::no_shared_cipher;
    case SSL_R_NO_APPLICATION_PROTOCOL:
      return error::no_shared_protocol;
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return error::no_certificate;
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
      return error::truncated;
    default:
      return error::protocol_broken;
  }
}

const char* name_of_version(long number) noexcept {
  return number == TLS1_2_VERSION ? "TLS 1.2" : "TLS 1.3";
}

/// Returns the sentence for a failure that is not about a certificate. It has the peer's name if
/// that is known: in a log of many connections the error would not help without it.
std::string sentence_of(SSL* of, error why, unsigned long entry) {
  const connection_notes* notes = notes_of(of);
  std::string peer = SSL_is_server(of) == 1 ? "The client" : "The server";
  if (notes != nullptr && !notes->peer.name.empty())
    peer += " \"" + printable(notes->peer.name) + "\"";
  if (why == error::no_certificate) return peer + " sent no certificate, and this side demands one";
  if (why == error::no_shared_version) {
    return peer + " speaks no version that is allowed here, " +
           name_of_version(SSL_ctrl(of, SSL_CTRL_GET_MIN_PROTO_VERSION, 0, nullptr)) + " to " +
           name_of_version(SSL_ctrl(of, SSL_CTRL_GET_MAX_PROTO_VERSION, 0, nullptr));
  }
  const char* const words = ERR_reason_error_string(entry);
  return peer +
         (why == error::no_shared_cipher ? " shares no cipher, group or signature with this side"
          : why == error::not_tls        ? " does not speak TLS"
          : why == error::internal       ? ": OpenSSL failed"
                                         : " broke the protocol") +
         ": " + (words != nullptr ? words : "reason unknown");
}

}  // namespace

failure explain(SSL* of) {
  constexpr int alert_first = SSL_AD_REASON_OFFSET;
  constexpr int alerts = 256;
  // A failed check is the cause, and OpenSSL's error its consequence.
  const connection_notes* notes = notes_of(of);
  if (notes != nullptr && notes->peer.found) return notes->peer.found;
  // The last entry has the reason of the protocol, the entries before it those of its parts.
  const unsigned long last = ERR_peek_last_error();
  const unsigned long entry = ERR_GET_LIB(last) == ERR_LIB_SSL ? last : ERR_peek_error();
  if (entry == 0) return {error::internal, "OpenSSL failed without a reason"};
  const int reason = ERR_GET_REASON(entry);
  if (ERR_GET_LIB(entry) == ERR_LIB_SSL && reason >= alert_first && reason < alert_first + alerts)
    return explain_alert(reason - alert_first);
  error why = kind_of(entry);
  if (why == error::not_tls && SSL_get_finished(of, nullptr, 0) != 0) why = error::protocol_broken;
  return {why, sentence_of(of, why, entry)};
}

failure explain_alert(int number) {
  constexpr int alert_base = 256;  // see error
  BECK_ASSERT(number >= 0 && number < alert_base, "an alert of TLS is a number of one byte");
  const error_code code(alert_base + number, error_category());
  return {code, code.message()};
}

}  // namespace beck::tls::detail
