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

  /// Called where a coroutine would be resumed, with the runner bound. It may end the life of the
  /// object, and must not throw.
  function resume;
};

/// A suspended coroutine, a resumable, or nothing. One word; owns nothing.
class continuation {
 public:
  continuation() noexcept = default;
  continuation(std::nullptr_t) noexcept {}
  template <class Promise>
  continuation(std::coroutine_handle<Promise> coroutine) noexcept
      : at_(static_cast<char*>(coroutine.address())) {}
  continuation(resumable& object) noexcept : at_(reinterpret_cast<char*>(&object) + object_bit) {}

  explicit operator bool() const noexcept { return at_ != nullptr; }

  /// Continues it. Requires that there is one.
  void resume() const {
    if ((reinterpret_cast<std::uintptr_t>(at_) & object_bit) == 0) [[likely]] {
      std::coroutine_handle<>::from_address(at_).resume();
    } else {
      auto& object = *reinterpret_cast<resumable*>(at_ - object_bit);
      object.resume(object);
    }
  }

 private:
  static constexpr std::uintptr_t object_bit = 1;

  char* at_ = nullptr;
};

}  // namespace beck::detail
