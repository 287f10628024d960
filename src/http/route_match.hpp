// SPDX-License-Identifier: BSL-1.0
// What a router has found out about a request: the parts of the path that the names of its pattern
// stand for. It lives as long as the exchange.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <beck/detail/block.hpp>

namespace beck::http::detail {

/// The captured parts of a path. Thread: that of the connection.
class route_match {
 public:
  /// The greatest number of captures.
  static constexpr std::size_t captures_max = 8;

  struct capture {
    std::string_view name;   ///< from the pattern, which outlives the exchange
    std::string_view value;  ///< from the memory that prepare() has returned
  };

  route_match() noexcept = default;
  ~route_match() { clear(); }
  route_match(const route_match&) = delete;
  route_match& operator=(const route_match&) = delete;

  /// Returns memory for the decoded path, in place of what was there. Throws std::bad_alloc.
  char* prepare(std::size_t bytes) {
    clear();
    if (bytes <= sizeof room_) return room_;
    return more_ = static_cast<char*>(beck::detail::allocate_block(bytes));
  }
  /// Adds a capture. Requires: there are fewer than captures_max.
  void add(std::string_view name, std::string_view value) noexcept {
    captures_[count_++] = {name, value};
  }
  /// Returns the value of a name; an empty text if there is none.
  std::string_view get(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (captures_[i].name == name) return captures_[i].value;
    }
    return {};
  }
  /// Forgets the captures and frees the memory.
  void clear() noexcept {
    if (more_ != nullptr) beck::detail::free_block(more_);
    more_ = nullptr;
    count_ = 0;
  }

 private:
  char* more_ = nullptr;
  std::size_t count_ = 0;
  std::array<capture, captures_max> captures_;
  char room_[128];
};

}  // namespace beck::http::detail
