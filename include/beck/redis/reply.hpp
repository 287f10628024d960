// SPDX-License-Identifier: BSL-1.0
//
// The result of a command: a value, the server's error, or an error on this side; and whether the
// server has run the command.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/base/error.hpp>
#include <beck/redis/byte_store.hpp>
#include <beck/redis/error.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace beck::redis {

/// Whether the server has run a command.
enum class outcome : std::uint8_t {
  not_sent,        ///< no server has run it: the kernel had not taken its last byte
  maybe_executed,  ///< it was sent, and no answer came; or it was sent again and then refused
  executed,        ///< an answer came, maybe an error
};

/// A reply's text is read into this memory: `cmd(redis::into(buffer), "GET", "k")`. A longer text
/// is error::reply_too_large. Only for a whole reply: inside of another type it has no memory. A
/// value that refers to memory of the program's.
class into {
 public:
  /// Refers to no memory: only an empty text fits.
  into() noexcept = default;
  /// Refers to `room`, which must outlive the command.
  explicit into(mutable_buffer room) noexcept : room_(room) {}

  /// Returns the text that was read, a part of the memory.
  std::string_view text() const noexcept { return {static_cast<const char*>(room_.data()), size_}; }
  /// Returns the number of bytes that were read.
  std::size_t size() const noexcept { return size_; }
  /// Returns the memory.
  mutable_buffer room() const noexcept { return room_; }

  /// Adds bytes, for a reader. Returns false, and adds nothing, if they do not fit.
  bool append(std::string_view text) noexcept;
  /// Forgets the text.
  void clear() noexcept { size_ = 0; }

 private:
  mutable_buffer room_;
  std::size_t size_ = 0;
};

namespace detail {

/// The error of a reply, and how it came about.
class reply_status {
 public:
  /// The greatest number of bytes of an error's text that are kept.
  static constexpr std::size_t text_max = 1024;

  /// Adds a part of the server's error, up to text_max bytes in all.
  void add_text(std::string_view part);
  /// Sets the error from the text that was added.
  void set_server_error() noexcept;
  /// Sets an error, and `text` as its explanation.
  void set(const error_code& ec, std::string_view text) noexcept;
  /// Sets whether the command was run.
  void set(outcome what) noexcept { outcome_ = what; }
  /// Forgets the error.
  void clear() noexcept {
    error_ = error_code();
    text_.clear();
  }

  const error_code& error() const noexcept { return error_; }
  std::string_view text() const noexcept { return text_.view(); }
  redis::outcome outcome() const noexcept { return outcome_; }
  /// Throws io_error with the text.
  [[noreturn]] void raise() const;

 private:
  error_code error_;
  small_store<0> text_;
  redis::outcome outcome_ = redis::outcome::not_sent;
};

/// The value of a reply; of reply<void> there is none.
template <class T>
struct reply_value {
  T value{};
};
template <>
struct reply_value<void> {};

}  // namespace detail

/// The result of a command: a value or an error. A value if T is one. Thread: one at a time.
template <class T>
class [[nodiscard]] reply {
 public:
  /// The type of value().
  using value_type = T;

  /// Makes a reply without an error, with a default value.
  reply() = default;
  /// Makes a reply whose value is read into `start`, such as redis::into(buffer).
  template <class U>
    requires(!std::is_void_v<T> && std::same_as<std::remove_cvref_t<U>, T>)
  explicit reply(U&& start) : value_{std::forward<U>(start)} {}
  /// Makes a reply with an error, and with the outcome of the command.
  reply(const error_code& ec, redis::outcome what) noexcept {
    status_.set(ec, {});
    status_.set(what);
  }

  /// Returns whether there is a value.
  explicit operator bool() const noexcept { return !status_.error(); }
  /// Returns the error: the server's, by the first word of its text, or one of this side.
  error_code error() const noexcept { return status_.error(); }
  /// Returns the server's text, or the place and reason of an error of this side, such as `element
  /// 3: ...`; at most 1,024 bytes, valid as long as the reply. Empty without an error.
  std::string_view error_text() const noexcept { return status_.text(); }
  /// Returns whether the server has run the command.
  redis::outcome outcome() const noexcept { return status_.outcome(); }

  /// Returns the value, of which reply<void> has none. Throws io_error with error_text() if there
  /// is an error.
  T value() const& {
    check();
    if constexpr (!std::is_void_v<T>) return value_.value;
  }
  /// As above, and moves the value out.
  T value() && {
    check();
    if constexpr (!std::is_void_v<T>) return std::move(value_.value);
  }

  /// Returns the value; a default or unfinished one if there is an error.
  auto& operator*() & noexcept
    requires(!std::is_void_v<T>)
  {
    return value_.value;
  }
  /// As above.
  const auto& operator*() const& noexcept
    requires(!std::is_void_v<T>)
  {
    return value_.value;
  }
  /// Accesses the value's members.
  auto* operator->() noexcept
    requires(!std::is_void_v<T>)
  {
    return __builtin_addressof(value_.value);
  }
  /// As above.
  const auto* operator->() const noexcept
    requires(!std::is_void_v<T>)
  {
    return __builtin_addressof(value_.value);
  }

  /// For the client and readers: returns the error's place.
  detail::reply_status& status() noexcept { return status_; }

 private:
  void check() const {
    if (status_.error()) status_.raise();
  }

  detail::reply_value<T> value_;
  detail::reply_status status_;
};

}  // namespace beck::redis
