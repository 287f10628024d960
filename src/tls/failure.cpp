// SPDX-License-Identifier: BSL-1.0
// The reasons of OpenSSL that mean a kind of failure of ours; everything else that a peer can cause
// is a broken protocol.
#include "tls/failure.hpp"

#include <new>

#include <beck/base/error.hpp>

namespace beck::tls::detail {
namespace {

/// Returns OpenSSL's own words for an entry of its queue.
std::string words_of(unsigned long entry) {
  const char* const reason = ERR_reason_error_string(entry);
  return reason != nullptr ? reason : "an unknown reason";
}

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
      return error::no_common_version;
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SHARED_GROUPS:
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS:
      return error::no_common_cipher;
    case SSL_R_NO_APPLICATION_PROTOCOL:
      return error::no_common_protocol;
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return error::no_certificate;
    default:
      return error::protocol_broken;
  }
}

error kind_of_verification(long result) noexcept {
  switch (result) {
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return error::self_signed;
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return error::expired;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return error::not_yet_valid;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return error::wrong_name;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return error::untrusted;
    default:
      return error::bad_certificate;
  }
}

}  // namespace

failure explain(SSL* of) {
  const unsigned long entry = ERR_peek_error();
  if (entry == 0) return {error::internal, "OpenSSL failed without a reason"};
  if (ERR_GET_LIB(entry) == ERR_LIB_SSL &&
      ERR_GET_REASON(entry) == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    const long result = SSL_get_verify_result(of);
    return {kind_of_verification(result), X509_verify_cert_error_string(result)};
  }
  constexpr int alert_first = SSL_AD_REASON_OFFSET;
  const int reason = ERR_GET_REASON(entry);
  if (ERR_GET_LIB(entry) == ERR_LIB_SSL && reason >= alert_first && reason < alert_first + 256) {
    return explain_alert(reason - alert_first);
  }
  return {kind_of(entry), words_of(entry)};
}

failure explain_alert(int number) {
  return {error::refused_by_peer,
          std::string("the peer sent the alert \"") + SSL_alert_desc_string_long(number) + "\""};
}

void throw_setup_error(error code, const char* operation, const std::string& subject) {
  const unsigned long entry = ERR_peek_error();
  const std::string text = entry != 0 ? subject + ": " + words_of(entry) : subject;
  clear_errors();
  throw io_error(code, operation, text);
}

}  // namespace beck::tls::detail
