// SPDX-License-Identifier: BSL-1.0
// The category: one sentence a code. The names and dates of one failure are in its text
// (failure.cpp).
#include <beck/tls/error.hpp>

#include <string>

namespace beck::tls {
namespace {

class category_type final : public std::error_category {
 public:
  constexpr category_type() noexcept = default;
  const char* name() const noexcept override { return "beck.tls"; }
  std::string message(int value) const override {
    switch (static_cast<error>(value)) {
      case error::truncated:
        return "The stream ended without close_notify: bytes may be missing";
      case error::not_tls:
        return "The peer does not speak TLS";
      case error::protocol_broken:
        return "The peer broke the protocol";
      case error::too_many_messages:
        return "The peer sent key updates or the like without end";
      case error::refused_by_peer:
        return "The peer refused the connection";
      case error::no_common_version:
        return "No version of TLS that both sides allow";
      case error::no_common_cipher:
        return "No cipher, group or signature that both sides allow";
      case error::no_common_protocol:
        return "No application protocol that both sides offer";
      case error::unknown_name:
        return "No certificate for the name that the client asks for";
      case error::untrusted:
        return "The certificate's chain leads to no trusted root";
      case error::self_signed:
        return "The certificate is self-signed, and not trusted";
      case error::expired:
        return "The certificate has expired";
      case error::not_yet_valid:
        return "The certificate is not valid yet";
      case error::wrong_name:
        return "The certificate is for other names than the expected one";
      case error::wrong_purpose:
        return "The certificate may not be used for this side of a connection";
      case error::revoked:
        return "The certificate is revoked";
      case error::unknown_status:
        return "Whether the certificate is revoked is not known";
      case error::weak:
        return "The certificate's key or signature is too weak";
      case error::wrong_pin:
        return "No key of the certificate's chain is pinned";
      case error::no_certificate:
        return "The peer sent no certificate";
      case error::bad_certificate:
        return "The certificate is refused";
      case error::bad_file:
        return "The file has nothing of the expected kind in PEM";
      case error::wrong_key:
        return "The private key does not belong to the certificate";
      case error::internal:
        return "OpenSSL failed";
    }
    return "Unknown error " + std::to_string(value);
  }
  std::error_condition default_error_condition(int value) const noexcept override {
    const error e = static_cast<error>(value);
    if (e == error::truncated) return std::errc::connection_reset;
    if (e == error::bad_file || e == error::wrong_key) return std::errc::invalid_argument;
    if (e > error::truncated && e < error::bad_file) return std::errc::protocol_error;
    return {value, *this};
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
