// SPDX-License-Identifier: BSL-1.0
// The text of a dump: numbers, ages, and compilers' names of functions and types, made readable and
// equal for all compilers. Nothing here allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

#include <beck/detail/text_sink.hpp>

namespace beck::detail {

/// A text of at most `Bytes` bytes; the rest is cut.
template <std::size_t Bytes>
class short_text {
 public:
  void put(std::string_view more) noexcept {
    for (const char c : more) {
      if (size_ < Bytes) text_[size_++] = c;
    }
  }
  std::string_view text() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, Bytes> text_;
  std::size_t size_ = 0;
};
using function_text = short_text<96>;
using number_text = short_text<32>;

/// Returns the short name of a function from its name in std::source_location: "serve",
/// "task_list::show", "main::lambda".
function_text readable_function(std::string_view signature) noexcept;
/// Returns the name of a kind of wait: `name` itself or, if it is a function's signature, the type
/// that `Derived` has there.
function_text readable_wait(std::string_view name) noexcept;
/// Returns the last two parts of a path.
std::string_view readable_file(std::string_view path) noexcept;
/// Returns `number` with separators: "10,000".
number_text readable_number(std::uint64_t number) noexcept;
/// Returns `number` without separators: "10000".
number_text plain_number(std::uint64_t number) noexcept;
/// Returns a duration as text: "250 ms", "1.5 s", "12 min", "30 h"; "0 ms" if it is negative.
number_text readable_age(std::int64_t nanoseconds) noexcept;

/// Collects text and writes it to the sink in large pieces. Writes nothing more after the sink has
/// thrown.
class dump_writer {
 public:
  explicit dump_writer(text_sink out) noexcept : out_(out) {}
  ~dump_writer() { flush(); }
  dump_writer(const dump_writer&) = delete;
  dump_writer& operator=(const dump_writer&) = delete;

  template <class... Parts>
  void put(const Parts&... parts) noexcept {
    (put_one(parts), ...);
  }
  /// Writes a position in the source: "examples/echo.cpp:12 in serve".
  void put_place(const std::source_location& at) noexcept;

 private:
  void put_one(std::string_view text) noexcept;
  template <std::size_t Bytes>
  void put_one(const short_text<Bytes>& text) noexcept {
    put_one(text.text());
  }
  void put_one(std::uint64_t number) noexcept { put_one(readable_number(number)); }
  void flush() noexcept;

  text_sink out_;
  std::array<char, 1024> pending_;
  std::size_t size_ = 0;
  bool failed_ = false;
};

}  // namespace beck::detail
