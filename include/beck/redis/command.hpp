// SPDX-License-Identifier: BSL-1.0
//
// One command with the type of its reply.
#pragma once

#include <beck/redis/reader.hpp>
#include <beck/redis/request.hpp>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace beck::redis {

namespace detail {

/// The bytes of a command; those of a short one are within the object.
class command_text {
 public:
  /// Formats a command. Throws std::bad_alloc.
  template <class... Args>
  explicit command_text(std::string_view name, const Args&... args) {
    writing(writer_, bytes_, marks_, limits).command(name, args...);
  }

  // As those of command.
  std::string_view bytes() const noexcept { return bytes_.view().substr(0, writer_.bytes()); }
  redis::arguments arguments() const noexcept {
    const command_bytes all = part();
    return {all.wire, all.marks, all.mark_count, 0};
  }
  command_bytes part() const noexcept {
    const auto* const marks = reinterpret_cast<const key_mark*>(marks_.view().data());
    return {bytes(), 1, marks, writer_.mark_bytes() / sizeof(key_mark)};
  }
  error_code error() const noexcept { return writer_.error(); }
  beck::detail::fixed_text<120> error_text() const noexcept { return writer_.error_text(limits); }

 private:
  static constexpr std::size_t bytes_inside = 128;
  static constexpr request_limits limits{};

  command_writer writer_;
  small_store<bytes_inside> bytes_;
  small_store<0> marks_;
};

}  // namespace detail

/// One command, which owns its bytes, with the type of its reply; made by cmd(). The bytes of a
/// short one are within the object: it is made and moved without allocating. Thread: one at a time.
template <class T>
class command {
 public:
  /// The type that the reply is read into.
  using value_type = T;

  /// For cmd(): formats a command. Throws std::bad_alloc.
  template <class... Args>
  explicit command(std::string_view name, const Args&... args) : text_(name, args...) {
    static_cast<void>(detail::reader_type_of<T>.kind);  // says it if no reply can be read into T
  }

  /// Sets the value that the reply is read into, such as redis::into(buffer).
  template <class U>
  command& read_into(U&& start) & {
    result_ = reply<T>(std::forward<U>(start));
    return *this;
  }

  /// Returns the bytes; empty if the command is over a limit.
  std::string_view bytes() const noexcept { return text_.bytes(); }
  /// Returns the arguments, a view into the command. Requires that there is no error.
  redis::arguments arguments() const noexcept { return text_.arguments(); }
  /// For the client: returns the bytes with the marks of keys. Requires that there is no error.
  detail::command_bytes part() const noexcept { return text_.part(); }
  /// Returns error::request_too_large if the command is over a limit; else no error.
  error_code error() const noexcept { return text_.error(); }
  /// Returns the limit and the value that is over it, in words; empty without an error.
  beck::detail::fixed_text<120> error_text() const noexcept { return text_.error_text(); }
  /// Returns the place of the reply, with the value of read_into().
  reply<T>& result() noexcept { return result_; }
  /// For the client: moves the bytes out.
  detail::command_text text() && noexcept { return static_cast<detail::command_text&&>(text_); }

 private:
  detail::command_text text_;
  reply<T> result_;
};

namespace functions {

/// Makes a command whose reply is read as a T: `cmd<long>("INCR", "hits")`. The arguments are those
/// of request::push(). Throws std::bad_alloc.
template <class T, class... Args>
command<T> cmd(std::string_view name, const Args&... args) {
  return command<T>(name, args...);
}
/// Makes a command whose reply is read into memory of the program's: `cmd(redis::into(buffer),
/// "GET", "k")`.
template <class... Args>
command<into> cmd(into room, std::string_view name, const Args&... args) {
  command<into> made(name, args...);
  made.read_into(room);
  return made;
}

}  // namespace functions
using namespace functions;

}  // namespace beck::redis
