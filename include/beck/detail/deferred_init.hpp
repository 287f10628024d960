// SPDX-License-Identifier: BSL-1.0
// A member that is constructed later than its owner: what an operation needs only once it has
// started, so that an inert one can still move.
#pragma once

#include <new>
#include <utility>

namespace beck::detail {

/// Holds a T or nothing. Copying or moving an owner requires nothing inside, and gives nothing.
template <class T>
class deferred_init {
 public:
  deferred_init() noexcept : none_() {}
  deferred_init(const deferred_init&) noexcept : none_() {}
  deferred_init& operator=(const deferred_init&) = delete;
  ~deferred_init() { reset(); }

  /// Requires that it is empty.
  template <class... Args>
  T& emplace(Args&&... args) {
    T* made = ::new (static_cast<void*>(&value_)) T(static_cast<Args&&>(args)...);
    full_ = true;
    return *made;
  }
  void reset() noexcept {
    if (std::exchange(full_, false)) value_.~T();
  }

  explicit operator bool() const noexcept { return full_; }
  T& operator*() noexcept { return value_; }
  const T& operator*() const noexcept { return value_; }
  T* operator->() noexcept { return &value_; }
  const T* operator->() const noexcept { return &value_; }

 private:
  union {
    char none_;
    T value_;
  };
  bool full_ = false;
};

}  // namespace beck::detail
