// SPDX-License-Identifier: BSL-1.0
//
// A short text that contains its own characters: the result of to_string() where a std::string
// would need <string> and an allocation. It converts implicitly to any string type.
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>

namespace beck::detail {

/// A type that can be made from characters: std::string, std::string_view and their like.
template <class S>
concept text_target = std::constructible_from<S, const char*, std::size_t> && requires(const S& s) {
  { s.data() } -> std::convertible_to<const char*>;
  { s.size() } -> std::convertible_to<std::size_t>;
};

/// At most Capacity characters, ended by NUL. A value; any thread. Not a range, so that it converts
/// to each string type in one way only.
template <std::size_t Capacity>
class fixed_text {
  static_assert(Capacity < 256, "the size is kept in one byte");

 public:
  constexpr fixed_text() noexcept = default;
  /// Copies the first Capacity characters of `text`.
  constexpr explicit fixed_text(std::string_view text) noexcept { append(text); }

  constexpr const char* c_str() const noexcept { return text_; }
  constexpr const char* data() const noexcept { return text_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  static constexpr std::size_t capacity() noexcept { return Capacity; }

  /// Appends as many characters of `text` as fit.
  constexpr void append(std::string_view text) noexcept {
    for (std::size_t i = 0; i < text.size() && size_ < Capacity; ++i) text_[size_++] = text[i];
    text_[size_] = '\0';
  }

  /// Converts to std::string, std::string_view and every other type that is made from (const char*,
  /// size).
  template <text_target S>
  constexpr operator S() const {
    return S(data(), size());
  }

  /// Returns whether `b` has the same characters.
  template <std::convertible_to<std::string_view> T>
  friend constexpr bool operator==(const fixed_text& a, const T& b) noexcept {
    return std::string_view(a.data(), a.size()) == std::string_view(b);
  }

  /// Returns `s` with the text appended.
  template <text_target S>
    requires requires(S& s, const char* p, std::size_t n) { s.append(p, n); }
  friend S operator+(S s, const fixed_text& text) {
    s.append(text.data(), text.size());
    return s;
  }

  /// Writes to a std::ostream, if the program has included <ostream>.
  template <class Stream>
    requires requires(Stream& s) {
      typename Stream::traits_type;
      s.rdbuf();
    }
  friend Stream& operator<<(Stream& stream, const fixed_text& text) {
    stream << text.c_str();
    return stream;
  }

 private:
  char text_[Capacity + 1] = {};
  unsigned char size_ = 0;
};

}  // namespace beck::detail
