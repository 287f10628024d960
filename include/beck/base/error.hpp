// SPDX-License-Identifier: BSL-1.0
//
// Errors. In public an error is a std::error_code. Inside the library a result is one int, as in
// the kernel: zero or more is success, -4095..-1 is -errno, and -4096 and below are the library's
// own errors (such as eof_result). make_error() builds the error_code once, at delivery.
#pragma once

#include <beck/base/platform.hpp>

#include <cstddef>
#include <exception>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace beck {

/// The error of an operation.
using error_code = std::error_code;
/// The base of io_error.
using system_error = std::system_error;
/// Portable errors; the codes of basic_errors compare equal to them.
using errc = std::errc;

namespace detail {

/// The category of error::misc_errors. Any thread; valid until the process ends.
const std::error_category& misc_category() noexcept;

}  // namespace detail

namespace error {

/// Errors of the operating system, under Asio's names. Codes made from them are in
/// std::system_category() and compare equal to the std::errc of the same meaning. The values are
/// Linux's errno values (errno(3)), written out so that this header needs no <cerrno>; error.cpp
/// checks them.
enum basic_errors : int {
  no_permission = 1,                  // EPERM
  interrupted = 4,                    // EINTR
  bad_descriptor = 9,                 // EBADF
  try_again = 11,                     // EAGAIN
  would_block = 11,                   // EWOULDBLOCK
  no_memory = 12,                     // ENOMEM
  access_denied = 13,                 // EACCES
  fault = 14,                         // EFAULT
  no_such_device = 19,                // ENODEV
  invalid_argument = 22,              // EINVAL
  no_descriptors = 24,                // EMFILE
  broken_pipe = 32,                   // EPIPE
  name_too_long = 36,                 // ENAMETOOLONG
  not_socket = 88,                    // ENOTSOCK
  message_size = 90,                  // EMSGSIZE
  no_protocol_option = 92,            // ENOPROTOOPT
  operation_not_supported = 95,       // EOPNOTSUPP
  address_family_not_supported = 97,  // EAFNOSUPPORT
  address_in_use = 98,                // EADDRINUSE
  address_not_available = 99,         // EADDRNOTAVAIL
  network_down = 100,                 // ENETDOWN
  network_unreachable = 101,          // ENETUNREACH
  network_reset = 102,                // ENETRESET
  connection_aborted = 103,           // ECONNABORTED
  connection_reset = 104,             // ECONNRESET
  no_buffer_space = 105,              // ENOBUFS
  already_connected = 106,            // EISCONN
  not_connected = 107,                // ENOTCONN
  shut_down = 108,                    // ESHUTDOWN
  timed_out = 110,           // ETIMEDOUT; codes compare equal to it also for error::timeout
  connection_refused = 111,  // ECONNREFUSED
  host_unreachable = 113,    // EHOSTUNREACH
  already_started = 114,     // EALREADY
  in_progress = 115,         // EINPROGRESS
  operation_aborted = 125,   // ECANCELED: cancelled, or its object was closed
};

/// Errors without a number of the operating system. Codes made from them are in a category of the
/// library.
enum misc_errors : int {
  already_open = 1,    // open() on an object that is open
  eof = 2,             // the peer sent everything it will send
  not_found = 3,       // the element searched for does not exist
  timeout = 4,         // a time limit given to the library passed; compares equal to timed_out, too
  channel_closed = 5,  // the channel is closed for sends, and everything sent was received
  misaligned = 6,      // a direct transfer does not fit the file's direct_alignment()
  delimiter_not_found = 7,  // the buffer has its greatest size, and nothing in it matches
};

/// Returns the error_code of `e`.
inline error_code make_error_code(basic_errors e) noexcept {
  return {static_cast<int>(e), std::system_category()};
}
/// Returns the error_code of `e`.
inline error_code make_error_code(misc_errors e) noexcept {
  return {static_cast<int>(e), detail::misc_category()};
}

}  // namespace error

}  // namespace beck

/// Makes the enumerators convert to error_code.
template <>
struct std::is_error_code_enum<beck::error::basic_errors> : std::true_type {};
/// Makes the enumerators convert to error_code.
template <>
struct std::is_error_code_enum<beck::error::misc_errors> : std::true_type {};

