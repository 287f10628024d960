// SPDX-License-Identifier: BSL-1.0
// The error category of TLS. A message names the fault and, if there is a single remedy, the
// remedy.
#include <beck/tls/error.hpp>

#include <string>

namespace beck::tls {
namespace {

constexpr int alert_base = 256;
constexpr int alert_max = alert_base + 255;

constexpr struct {
  error code;
  const char* text;
} texts[] = {
    {error::wrong_name, "The certificate was issued for other names"},
    {error::expired, "The certificate has expired"},
    {error::not_yet_valid, "The certificate is not valid yet"},
    {error::self_signed, "The certificate leads to a root that is not trusted"},
    {error::unknown_issuer,
     "The issuer of the certificate is not known, and the peer did not send it"},
    {error::revoked, "The certificate was revoked"},
    {error::revocation_unknown, "Whether the certificate was revoked cannot be told"},
    {error::bad_pin, "No key of the certificate's chain is pinned"},
    {error::weak_certificate, "A key or signature of the certificate's chain is too weak"},
    {error::wrong_usage, "The certificate was issued for another use"},
    {error::bad_certificate, "The certificate is invalid"},
    {error::no_certificate, "The peer sent no certificate"},
    {error::no_shared_version, "The peer speaks no version of TLS that is allowed"},
    {error::no_shared_cipher, "The peers share no cipher, group or kind of signature"},
    {error::no_shared_protocol, "The peers share no application protocol"},
    {error::not_tls, "The peer does not speak TLS"},
    {error::protocol_broken, "The peer broke the protocol"},
    {error::too_many_messages, "The peer sent key updates or the like without end"},
    {error::truncated, "The stream ended without close_notify: bytes may be missing"},
    {error::internal, "OpenSSL failed"},
    {error::bad_pem, "Not a whole and well-formed PEM file"},
    {error::key_mismatch, "The private key does not belong to the certificate"},
    {error::encrypted_key, "The private key is protected by a password; `openssl pkey` removes it"},
    {error::broken_chain, "A certificate is not followed by that of its issuer"},
    {error::bad_ocsp_response, "The OCSP response cannot be served"},
    {error::alert_unexpected_message, "The peer refused a message that it did not expect"},
    {error::alert_bad_record_mac, "The peer received a damaged record"},
    {error::alert_handshake_failure,
     "The peer found no cipher or setting that both accept, or refused the certificate"},
    {error::alert_bad_certificate, "The peer found our certificate invalid"},
    {error::alert_unsupported_certificate, "The peer does not accept certificates of our kind"},
    {error::alert_certificate_revoked, "The peer says that our certificate was revoked"},
    {error::alert_certificate_expired,
     "The peer says that our certificate has expired or is not valid yet"},
    {error::alert_certificate_unknown, "The peer did not accept our certificate"},
    {error::alert_illegal_parameter, "The peer refused a value in a message"},
    {error::alert_unknown_ca, "The peer does not trust the issuer of our certificate"},
    {error::alert_access_denied, "The peer knows our certificate and denies access"},
    {error::alert_decode_error, "The peer could not decode a message"},
    {error::alert_decrypt_error, "The peer could not verify a signature or a finished message"},
    {error::alert_protocol_version, "The peer allows no version of TLS that we speak"},
    {error::alert_insufficient_security, "The peer demands stronger ciphers"},
    {error::alert_internal_error, "The peer failed"},
    {error::alert_unrecognized_name, "The peer does not serve the name"},
    {error::alert_bad_status_response, "The peer refused our OCSP response, or missed it"},
    {error::alert_certificate_required, "The peer demands a client certificate"},
    {error::alert_no_application_protocol, "The peer speaks none of our application protocols"},
};

/// Returns the text of an error, or nullptr.
const char* text_of(error e) noexcept {
  for (const auto& one : texts) {
    if (one.code == e) return one.text;
  }
  return nullptr;
}

class category_type final : public std::error_category {
 public:
  constexpr category_type() noexcept = default;
  const char* name() const noexcept override { return "beck.tls"; }
  std::string message(int value) const override {
    const char* const text = text_of(static_cast<error>(value));
    if (value < alert_base || value > alert_max)
      return text != nullptr ? text : "Unknown error " + std::to_string(value);
    return std::string(text != nullptr ? text : "The peer ended the connection") + " (alert " +
           std::to_string(value - alert_base) + ")";
  }
  std::error_condition default_error_condition(int value) const noexcept override {
    const error e = static_cast<error>(value);
    if (e == error::truncated) return std::errc::connection_reset;
    if (e >= error::bad_pem && e <= error::bad_ocsp_response) return std::errc::invalid_argument;
    if (text_of(e) == nullptr && value < alert_base) return {value, *this};
    return std::errc::protocol_error;
  }
};

// Constant-initialised and never destroyed, because static destructors may compare codes, too.
union storage {
  category_type value;
  constexpr storage() noexcept : value() {}
  ~storage() {}
};
constinit storage category;

}  // namespace

const std::error_category& error_category() noexcept { return category.value; }

}  // namespace beck::tls
