// SPDX-License-Identifier: BSL-1.0
// The category of TLS. A message says what is wrong and, where one thing helps, what to do.
#include <beck/tls/error.hpp>

#include <string>

namespace beck::tls {
namespace {

constexpr int alert_base = 256;
constexpr int alert_max = alert_base + 255;

/// Returns the text of an error that was found here, or nullptr.
const char* text_of(error e) noexcept {
  switch (e) {
    case error::wrong_name:
      return "The certificate was issued for other names";
    case error::expired:
      return "The certificate has expired";
    case error::not_yet_valid:
      return "The certificate is not valid yet";
    case error::self_signed:
      return "The certificate leads to a root that is not trusted";
    case error::unknown_issuer:
      return "The issuer of the certificate is not known, and the peer did not send it";
    case error::revoked:
      return "The certificate was revoked";
    case error::revocation_unknown:
      return "Whether the certificate was revoked cannot be told";
    case error::bad_pin:
      return "No key of the certificate's chain is pinned";
    case error::weak_certificate:
      return "A key or signature of the certificate's chain is too weak";
    case error::wrong_usage:
      return "The certificate was issued for another use";
    case error::bad_certificate:
      return "The certificate is invalid";
    case error::no_certificate:
      return "The peer sent no certificate";
    case error::no_shared_version:
      return "The peer speaks no version of TLS that is allowed";
    case error::no_shared_cipher:
      return "The peers share no cipher, group or kind of signature";
    case error::no_shared_protocol:
      return "The peers share no application protocol";
    case error::not_tls:
      return "The peer does not speak TLS";
    case error::protocol_broken:
      return "The peer broke the protocol";
    case error::too_many_messages:
      return "The peer sent key updates or the like without end";
    case error::truncated:
      return "The stream ended without close_notify: bytes may be missing";
    case error::internal:
      return "OpenSSL failed";
    case error::bad_pem:
      return "Not a whole and well-formed PEM file";
    case error::key_mismatch:
      return "The private key does not belong to the certificate";
    case error::encrypted_key:
      return "The private key is protected by a password; `openssl pkey` removes it";
    case error::broken_chain:
      return "A certificate is not followed by that of its issuer";
    case error::bad_ocsp_response:
      return "The OCSP response cannot be served";
    case error::alert_unexpected_message:
      return "The peer refused a message that it did not expect (alert 10)";
    case error::alert_bad_record_mac:
      return "The peer received a damaged record (alert 20)";
    case error::alert_handshake_failure:
      return "The peer found no cipher or setting that both accept, or refused the certificate "
             "(alert 40)";
    case error::alert_bad_certificate:
      return "The peer found our certificate invalid (alert 42)";
    case error::alert_unsupported_certificate:
      return "The peer does not accept certificates of our kind (alert 43)";
    case error::alert_certificate_revoked:
      return "The peer says that our certificate was revoked (alert 44)";
    case error::alert_certificate_expired:
      return "The peer says that our certificate has expired or is not valid yet (alert 45)";
    case error::alert_certificate_unknown:
      return "The peer did not accept our certificate (alert 46)";
    case error::alert_illegal_parameter:
      return "The peer refused a value in a message (alert 47)";
    case error::alert_unknown_ca:
      return "The peer does not trust the issuer of our certificate (alert 48)";
    case error::alert_access_denied:
      return "The peer knows our certificate and denies access (alert 49)";
    case error::alert_decode_error:
      return "The peer could not decode a message (alert 50)";
    case error::alert_decrypt_error:
      return "The peer could not verify a signature or a finished message (alert 51)";
    case error::alert_protocol_version:
      return "The peer allows no version of TLS that we speak (alert 70)";
    case error::alert_insufficient_security:
      return "The peer demands stronger ciphers (alert 71)";
    case error::alert_internal_error:
      return "The peer failed (alert 80)";
    case error::alert_unrecognized_name:
      return "The peer does not serve the name (alert 112)";
    case error::alert_bad_status_response:
      return "The peer refused our OCSP response, or missed it (alert 113)";
    case error::alert_certificate_required:
      return "The peer demands a client certificate (alert 116)";
    case error::alert_no_application_protocol:
      return "The peer speaks none of our application protocols (alert 120)";
  }
  return nullptr;
}

class category_type final : public std::error_category {
 public:
  constexpr category_type() noexcept = default;
  const char* name() const noexcept override { return "beck.tls"; }
  std::string message(int value) const override {
    if (const char* text = text_of(static_cast<error>(value))) return text;
    if (value >= alert_base && value <= alert_max)
      return "The peer ended the connection with alert " + std::to_string(value - alert_base);
    return "Unknown error " + std::to_string(value);
  }
  std::error_condition default_error_condition(int value) const noexcept override {
    const error e = static_cast<error>(value);
    if (e == error::truncated) return std::errc::connection_reset;
    if (e >= error::bad_pem && e <= error::bad_ocsp_response) return std::errc::invalid_argument;
    if (text_of(e) == nullptr && value < alert_base) return {value, *this};
    return std::errc::protocol_error;
  }
};

// Constant-initialised and never destroyed: codes are also compared in static destructors.
union storage {
  category_type value;
  constexpr storage() noexcept : value() {}
  ~storage() {}
};
constinit storage category;

}  // namespace

const std::error_category& error_category() noexcept { return category.value; }

}  // namespace beck::tls
