// SPDX-License-Identifier: BSL-1.0
// The middlewares around one handler, which routers collect while they choose it.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include <beck/http/middleware.hpp>

namespace beck::http::detail {

/// A list of layers that ends with the handler. Thread: that of the connection. It stays where it
/// is, since each `next` refers to it.
class layer_run {
 public:
  static constexpr std::size_t layers_max = 16;

  layer_run() noexcept = default;
  layer_run(const layer_run&) = delete;
  layer_run& operator=(const layer_run&) = delete;

  void clear() noexcept { count_ = 0; }
  bool empty() const noexcept { return count_ == 0; }
  /// Adds the layers of a router, inside of the earlier ones. Returns false, and adds none, if
  /// there are more than layers_max.
  bool add(std::vector<layer>& all) noexcept {
    if (all.size() > layers_max - count_) return false;
    for (layer& one : all) list_[count_++] = &one;
    return true;
  }
  /// Calls the outermost layer, or the handler if there is none. Throws what that throws.
  pending start(const route_choice& chosen, request& q, response& r);

 private:
  static pending call_handler(void* of, request& q, response& r);

  std::array<layer*, layers_max + 1> list_;
  std::size_t count_ = 0;
  route_choice chosen_{};
  layer last_{};
};

/// Answers a request whose body is longer than the server or its route allows, inside the
/// middlewares.
extern const handler_table body_too_long;

}  // namespace beck::http::detail
