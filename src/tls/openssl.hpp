// SPDX-License-Identifier: BSL-1.0
// Owners of OpenSSL's objects, bytes that are wiped when they are freed, and OpenSSL's error queue,
// which belongs to the thread: a call whose error matters starts with an empty queue, and leaves it
// empty for other users of OpenSSL on the thread.
#pragma once

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include <beck/base/assert.hpp>

namespace beck::tls::detail {

/// Frees an object with the function that OpenSSL has for its type.
template <auto Free>
struct openssl_free {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};

using ssl_ptr = std::unique_ptr<SSL, openssl_free<&SSL_free>>;
using ssl_ctx_ptr = std::unique_ptr<SSL_CTX, openssl_free<&SSL_CTX_free>>;
using bio_ptr = std::unique_ptr<BIO, openssl_free<&BIO_free>>;
using x509_ptr = std::unique_ptr<X509, openssl_free<&X509_free>>;
using key_ptr = std::unique_ptr<EVP_PKEY, openssl_free<&EVP_PKEY_free>>;

/// Empties the thread's error queue, unless it is empty.
inline void clear_errors() noexcept {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

/// A scope for calls of OpenSSL: the error queue is empty at its beginning and at its end.
class error_queue {
 public:
  error_queue() noexcept { clear_errors(); }
  ~error_queue() { clear_errors(); }
  error_queue(const error_queue&) = delete;
  error_queue& operator=(const error_queue&) = delete;
};

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

/// Bytes that may hold a private key, wiped when they are freed. They never move, because a growing
/// buffer leaves copies in memory. Move-only.
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
  /// Drops the bytes after the first `bytes`. Requires at most size().
  void truncate(std::size_t bytes) noexcept {
    BECK_ASSERT(bytes <= size_, "secret bytes were made longer");
    size_ = bytes;
  }

 private:
  std::unique_ptr<char[]> data_;
  std::size_t room_ = 0;
  std::size_t size_ = 0;
};

}  // namespace beck::tls::detail
