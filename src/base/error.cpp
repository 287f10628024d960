// SPDX-License-Identifier: BSL-1.0
//
// The category of the library's own errors, the exception, and the check that the numbers in
// error.hpp are the platform's.
#include <atomic>
#include <beck/base/assert.hpp>
#include <beck/base/error.hpp>
#include <cerrno>
#include <string>

namespace beck {
using namespace detail;
namespace {

static_assert(error::no_permission == EPERM && error::interrupted == EINTR);
static_assert(error::bad_descriptor == EBADF && error::try_again == EAGAIN);
static_assert(error::would_block == EWOULDBLOCK && error::no_memory == ENOMEM);
static_assert(error::access_denied == EACCES && error::fault == EFAULT);
static_assert(error::no_such_device == ENODEV && error::invalid_argument == EINVAL);
static_assert(error::no_descriptors == EMFILE && error::broken_pipe == EPIPE);
static_assert(error::name_too_long == ENAMETOOLONG && error::not_socket == ENOTSOCK);
static_assert(error::message_size == EMSGSIZE && error::no_protocol_option == ENOPROTOOPT);
static_assert(error::operation_not_supported == EOPNOTSUPP);
static_assert(error::address_family_not_supported == EAFNOSUPPORT);
static_assert(error::address_in_use == EADDRINUSE && error::address_not_available == EADDRNOTAVAIL);
static_assert(error::network_down == ENETDOWN && error::network_unreachable == ENETUNREACH);
static_assert(error::network_reset == ENETRESET && error::connection_aborted == ECONNABORTED);
static_assert(error::connection_reset == ECONNRESET && error::no_buffer_space == ENOBUFS);
static_assert(error::already_connected == EISCONN && error::not_connected == ENOTCONN);
static_assert(error::shut_down == ESHUTDOWN && error::timed_out == ETIMEDOUT);
static_assert(error::connection_refused == ECONNREFUSED && error::host_unreachable == EHOSTUNREACH);
static_assert(error::already_started == EALREADY && error::in_progress == EINPROGRESS);
static_assert(error::operation_aborted == ECANCELED);

class misc_category_type final : public std::error_category {
 public:
  constexpr misc_category_type() noexcept = default;

  const char* name() const noexcept override { return "beck.misc"; }

  std::string message(int value) const override {
    switch (static_cast<error::misc_errors>(value)) {
      case error::already_open:
        return "Already open";
      case error::eof:
        return "End of file";
      case error::not_found:
        return "Element not found";
      case error::timeout:
        return "Deadline passed";
      case error::channel_closed:
        return "Channel closed";
      case error::misaligned:
        return "Direct transfer not aligned to the file's direct_alignment()";
      case error::delimiter_not_found:
        return "No delimiter within the limit";
    }
    return "Unknown error " + std::to_string(value);
  }

  std::error_condition default_error_condition(int value) const noexcept override {
    if (value == error::timeout) return std::errc::timed_out;
    return {value, *this};
  }
};

// The category is constant-initialised and never destroyed, because codes are also compared in
// static constructors and destructors.
union misc_category_storage {
  misc_category_type value;
  constexpr misc_category_storage() noexcept : value() {}
  ~misc_category_storage() {}
};
constinit misc_category_storage misc_category_object;

std::atomic<bool> exceptions_are_short(false);
std::atomic<const detail::exception_form*> form_of_exceptions(nullptr);

[[noreturn]] void raise(const io_error& error) {
  if (const auto* form = form_of_exceptions.load(std::memory_order_acquire)) form->raise(error);
  throw error;
}

std::string describe(const char* operation, std::size_t transferred) {
  std::string text = operation;
  if (transferred == 0 || exceptions_are_short) return text;
  if (!text.empty()) text += ", ";
  return text + "after " + std::to_string(transferred) + " bytes";
}

// Returns the operation and its subject as text. The subject comes from outside: it may have any
// length and contain any byte.
std::string describe(const char* operation, std::string_view subject) {
  constexpr std::size_t shown_max = 200;
  std::string text = operation;
  if (exceptions_are_short) return text;
  text += *operation == '\0' ? "\"" : " \"";
  for (std::size_t i = 0; i < subject.size() && i < shown_max; ++i) {
    const char c = subject[i];
    text += c >= ' ' && c <= '~' ? c : '?';
  }
  return text + (subject.size() > shown_max ? "\"..." : "\"");
}

}  // namespace

const std::error_category& detail::misc_category() noexcept { return misc_category_object.value; }

error_code detail::make_failure(int result) noexcept {
  constexpr int errno_max = 4095;
  if (result >= -errno_max) return {-result, std::system_category()};
  return {-(errno_max + 1) - result, misc_category()};
}

// std::system_error prints its first text, ": " and the message; without an operation and bytes
// there must be no leading ": ".
io_error::io_error(const error_code& ec, const char* operation, std::size_t transferred)
    : std::system_error(*operation == '\0' && (transferred == 0 || exceptions_are_short)
                            ? std::system_error(ec)
                            : std::system_error(ec, describe(operation, transferred))),
      operation_(operation),
      transferred_(transferred) {}

io_error::io_error(const error_code& ec, const char* operation, std::string_view subject)
    : std::system_error(ec, describe(operation, subject)), operation_(operation), transferred_(0) {}

io_error::~io_error() = default;

void detail::throw_error(const error_code& ec, const char* operation, std::size_t transferred) {
  BECK_ASSERT(ec, "throw_error needs an error; success cannot be thrown");
  raise(io_error(ec, operation, transferred));
}

void detail::throw_error(const error_code& ec, const char* operation, std::string_view subject) {
  BECK_ASSERT(ec, "throw_error needs an error; success cannot be thrown");
  raise(io_error(ec, operation, subject));
}

void detail::throw_result(const result_error& error, std::size_t transferred) {
  throw_error(error, exceptions_are_short ? "" : error.operation(), transferred);
}

std::exception_ptr detail::exception_of(const error_code& ec, const char* operation,
                                        std::size_t transferred) {
  try {
    throw_error(ec, operation, transferred);
  } catch (...) {
    return std::current_exception();
  }
}

bool detail::set_exception_form(const exception_form& form) noexcept {
  form_of_exceptions.store(&form, std::memory_order_release);
  return true;
}

error_code detail::caught_code() noexcept {
  try {
    throw;
  } catch (const std::system_error& known) {
    return known.code();
  } catch (...) {
    const auto* form = form_of_exceptions.load(std::memory_order_acquire);
    return form != nullptr ? form->caught() : error_code();
  }
}

bool detail::shorten_exceptions() noexcept {
  exceptions_are_short = true;
  return true;
}

}  // namespace beck
