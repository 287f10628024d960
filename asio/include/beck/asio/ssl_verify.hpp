// SPDX-License-Identifier: BSL-1.0
// The verification of the peer's certificate: its modes, its context, and a program's function.
#pragma once

#include <memory>

#include <beck/asio/ssl_error.hpp>

BECK_ASIO_BEGIN

namespace ssl {

/// A union of the values below.
using verify_mode = int;
/// The peer's certificate is not verified.
inline constexpr verify_mode verify_none = SSL_VERIFY_NONE;
/// The peer's certificate is verified.
inline constexpr verify_mode verify_peer = SSL_VERIFY_PEER;
/// A server refuses a client without a certificate; with verify_peer only.
inline constexpr verify_mode verify_fail_if_no_peer_cert = SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
/// A server asks a client for its certificate once, not again later; with verify_peer only.
inline constexpr verify_mode verify_client_once = SSL_VERIFY_CLIENT_ONCE;

/// Refers to OpenSSL's context of a verification, inside a function of set_verify_callback().
class verify_context {
 public:
  /// The type of native_handle().
  using native_handle_type = X509_STORE_CTX*;

  /// Refers to `handle`.
  explicit verify_context(native_handle_type handle) noexcept : handle_(handle) {}
  verify_context(const verify_context&) = delete;
  verify_context& operator=(const verify_context&) = delete;

  /// Returns OpenSSL's object.
  native_handle_type native_handle() noexcept { return handle_; }

 private:
  native_handle_type handle_;
};

namespace detail {

/// The function of set_verify_callback().
class verify_callback {
 public:
  virtual ~verify_callback() = default;
  virtual bool call(bool preverified, verify_context& context) = 0;

  /// Returns the result of `callback` for OpenSSL: 1 accepts, 0 refuses. Refuses without a
  /// callback, and after an exception, which must not pass through OpenSSL's frames.
  static int answer(void* callback, int preverified, X509_STORE_CTX* handle) noexcept {
    if (callback == nullptr) return 0;
    try {
      verify_context context(handle);
      return static_cast<verify_callback*>(callback)->call(preverified != 0, context) ? 1 : 0;
    } catch (...) {
      return 0;
    }
  }
  /// Returns the connection that is being verified.
  static SSL* connection_of(X509_STORE_CTX* handle) noexcept {
    return static_cast<SSL*>(
        X509_STORE_CTX_get_ex_data(handle, SSL_get_ex_data_X509_STORE_CTX_idx()));
  }
};

template <class Function>
class verify_function final : public verify_callback {
 public:
  explicit verify_function(Function&& function) : function_(static_cast<Function&&>(function)) {}
  bool call(bool preverified, verify_context& context) override {
    return function_(preverified, context);
  }

 private:
  Function function_;
};

}  // namespace detail

}  // namespace ssl

BECK_ASIO_END
