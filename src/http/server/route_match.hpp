// SPDX-License-Identifier: BSL-1.0
// The result of a router for a request: the decoded path, and the captured parts. It lives as long
// as the exchange.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include <beck/base/assert.hpp>
#include <beck/detail/block.hpp>
#include <beck/http/target.hpp>

namespace beck::http::detail {

/// The value of Allow for the server itself.
inline constexpr std::string_view all_methods_text = "GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS";

struct route;

/// The captured parts of a path, and the routes that have led to the handler. Thread: that of the
/// connection.
class route_match {
 public:
  /// The greatest number of captures.
  static constexpr std::size_t captures_max = 8;
  /// The greatest number of nested routers, and so of routes.
  static constexpr std::size_t routes_max = 8;

  struct capture {
    std::string_view name;   ///< from the pattern, which outlives the exchange
    std::string_view value;  ///< a part of path()
  };

  route_match() noexcept = default;
  ~route_match() { clear(); }
  route_match(const route_match&) = delete;
  route_match& operator=(const route_match&) = delete;

  /// Decodes the path of a request, in place of the former one. Throws std::bad_alloc.
  path_error decode(std::string_view raw) {
    clear();
    const std::size_t bytes = std::max(raw.size() + path_room, sizeof room_);
    if (bytes > sizeof room_) more_ = static_cast<char*>(beck::detail::allocate_block(bytes));
    const decoded_path decoded = decode_path(raw, {more_ != nullptr ? more_ : room_, bytes});
    has_path_ = decoded.error == path_error::none;
    path_ = decoded.path;
    return decoded.error;
  }
  /// Returns whether decode() has succeeded.
  bool has_path() const noexcept { return has_path_; }
  /// Returns the decoded path below the prefixes of mounted handlers: empty, or it begins with "/".
  std::string_view path() const noexcept { return path_; }
  /// Enters a prefix: `below` is the rest of the path, `raw` all of path() as it was sent.
  void enter(std::string_view below, std::string_view raw) noexcept {
    const std::size_t skipped = path_.size() > below.size() ? path_.size() - below.size() : 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i != skipped; ++i) at += raw[at] == '%' ? 3U : 1U;
    raw_prefix_ += at;
    path_ = below;
  }
  /// Returns the number of bytes of the prefixes as they were sent.
  std::size_t raw_prefix() const noexcept { return raw_prefix_; }
  /// Counts a router. Returns false if there are more than routes_max.
  bool go_deeper() noexcept { return ++depth_ <= routes_max; }

  /// Adds a capture. Returns false beyond captures_max, which nested routers can reach together.
  bool add(std::string_view name, std::string_view value) noexcept {
    if (count_ == captures_max) return false;
    captures_[count_++] = {name, value};
    return true;
  }
  /// Returns the value of a name; an empty text if there is none.
  std::string_view get(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (captures_[i].name == name) return captures_[i].value;
    }
    return {};
  }
  /// Adds a route, which outlives the exchange. Requires that a router was counted for it.
  void add_route(const route& one) noexcept {
    BECK_ASSERT(route_count_ < routes_max, "a route for each router at most");
    routes_[route_count_++] = &one;
  }
  /// Returns the routes, the outermost first: all but the last one have mounted routers.
  std::span<const route* const> routes() const noexcept { return {routes_.data(), route_count_}; }
  /// Notes whether the server or a router answers by itself.
  void note_answer(bool is_answer) noexcept { is_answer_ = is_answer; }
  bool is_answer() const noexcept { return is_answer_; }
  /// Forgets the captures and the routes, and frees the memory.
  void clear() noexcept {
    if (more_ != nullptr) beck::detail::free_block(more_);
    more_ = nullptr;
    count_ = route_count_ = 0;
    is_answer_ = false;
    depth_ = 0;
    raw_prefix_ = 0;
    has_path_ = false;
  }

 private:
  char* more_ = nullptr;
  std::string_view path_;
  std::size_t count_ = 0;
  std::size_t raw_prefix_ = 0;
  unsigned depth_ = 0;
  bool has_path_ = false;
  bool is_answer_ = false;
  std::size_t route_count_ = 0;
  std::array<const route*, routes_max> routes_;
  std::array<capture, captures_max> captures_;
  char room_[128 + path_room];
};

}  // namespace beck::http::detail
