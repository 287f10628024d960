// SPDX-License-Identifier: BSL-1.0
// The party that waits for an awaitable: mostly a coroutine, or an object of the library that is
// called instead, such as the operation state of a sender. So every awaitable serves both, without
// a frame for the latter.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>

namespace beck::detail {

/// An object that waits without being a coroutine. Aligned, so that its address has a bit to spare.
struct alignas(8) resumable {
  using function = void (*)(resumable& self);

  explicit resumable(function on_resume) noexcept : resume(on_resume) {}
  resumable(const resumable&) = delete;
  resumable& operator=(const resumable&) = delete;

  function
      resume;  ///< called where a coroutine would be resumed, with the runner bound; it may end
               ///< the life of the object, and must not throw
};

/// A suspended coroutine, a resumable, or nothing. One word; owns nothing.
class continuation {
 public:
  continuation() noexcept = default;
  continuation(std::nullptr_t) noexcept {}
  template <class Promise>
  continuation(std::coroutine_handle<Promise> coroutine) noexcept
      : bits_(reinterpret_cast<std::uintptr_t>(coroutine.address())) {}
  continuation(resumable& object) noexcept
      : bits_(reinterpret_cast<std::uintptr_t>(&object) | object_bit) {}

  explicit operator bool() const noexcept { return bits_ != 0; }

  /// Continues it. Requires that there is one.
  void resume() const {
    if ((bits_ & object_bit) == 0) [[likely]] {
      std::coroutine_handle<>::from_address(reinterpret_cast<void*>(bits_)).resume();
    } else {
      auto& object = *reinterpret_cast<resumable*>(bits_ - object_bit);
      object.resume(object);
    }
  }

 private:
  static constexpr std::uintptr_t object_bit = 1;

  std::uintptr_t bits_ = 0;
};

}  // namespace beck::detail
