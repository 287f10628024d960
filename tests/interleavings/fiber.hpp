// SPDX-License-Identifier: BSL-1.0
// A stack that one operating system thread switches to and from. The checker runs each
// thread of a model on one, so that it alone decides who goes on.
#pragma once

#include <cstddef>
#include <memory>

#include "io/system/stopped_place.hpp"

namespace beck::interleavings {

class fiber {
 public:
  using function = void (*)(unsigned number);
  static constexpr std::size_t stack_bytes = 256 * 1024;

  fiber() = default;
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;

  /// The next switch to it calls `body(number)`, which never returns. What it was in the middle of
  /// is forgotten, without destructors.
  void begin(function body, unsigned number);
  bool begun() const noexcept { return stack_ != nullptr; }

  /// Leaves `from`, which is running, for `to`. Returns when something switches to `from`.
  static void change(fiber& from, fiber& to) noexcept;

 private:
  static void enter() noexcept;

  detail::stopped_place stopped_at_;
  std::unique_ptr<char[]> stack_;  // none: the thread's own stack
  function body_ = nullptr;
  unsigned number_ = 0;
};

/// While it lives, nothing that is allocated counts as leaked: what an execution that failed was in
/// the middle of is never freed.
class leaks_allowed {
 public:
  leaks_allowed() noexcept;
  ~leaks_allowed();
  leaks_allowed(const leaks_allowed&) = delete;
  leaks_allowed& operator=(const leaks_allowed&) = delete;
};

}  // namespace beck::interleavings
