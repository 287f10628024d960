// SPDX-License-Identifier: BSL-1.0
// Handlers that tests can observe: one that must be moved and called once, and an allocator that
// counts.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace beck::test {

// The state of a handler.
struct handler_life {
  int live = 0;  // objects that are not moved-from
  int calls = 0;
};

// Wraps a function as a handler that cannot be copied, and that counts its calls and its living
// objects. With `Padding` it can be made too large for a recycled block.
template <class F, std::size_t Padding = 1>
class tracked_handler {
 public:
  tracked_handler(handler_life& life, F function) : life_(&life), function_(std::move(function)) {
    ++life.live;
  }
  tracked_handler(tracked_handler&& other) noexcept
      : life_(std::exchange(other.life_, nullptr)), function_(std::move(other.function_)) {}
  tracked_handler& operator=(tracked_handler&&) = delete;
  ~tracked_handler() {
    if (life_ != nullptr) --life_->live;
  }

  template <class... A>
  auto operator()(A&&... a) -> decltype(std::declval<F&>()(std::forward<A>(a)...)) {
    ++life_->calls;
    return function_(std::forward<A>(a)...);
  }

 private:
  handler_life* life_;
  F function_;
  [[maybe_unused]] char padding_[Padding] = {};
};

template <class F>
tracked_handler<F> tracked(handler_life& life, F function) {
  return {life, std::move(function)};
}

// The padding of a handler that never fits into a recycled block: each operation with it asks the
// general allocator.
inline constexpr std::size_t unrecycled_bytes = 5000;
template <class F>
tracked_handler<F, unrecycled_bytes> large_tracked(handler_life& life, F function) {
  return {life, std::move(function)};
}

struct allocator_counts {
  int live = 0;
  int allocations = 0;
};

template <class T = void>
class counting_allocator {
 public:
  using value_type = T;
  explicit counting_allocator(allocator_counts& counts) noexcept : counts_(&counts) {}
  template <class U>
  counting_allocator(const counting_allocator<U>& other) noexcept : counts_(other.counts()) {}

  T* allocate(std::size_t n) {
    ++counts_->live;
    ++counts_->allocations;
    return static_cast<T*>(::operator new(n * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t) noexcept {
    --counts_->live;
    ::operator delete(memory);
  }
  allocator_counts* counts() const noexcept { return counts_; }

  template <class U>
  bool operator==(const counting_allocator<U>& other) const noexcept {
    return counts_ == other.counts();
  }

 private:
  allocator_counts* counts_;
};

}  // namespace beck::test
