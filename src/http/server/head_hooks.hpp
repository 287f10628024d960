// SPDX-License-Identifier: BSL-1.0
// The functions that are called immediately before the head of a response is written.
#pragma once

#include <array>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include <beck/http/response.hpp>

namespace beck::http::detail {

/// The functions of response::before_head(). Thread: that of the connection.
class head_hooks {
 public:
  bool empty() const noexcept { return count_ == 0; }
  /// Throws std::length_error beyond response::before_head_max.
  void add(const head_hook& hook) {
    if (count_ == hooks_.size())
      throw std::length_error("http: more than 8 functions before the head of a response");
    hooks_[count_++] = hook;
  }
  /// Removes all functions and calls them, the last one first. Throws what one of them throws; the
  /// others are then not called.
  void run(request&& q, response&& r) {
    std::array<head_hook, response::before_head_max> hooks = hooks_;
    for (std::size_t left = std::exchange(count_, 0); left != 0; --left) {
      head_hook& hook = hooks[left - 1];
      hook.call(hook.function, q, r);
    }
  }
  void clear() noexcept { count_ = 0; }

 private:
  std::array<head_hook, response::before_head_max> hooks_;
  std::size_t count_ = 0;
};

}  // namespace beck::http::detail
