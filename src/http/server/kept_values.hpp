// SPDX-License-Identifier: BSL-1.0
// The values that middlewares and handlers have put into an exchange.
#pragma once

#include <utility>

#include <beck/http/slot.hpp>

namespace beck::http::detail {

/// A list of values, the last one first. Owns them. Thread: that of the connection.
class kept_values {
 public:
  kept_values() noexcept = default;
  ~kept_values() { clear(); }
  kept_values(const kept_values&) = delete;
  kept_values& operator=(const kept_values&) = delete;

  /// Adds a value; destroys one of the same key.
  void add(kept_value* made) noexcept {
    for (kept_value** at = &first_; *at != nullptr; at = &(*at)->next) {
      if ((*at)->key != made->key) continue;
      kept_value* const old = std::exchange(*at, (*at)->next);
      old->destroy(old);
      break;
    }
    made->next = std::exchange(first_, made);
  }
  /// Returns the value of a key; nullptr if there is none.
  kept_value* find(const void* key) const noexcept {
    kept_value* at = first_;
    while (at != nullptr && at->key != key) at = at->next;
    return at;
  }
  /// Destroys the values.
  void clear() noexcept {
    while (first_ != nullptr) {
      kept_value* const last = std::exchange(first_, first_->next);
      last->destroy(last);
    }
  }

 private:
  kept_value* first_ = nullptr;
};

}  // namespace beck::http::detail
