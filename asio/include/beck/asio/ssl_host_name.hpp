// SPDX-License-Identifier: BSL-1.0
// host_name_verification: checks that the peer's certificate is for the host that the program
// names.
#pragma once

#include <openssl/x509v3.h>

#include <string>

#include <beck/asio/address.hpp>
#include <beck/asio/ssl_verify.hpp>

BECK_ASIO_BEGIN

namespace ssl {

/// A function for set_verify_callback() that accepts the certificates of one host: for its name
/// (RFC 6125), or for its address if the text is one. Requires verify_peer.
class host_name_verification {
 public:
  /// The type of the answer.
  using result_type = bool;

  /// Accepts the certificates of `host`.
  explicit host_name_verification(const std::string& host) : host_(host) {}

  /// Returns whether the certificate is accepted. That of an issuer is if OpenSSL has verified it.
  bool operator()(bool preverified, verify_context& context) const {
    if (!preverified) return false;
    if (X509_STORE_CTX_get_error_depth(context.native_handle()) > 0) return true;
    X509* const certificate = X509_STORE_CTX_get_current_cert(context.native_handle());
    beck::error_code not_an_address;
    beck::ip::make_address(host_, not_an_address);
    if (!not_an_address) return X509_check_ip_asc(certificate, host_.c_str(), 0) == 1;
    return X509_check_host(certificate, host_.data(), host_.size(), 0, nullptr) == 1;
  }

 private:
  std::string host_;
};

/// The older name.
using rfc2818_verification = host_name_verification;

}  // namespace ssl

BECK_ASIO_END
