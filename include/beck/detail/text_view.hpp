// SPDX-License-Identifier: BSL-1.0
//
// A view of characters for names and delimiters, without <string_view>. It converts from every type
// that std::string_view converts from, by shape, and converts explicitly to any string type.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <type_traits>

namespace beck::detail {

/// A contiguous container of char, seen through data() and size().
template <class C>
concept text_container = requires(const C& c) {
  { c.data() } -> std::convertible_to<const char*>;
  { c.size() } -> std::convertible_to<std::size_t>;
};

/// A type that can be made from characters: std::string, std::string_view and their like.
template <class S>
concept text_target = text_container<S> && std::constructible_from<S, const char*, std::size_t>;

/// A pointer and a size; does not own the characters and need not end in NUL. The characters must
/// outlive the view. A value; any thread.
class text_view {
 public:
  constexpr text_view() noexcept = default;
  /// Refers to the characters up to the first NUL. Requires a pointer that is not null.
  constexpr text_view(const char* text) noexcept : data_(text), size_(__builtin_strlen(text)) {}
  /// Refers to `size` characters at `data`.
  constexpr text_view(const char* data, std::size_t size) noexcept : data_(data), size_(size) {}
  text_view(std::nullptr_t) = delete;

  /// Refers to the characters of a string or string view.
  template <text_container C>
    requires(!std::same_as<std::remove_cvref_t<C>, text_view>)
  constexpr text_view(const C& c) noexcept : data_(c.data()), size_(c.size()) {}

  constexpr const char* data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr const char* begin() const noexcept { return data_; }
  constexpr const char* end() const noexcept { return data_ + size_; }
  /// Returns character `i`. Requires i < size(); not checked.
  constexpr char operator[](std::size_t i) const noexcept { return data_[i]; }

  /// Drops the first `n` characters, at most all of them.
  constexpr void remove_prefix(std::size_t n) noexcept {
    const auto step = n < size_ ? n : size_;
    data_ += step;
    size_ -= step;
  }

  /// Converts to a string type. Explicit, because the target may allocate and because two implicit
  /// conversions would make `==` ambiguous.
  template <text_target S>
    requires(!std::same_as<S, text_view>)
  constexpr explicit operator S() const {
    return S(data_, size_);
  }

  friend constexpr bool operator==(text_view a, text_view b) noexcept {
    if (a.size_ != b.size_) return false;
    return (a <=> b) == 0;
  }
  /// Compares the values of the bytes, as unsigned.
  friend constexpr std::strong_ordering operator<=>(text_view a, text_view b) noexcept {
    const auto common = a.size_ < b.size_ ? a.size_ : b.size_;
    if (common != 0) {  // a default view has a null pointer, which memcmp must not receive
      if (const int order = __builtin_memcmp(a.data_, b.data_, common); order != 0)
        return order <=> 0;
    }
    return a.size_ <=> b.size_;
  }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace beck::detail
