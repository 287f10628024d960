// SPDX-License-Identifier: BSL-1.0
// The fields that a program sets, kept as the text that will be sent: each is checked and written
// once. Of responses and of requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <beck/http/field.hpp>

namespace beck::http::detail {

/// The lines of the fields that a program has set. The first of them need no allocation.
class field_lines {
 public:
  static constexpr std::size_t bytes_max = 16384;

  /// Adds "name: value". Throws std::invalid_argument for a name or a value that is not one,
  /// std::length_error above bytes_max, std::bad_alloc.
  void add(std::string_view name, std::string_view value);
  /// As above, for a known field, whose name is `name` in any case.
  void add(field f, std::string_view name, std::string_view value) {
    add_line(name, value);
    known_ |= bit(f);
  }
  /// Returns whether there may be a field `f`.
  bool may_have(field f) const noexcept { return f == field::other || (known_ & bit(f)) != 0; }
  /// Returns whether there is a field with this name, in any case.
  bool has(std::string_view name) const noexcept;
  /// Removes all fields of this name, in any case.
  void remove(std::string_view name) noexcept;
  /// Returns the lines, each with CR LF.
  std::string_view text() const noexcept {
    return more_.empty() ? std::string_view(room_, bytes_) : std::string_view(more_);
  }
  bool empty() const noexcept { return bytes_ == 0 && more_.empty(); }
  void clear() noexcept {
    bytes_ = 0;
    known_ = 0;
    more_.clear();
  }

 private:
  static constexpr std::uint64_t bit(field f) noexcept {
    return std::uint64_t{1} << static_cast<unsigned>(f);
  }
  void add_line(std::string_view name, std::string_view value);

  char room_[384];
  std::size_t bytes_ = 0;  // in room_; 0 if the lines are in more_
  std::uint64_t known_ = 0;
  std::string more_;
};

}  // namespace beck::http::detail
