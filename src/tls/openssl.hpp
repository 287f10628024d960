// SPDX-License-Identifier: BSL-1.0
// OpenSSL's objects as owners, and its queue of errors, which belongs to the thread: every call
// that is asked for its error finds the queue empty, and leaves it empty to other users of OpenSSL
// on the thread.
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>

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

/// Empties the thread's queue of errors, if there is something in it.
inline void clear_errors() noexcept {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

/// A stretch of calls to OpenSSL: the queue is empty at its beginning, and again at its end.
class error_queue {
 public:
  error_queue() noexcept { clear_errors(); }
  ~error_queue() { clear_errors(); }
  error_queue(const error_queue&) = delete;
  error_queue& operator=(const error_queue&) = delete;
};

}  // namespace beck::tls::detail
