// SPDX-License-Identifier: BSL-1.0
// Owners of the objects of OpenSSL that certificates need, and of bytes that are wiped when they
// go.
#pragma once

#include <openssl/crypto.h>
#include <openssl/ocsp.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "tls/openssl.hpp"

namespace beck::tls::detail {

/// Frees the stack and releases its certificates.
inline void free_certificates(STACK_OF(X509) * all) noexcept { sk_X509_pop_free(all, X509_free); }

using certificates_ptr = std::unique_ptr<STACK_OF(X509), openssl_free<&free_certificates>>;
using crl_ptr = std::unique_ptr<X509_CRL, openssl_free<&X509_CRL_free>>;
using names_ptr = std::unique_ptr<GENERAL_NAMES, openssl_free<&GENERAL_NAMES_free>>;
using ocsp_basic_ptr = std::unique_ptr<OCSP_BASICRESP, openssl_free<&OCSP_BASICRESP_free>>;
using ocsp_id_ptr = std::unique_ptr<OCSP_CERTID, openssl_free<&OCSP_CERTID_free>>;
using ocsp_response_ptr = std::unique_ptr<OCSP_RESPONSE, openssl_free<&OCSP_RESPONSE_free>>;
using session_ptr = std::unique_ptr<SSL_SESSION, openssl_free<&SSL_SESSION_free>>;
using store_ptr = std::unique_ptr<X509_STORE, openssl_free<&X509_STORE_free>>;

/// Bytes that may hold a private key, wiped when they go. They never move, because a buffer that
/// grows leaves copies behind. Move-only.
class secret_bytes {
 public:
  secret_bytes() noexcept = default;
  /// Makes room for `bytes`, all zero.
  explicit secret_bytes(std::size_t bytes)
      : data_(std::make_unique<char[]>(bytes)), room_(bytes), size_(bytes) {}
  secret_bytes(secret_bytes&& other) noexcept
      : data_(std::move(other.data_)),
        room_(std::exchange(other.room_, 0)),
        size_(std::exchange(other.size_, 0)) {}
  secret_bytes& operator=(secret_bytes&&) = delete;
  ~secret_bytes() {
    if (data_ != nullptr) OPENSSL_cleanse(data_.get(), room_);
  }

  char* data() noexcept { return data_.get(); }
  std::size_t size() const noexcept { return size_; }
  std::string_view view() const noexcept { return {data_.get(), size_}; }
  /// Forgets the bytes behind the first `bytes`. Requires at most size().
  void truncate(std::size_t bytes) noexcept { size_ = bytes; }

 private:
  std::unique_ptr<char[]> data_;
  std::size_t room_ = 0;
  std::size_t size_ = 0;
};

}  // namespace beck::tls::detail
