// SPDX-License-Identifier: BSL-1.0
// OCSP. OpenSSL compares times with the machine's clock. This code uses the date of the context, so
// that a simulated client has its own date.
#include "tls/trust.hpp"

#include <openssl/err.h>

#include <beck/base/assert.hpp>
#include <beck/io/system_timer.hpp>

#include "tls/failure.hpp"
#include "tls/pem_file.hpp"

namespace beck::tls::detail {
namespace {

constexpr std::int64_t skew_seconds = 300;         // greatest difference of two correct clocks
constexpr std::int64_t week_seconds = 7 * 86'400;  // for a response without an end

/// The statement of a response about one certificate.
struct statement {
  int status = V_OCSP_CERTSTATUS_UNKNOWN;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t revoked_at = 0;
};

/// Returns whether `id` names the certificate. Without its issuer only the serial number is
/// compared.
bool is_of(const OCSP_CERTID& id, const X509& leaf, const X509* issuer) {
  ASN1_OBJECT* algorithm = nullptr;
  ASN1_INTEGER* serial = nullptr;
  OCSP_id_get0_info(nullptr, &algorithm, nullptr, &serial, const_cast<OCSP_CERTID*>(&id));
  if (ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(&leaf)) != 0) return false;
  if (issuer == nullptr) return true;
  const EVP_MD* digest = EVP_get_digestbyobj(algorithm);
  if (digest == nullptr) return false;
  const ocsp_id_ptr wanted(OCSP_cert_to_id(digest, &leaf, issuer));
  return wanted != nullptr && OCSP_id_cmp(&id, wanted.get()) == 0;
}

/// Finds the statement of the response about the certificate. Returns whether there is one.
bool find_statement(OCSP_BASICRESP& basic, const X509& leaf, const X509* issuer, statement& found) {
  for (int i = 0; i < OCSP_resp_count(&basic); ++i) {
    OCSP_SINGLERESP* one = OCSP_resp_get0(&basic, i);
    if (!is_of(*OCSP_SINGLERESP_get0_id(one), leaf, issuer)) continue;
    ASN1_GENERALIZEDTIME* begin = nullptr;
    ASN1_GENERALIZEDTIME* end = nullptr;
    ASN1_GENERALIZEDTIME* revoked = nullptr;
    found.status = OCSP_single_get0_status(one, nullptr, &revoked, &begin, &end);
    found.begin = seconds_of(begin);
    found.end = end != nullptr ? seconds_of(end) : found.begin + week_seconds;
    if (revoked != nullptr) found.revoked_at = seconds_of(revoked);
    return true;
  }
  return false;
}

ocsp_basic_ptr basic_of(std::string_view bytes) {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  const ocsp_response_ptr response(
      d2i_OCSP_RESPONSE(nullptr, &at, static_cast<long>(bytes.size())));
  if (response == nullptr ||
      OCSP_response_status(response.get()) != OCSP_RESPONSE_STATUS_SUCCESSFUL)
    return nullptr;
  return ocsp_basic_ptr(OCSP_response_get1_basic(response.get()));
}

}  // namespace

stapled load_response(const std::string& path, const X509& leaf, const X509* issuer) {
  const pem_file file("load OCSP response", path);
  const auto fail = [&](std::string_view reason) {
    ERR_clear_error();
    file.fail(error::bad_ocsp_response, 0, reason);
  };
  const ocsp_basic_ptr basic = basic_of(file.view());
  if (basic == nullptr) fail("not a successful response in DER");
  statement found;
  if (!find_statement(*basic, leaf, issuer, found))
    fail("it says nothing of the certificate of " + subject_of(leaf));
  if (found.status != V_OCSP_CERTSTATUS_GOOD) fail("it does not say that the certificate is good");
  const std::int64_t now = system_now().nanoseconds() / 1'000'000'000;
  if (found.end < now) fail("it was to be renewed by " + date_text(found.end));
  ERR_clear_error();
  return {std::string(file.view()), found.end};
}

failure check_response(std::string_view response, STACK_OF(X509) * chain, X509_STORE* roots,
                       std::int64_t now) {
  BECK_ASSERT(sk_X509_num(chain) > 0, "an OCSP response for no certificate");
  const X509* leaf = sk_X509_value(chain, 0);
  const X509* issuer = sk_X509_num(chain) > 1 ? sk_X509_value(chain, 1) : leaf;
  const auto unknown = [&](const std::string& reason) {
    ERR_clear_error();
    return failure(error::revocation_unknown, "The OCSP response for the " + description_of(*leaf) +
                                                  " cannot be used: " + reason);
  };
  if (response.empty()) return unknown("the server sent none, and this client demands one");
  const ocsp_basic_ptr basic = basic_of(response);
  if (basic == nullptr) return unknown("it is malformed, or the responder had no answer");
  if (OCSP_basic_verify(basic.get(), chain, roots, 0) <= 0)
    return unknown("it is signed neither by the issuer nor by a responder of the issuer");
  statement found;
  if (!find_statement(*basic, *leaf, issuer, found)) return unknown("it is of another certificate");
  if (found.begin > now + skew_seconds) return unknown("it begins on " + date_text(found.begin));
  if (found.end < now - skew_seconds) return unknown("it ended on " + date_text(found.end));
  if (found.status == V_OCSP_CERTSTATUS_REVOKED) {
    return {error::revoked, "The " + description_of(*leaf) + ", was revoked on " +
                                date_text(found.revoked_at) + ", says its OCSP response"};
  }
  if (found.status != V_OCSP_CERTSTATUS_GOOD)
    return unknown("it says that the issuer does not know");
  return {};
}

}  // namespace beck::tls::detail
