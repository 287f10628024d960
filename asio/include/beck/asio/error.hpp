// SPDX-License-Identifier: BSL-1.0
// Error codes and exceptions, as beck reports them. Codes are std::error_code in both namespaces.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/base/error.hpp>
#include <beck/net/name_error.hpp>

BECK_ASIO_BEGIN

using beck::error_code;
using beck::system_error;
using std::error_category;
using std::system_category;

namespace facade {
/// Exceptions say what Asio's say.
inline const bool exceptions_are_short = beck::detail::shorten_exceptions();
}  // namespace facade

namespace error {

using namespace beck::error;

/// Asio's name for two errors of beck: not_found (an element does not exist) and
/// delimiter_not_found (the buffer of read_until() is full without a match). Codes of both compare
/// equal to it.
struct not_found_t {
  /// Returns the code of beck's not_found.
  operator error_code() const noexcept {
    return beck::error::make_error_code(beck::error::not_found);
  }
  friend bool operator==(const error_code& ec, not_found_t) noexcept {
    return ec == beck::error::make_error_code(beck::error::not_found) ||
           ec == beck::error::make_error_code(beck::error::delimiter_not_found);
  }
};
/// As above.
inline constexpr not_found_t not_found{};
using beck::error::make_error_code;
/// Returns the code.
inline error_code make_error_code(not_found_t e) noexcept { return e; }

/// Returns the category of basic_errors.
inline const error_category& get_system_category() noexcept { return std::system_category(); }
/// Returns the category of misc_errors.
inline const error_category& get_misc_category() noexcept { return beck::detail::misc_category(); }

}  // namespace error

/// The names of the Networking TS for eof and not_found.
namespace stream_errc = error;

BECK_ASIO_END
