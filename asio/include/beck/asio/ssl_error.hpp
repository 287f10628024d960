// SPDX-License-Identifier: BSL-1.0
// The errors of OpenSSL, which are in a queue of each thread, as codes of Asio's two categories.
#pragma once

#if !__has_include(<openssl/ssl.h>)
#error "asio::ssl needs OpenSSL 3: link beck::asio_ssl or beck::boost_asio_ssl"
#endif
#include <openssl/err.h>
#include <openssl/ssl.h>
#if OPENSSL_VERSION_NUMBER < 0x30000000L
#error "asio::ssl over beck needs OpenSSL 3"
#endif

#include <string>

#include <beck/asio/config.hpp>
#include <beck/asio/error.hpp>

BECK_ASIO_BEGIN

namespace error {

/// Errors of OpenSSL: the numbers are OpenSSL's.
enum ssl_errors : int {};

}  // namespace error

namespace facade {

/// Returns beck's category of ssl_errors.
inline const std::error_category& ssl_category() noexcept {
  struct category final : std::error_category {
    const char* name() const noexcept override { return "asio.ssl"; }
    std::string message(int value) const override {
      const auto code = static_cast<unsigned long>(static_cast<unsigned>(value));
      const char* const reason = ERR_reason_error_string(code);
      if (reason == nullptr) return "asio.ssl error";
      std::string text(reason);
      if (const char* const library = ERR_lib_error_string(code); library != nullptr) {
        text.append(" (").append(library).append(")");
      }
      return text;
    }
  };
  static const category instance;
  return instance;
}
}  // namespace facade

namespace error {

/// Returns the category of ssl_errors.
inline const facade::program_category& get_ssl_category() noexcept {
  return facade::to_program<facade::ssl_category>();
}
/// Returns the error_code of `e`.
inline beck::error_code make_error_code(ssl_errors e) noexcept {
  return {static_cast<int>(e), facade::ssl_category()};
}
/// The category of ssl_errors.
inline const facade::program_category& ssl_category = get_ssl_category();

}  // namespace error

namespace ssl {

namespace error {

/// Errors of a stream that OpenSSL has no number for.
enum stream_errors : int {
  stream_truncated = 1,          ///< the transport ended without the peer's close_notify
  unspecified_system_error = 2,  ///< OpenSSL reports a failure of the system and does not say which
  unexpected_result = 3,         ///< OpenSSL waits for something that the stream cannot give
};

/// Returns beck's category of stream_errors.
inline const std::error_category& category_of_streams() noexcept {
  struct category final : std::error_category {
    const char* name() const noexcept override { return "asio.ssl.stream"; }
    std::string message(int value) const override {
      switch (value) {
        case stream_truncated:
          return "stream truncated";
        case unspecified_system_error:
          return "unspecified system error";
        case unexpected_result:
          return "unexpected result";
        default:
          return "asio.ssl.stream error";
      }
    }
  };
  static const category instance;
  return instance;
}
/// Returns the category of stream_errors.
inline const facade::program_category& get_stream_category() noexcept {
  return facade::to_program<category_of_streams>();
}
/// Returns the error_code of `e`.
inline beck::error_code make_error_code(stream_errors e) noexcept {
  return {static_cast<int>(e), category_of_streams()};
}
/// The category of stream_errors.
inline const facade::program_category& stream_category = get_stream_category();

}  // namespace error

namespace detail {

/// Frees an object with the function that OpenSSL has for its type.
template <auto Free>
struct openssl_free {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};

/// Returns the first error of the thread's queue, which is empty afterwards: an error of the
/// system, one of OpenSSL, or `otherwise` if there is none.
inline beck::error_code take_error(error::stream_errors otherwise) noexcept {
  const unsigned long first = ERR_get_error();
  ERR_clear_error();
  if (first == 0) return make_error_code(otherwise);
  if (ERR_SYSTEM_ERROR(first)) return {ERR_GET_REASON(first), std::system_category()};
  return {static_cast<int>(first), BECK_ASIO::facade::ssl_category()};
}

}  // namespace detail

}  // namespace ssl

BECK_ASIO_END

/// Makes the enumerators convert to error_code.
template <>
struct std::is_error_code_enum<BECK_ASIO::error::ssl_errors> : std::true_type {};
/// Makes the enumerators convert to error_code.
template <>
struct std::is_error_code_enum<BECK_ASIO::ssl::error::stream_errors> : std::true_type {};
