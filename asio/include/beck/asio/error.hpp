// SPDX-License-Identifier: BSL-1.0
// Error codes and exceptions. Codes are those of beck, which is std::error_code; exceptions are of
// the class that programs catch: std::system_error, or Boost's where Boost.System is installed.
#pragma once

#include <beck/asio/boost_system.hpp>
#include <beck/asio/config.hpp>
#include <beck/base/error.hpp>
#include <beck/net/name_error.hpp>

BECK_ASIO_BEGIN
namespace error {
struct not_found_t;
}
BECK_ASIO_END

/// Makes it convert to codes.
template <>
struct std::is_error_code_enum<BECK_ASIO::error::not_found_t> : std::true_type {};

BECK_ASIO_BEGIN

#if !defined(BECK_ASIO_BOOST)
using beck::error_code;
#endif
#if defined(BECK_ASIO_BOOST_SYSTEM)
using boost::system::system_error;
#else
using beck::system_error;
#endif
using std::error_category;
using std::system_category;

namespace facade {
/// Exceptions say what Asio's say.
inline const bool exceptions_are_short = beck::detail::shorten_exceptions();
#if defined(BECK_ASIO_BOOST_SYSTEM) && !defined(BECK_ASIO_STD_EXCEPTIONS)
/// And are Boost's.
inline constexpr beck::detail::exception_form boost_exceptions{
    [](const beck::io_error& error) {
      const auto ec = facade::to_program(error.code());
      if (*error.operation() == '\0') throw boost::system::system_error(ec);
      throw boost::system::system_error(ec, error.operation());
    },
    []() noexcept -> beck::error_code {
      try {
        throw;
      } catch (const boost::system::system_error& known) {
        return known.code();
      } catch (...) {
        return beck::error_code();
      }
    }};
inline const bool exceptions_are_of_boost = beck::detail::set_exception_form(boost_exceptions);
#endif
}  // namespace facade

namespace error {

using namespace beck::error;

/// Asio's name for two errors of beck: not_found (an element does not exist) and
/// delimiter_not_found (the buffer of read_until() is full without a match). Codes of both compare
/// equal to it.
struct not_found_t {
  friend bool operator==(const beck::error_code& ec, not_found_t) noexcept {
    return ec == beck::error::make_error_code(beck::error::not_found) ||
           ec == beck::error::make_error_code(beck::error::delimiter_not_found);
  }
#if defined(BECK_ASIO_BOOST_SYSTEM)
  friend bool operator==(const boost::system::error_code& ec, not_found_t e) noexcept {
    return static_cast<beck::error_code>(ec) == e;
  }
#endif
};
/// As above.
inline constexpr not_found_t not_found{};
using beck::error::make_error_code;
/// Returns the code of beck's not_found.
inline beck::error_code make_error_code(not_found_t) noexcept {
  return beck::error::make_error_code(beck::error::not_found);
}

/// Returns the category of basic_errors.
inline const facade::program_category& get_system_category() noexcept {
#if defined(BECK_ASIO_BOOST_SYSTEM)
  return boost::system::system_category();
#else
  return std::system_category();
#endif
}
/// Returns the category of misc_errors.
inline const facade::program_category& get_misc_category() noexcept {
  return facade::to_program<beck::detail::misc_category>();
}
/// Returns the category of netdb_errors.
inline const facade::program_category& get_netdb_category() noexcept {
  return facade::to_program<beck::detail::netdb_category>();
}
/// Returns the category of addrinfo_errors.
inline const facade::program_category& get_addrinfo_category() noexcept {
  return facade::to_program<beck::detail::addrinfo_category>();
}

}  // namespace error

/// The names of the Networking TS for eof and not_found.
namespace stream_errc = error;

BECK_ASIO_END