namespace beck {

namespace error {

/// Returns whether `ec` means `e`. The codes must be equal, with one exception: timed_out is equal
/// to the kernel's ETIMEDOUT and to error::timeout, as std::errc::timed_out is. error::timeout
/// equals only the library's error; the two have different messages.
inline bool operator==(const error_code& ec, basic_errors e) noexcept {
  return ec == make_error_code(e) || (e == timed_out && ec == make_error_code(timeout));
}

}  // namespace error

namespace detail {

/// The int for an error of misc_errors, for functions whose result is an int. It is below -4095,
/// the lowest value that the kernel uses for an error.
constexpr int misc_result(error::misc_errors e) noexcept { return -4096 - static_cast<int>(e); }

inline constexpr int cancelled_result = -error::operation_aborted;
inline constexpr int already_open_result = misc_result(error::already_open);
inline constexpr int eof_result = misc_result(error::eof);
inline constexpr int delimiter_not_found_result = misc_result(error::delimiter_not_found);
inline constexpr int timeout_result = misc_result(error::timeout);
inline constexpr int misaligned_result = misc_result(error::misaligned);
inline constexpr int channel_closed_result = misc_result(error::channel_closed);

/// Makes the error_code of a failure, for make_error(). Requires: result < 0.
[[gnu::cold]] error_code make_failure(int result) noexcept;

/// Builds the code of a result: success for zero and above, the system's error for -errno
/// (-4095..-1), one of error::misc_errors for -4096 and below. Any thread.
inline error_code make_error(int result) noexcept {
  if (result >= 0) [[likely]]
    return error_code();
  return make_failure(result);
}

}  // namespace detail

/// The error of an io_result: an error_code with the name of the operation that failed.
class result_error : public error_code {
 public:
  /// Makes no error.
  result_error() noexcept = default;
  /// Makes an error; `operation` as for io_error.
  result_error(const error_code& ec, const char* operation = nullptr) noexcept
      : error_code(ec), operation_(operation) {}
  /// Converts from an enumerator of errors.
  template <class Enum>
    requires std::is_error_code_enum<Enum>::value
  result_error(Enum e) noexcept : error_code(e) {}

  /// Sets another error of the same operation: an error_code, or an enumerator of errors. A
  /// template, so that `ec = {}` assigns an empty result_error, which means no error.
  template <class Error>
    requires std::is_convertible_v<const Error&, error_code>
  result_error& operator=(const Error& e) noexcept {
    error_code::operator=(error_code(e));
    return *this;
  }

  /// Returns the name of the operation, such as "connect"; "" if it is not known.
  const char* operation() const noexcept { return operation_ == nullptr ? "" : operation_; }

 private:
  const char* operation_ = nullptr;
};

/// The exception of throwing functions: a std::system_error with the number of bytes moved before
/// the error.
class io_error : public std::system_error {
 public:
  /// Makes an exception. `operation` is the name of the operation that failed, possibly empty; it
  /// must have static storage (it is not copied), so that an exception can be copied without
  /// allocating.
  explicit io_error(const error_code& ec, const char* operation = "", std::size_t transferred = 0);

  /// Makes an exception whose text contains `subject`, the refused value, such as a path; shortened
  /// if it is long. `operation` as above.
  io_error(const error_code& ec, const char* operation, std::string_view subject);

  /// Out of line, for one v-table and one type_info, also across shared libraries.
  ~io_error() override;
  io_error(const io_error&) = default;
  io_error& operator=(const io_error&) = default;

  /// Returns the number of bytes moved before the error; 0 if the operation counts no bytes.
  std::size_t transferred() const noexcept { return transferred_; }

  /// Returns the name of the operation that failed, or "".
  const char* operation() const noexcept { return operation_; }

 private:
  const char* operation_;
  std::size_t transferred_;
};

namespace detail {

/// Throws io_error(ec, operation, transferred). Requires ec to be an error.
[[noreturn, gnu::cold]] void throw_error(const error_code& ec, const char* operation = "",
                                         std::size_t transferred = 0);

/// Throws io_error(ec, operation, subject). Requires ec to be an error.
[[noreturn, gnu::cold]] void throw_error(const error_code& ec, const char* operation,
                                         std::string_view subject);

/// Throws the error of an awaited result, of which `transferred` bytes moved. Requires an error.
[[noreturn, gnu::cold]] void throw_result(const result_error& error, std::size_t transferred = 0);

/// Returns the exception that throw_error() would throw. Requires ec to be an error.
[[gnu::cold]] std::exception_ptr exception_of(const error_code& ec, const char* operation = "",
                                              std::size_t transferred = 0);

/// Exceptions of another library that the library throws in the place of io_error.
struct exception_form {
  void (*raise)(const io_error& error);  // throws the other exception
  error_code (*caught)() noexcept;       // the code of such an exception that is being handled
};

/// Sets the form of the exceptions of the whole program. Returns true. Requires that the object
/// lives as long as the program. Thread: any.
bool set_exception_form(const exception_form& form) noexcept;

/// Returns the code of the exception that is being handled: of a std::system_error, or of one in
/// the form that was set. Success for every other exception.
error_code caught_code() noexcept;

/// Makes the texts of exceptions as short as Asio's, in the whole program: without subjects and
/// bytes, and those of awaited results without the operation. Returns true. Thread: any.
bool shorten_exceptions() noexcept;

}  // namespace detail

}  // namespace beck
