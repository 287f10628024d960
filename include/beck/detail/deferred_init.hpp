// SPDX-License-Identifier: BSL-1.0
// A member that is constructed later than its owner: state that an operation needs only once it has
// started, so that an operation that was not started can still move.
#pragma once

#include <new>
#include <utility>

namespace beck::detail {

/// Holds a T or nothing. Copying or moving an owner requires that it holds nothing, and the new
/// owner holds nothing.
template <class T>
class deferred_init {
 public:
  deferred_init() noexcept : none_() {}
  deferred_init(const deferred_init&) noexcept : none_() {}
  deferred_init& operator=(const deferred_init&) = delete;
  ~deferred_init() { reset(); }

  /// Constructs the T. Requires that there is none.
  template <class... Args>
  T& emplace(Args&&... args) {
    T* made = ::new (static_cast<void*>(&value_)) T(static_cast<Args&&>(args)...);
    full_ = true;
    return *made;
  }
  /// Destroys the T, if there is one.
  void reset() noexcept {
    if (std::exchange(full_, false)) value_.~T();
  }

  /// Returns whether there is a T.
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
