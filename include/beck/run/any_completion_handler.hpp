// SPDX-License-Identifier: BSL-1.0
// any_completion_handler: a completion handler of any type behind one type, so that an operation
// can be a function in a .cpp file and still take every token. With Asio's name and meaning.
#pragma once

#include <cstddef>

#include <beck/base/assert.hpp>
#include <beck/run/associated.hpp>
#include <beck/run/async_result.hpp>

namespace beck {

namespace detail {

/// The functions of a stored handler that its signature does not change. They answer for a handler
/// without a property: with the fallback, an empty slot, a recycled block.
struct handler_queries {
  void (*destroy)(void* stored) noexcept;
  any_io_executor (*executor)(const void* stored, const any_io_executor& fallback) noexcept;
  cancellation_slot (*slot)(const void* stored) noexcept;
  void* (*allocate)(const void* stored, std::size_t bytes);
  void (*deallocate)(const void* stored, void* memory, std::size_t bytes) noexcept;
};

/// As above, and the call, which frees the stored handler first.
template <class... A>
struct handler_table {
  handler_queries queries;
  void (*call)(void* stored, A... results);
};

/// A handler in memory from its own allocator.
template <class Handler, class... A>
class stored_handler {
 public:
  template <class H>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): made by make_for_handler() only
  explicit stored_handler(H&& handler) : handler_(static_cast<H&&>(handler)) {}

 private:
  /// The unit in which memory is taken from an allocator that knows only types.
  struct alignas(std::max_align_t) unit {
    unsigned char bytes[sizeof(std::max_align_t)];
  };
  static std::size_t units(std::size_t bytes) noexcept {
    return (bytes + sizeof(unit) - 1) / sizeof(unit);
  }

  static const Handler& of(const void* stored) noexcept {
    return static_cast<const stored_handler*>(stored)->handler_;
  }
  static Handler take(void* stored) noexcept {
    auto* self = static_cast<stored_handler*>(stored);
    Handler handler(static_cast<Handler&&>(self->handler_));
    detail::release_for_handler(self, handler);
    return handler;
  }
  static any_io_executor executor_of(const void* stored, const any_io_executor& other) noexcept {
    return any_io_executor(beck::get_associated_executor(of(stored), other));
  }
  static auto unit_allocator(const void* stored) noexcept {
    using own = associated_allocator_t<Handler>;
    return typename rebound_allocator<own, unit>::type(beck::get_associated_allocator(of(stored)));
  }
  static cancellation_slot slot_of(const void* stored) noexcept {
    return beck::get_associated_cancellation_slot(of(stored));
  }
  static void* allocate(const void* stored, std::size_t bytes) {
    return unit_allocator(stored).allocate(units(bytes));
  }
  static void deallocate(const void* stored, void* memory, std::size_t bytes) noexcept {
    unit_allocator(stored).deallocate(static_cast<unit*>(memory), units(bytes));
  }

  Handler handler_;

 public:
  static constexpr handler_table<A...> table{
      {[](void* stored) noexcept { take(stored); }, &executor_of, &slot_of, &allocate, &deallocate},
      [](void* stored, A... results) {
        Handler handler(take(stored));
        static_cast<Handler&&>(handler)(static_cast<A&&>(results)...);
      }};
};

/// The allocator of the handler inside an any_completion_handler, which it must not outlive.
template <class T>
class stored_handler_allocator {
 public:
  using value_type = T;
  stored_handler_allocator(const handler_queries* queries, const void* stored) noexcept
      : queries_(queries), stored_(stored) {}
  template <class U>
  stored_handler_allocator(const stored_handler_allocator<U>& other) noexcept
      : queries_(other.queries_), stored_(other.stored_) {}
  T* allocate(std::size_t n) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    return static_cast<T*>(queries_->allocate(stored_, n * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t n) noexcept {
    queries_->deallocate(stored_, memory, n * sizeof(T));
  }
  template <class U>
  bool operator==(const stored_handler_allocator<U>& other) const noexcept {
    return stored_ == other.stored_;
  }

 private:
  template <class U>
  friend class stored_handler_allocator;

  const handler_queries* queries_;
  const void* stored_;
};

}  // namespace detail

template <class Signature>
class any_completion_handler;

/// A move-only handler for void(A...), called at most once. Its associated executor, allocator and
/// cancellation slot are those of the handler inside, so an operation that is started with it
/// behaves as with that handler; but it has no immediate executor: a result that is there at once
/// is delivered through the queue. docs/tour.md shows such an operation.
///
/// Memory: one block from the allocator of the handler inside, freed before the handler is called.
/// Thread: as the handler inside; one object from one thread at a time.
template <class... A>
class any_completion_handler<void(A...)> {
 public:
  /// Makes an empty handler.
  any_completion_handler() noexcept = default;
  /// Makes an empty handler.
  any_completion_handler(std::nullptr_t) noexcept {}
  /// Stores a handler. Throws what its allocator or its move constructor throws.
  template <class H>
    requires(!std::is_same_v<std::decay_t<H>, any_completion_handler> &&
             detail::accepts_signature<std::decay_t<H>, void(A...)>)
  any_completion_handler(H&& handler) {
    // Asked here: a wrapper that can be made of an any_completion_handler would ask itself above.
    static_assert(completion_handler_for<std::decay_t<H>, void(A...)>);
    using stored = detail::stored_handler<std::decay_t<H>, A...>;
    stored_ = detail::make_for_handler<stored>(handler, static_cast<H&&>(handler));
    table_ = &stored::table;
  }
  any_completion_handler(any_completion_handler&& other) noexcept
      : table_(other.table_), stored_(std::exchange(other.stored_, nullptr)) {}
  any_completion_handler& operator=(any_completion_handler&& other) noexcept {
    any_completion_handler taken(static_cast<any_completion_handler&&>(other));
    swap(taken);
    return *this;
  }
  /// Destroys the handler inside without a call.
  ~any_completion_handler() {
    if (stored_ != nullptr) table_->queries.destroy(std::exchange(stored_, nullptr));
  }

  /// Exchanges the handlers.
  void swap(any_completion_handler& other) noexcept {
    std::swap(table_, other.table_);
    std::swap(stored_, other.stored_);
  }
  friend void swap(any_completion_handler& a, any_completion_handler& b) noexcept { a.swap(b); }
  /// Returns whether there is a handler.
  explicit operator bool() const noexcept { return stored_ != nullptr; }
  /// Returns whether there is no handler.
  friend bool operator==(const any_completion_handler& handler, std::nullptr_t) noexcept {
    return handler.stored_ == nullptr;
  }

  /// Calls the handler; this object is empty then. Requires that there is one, asserted.
  void operator()(A... results) {
    BECK_ASSERT(stored_ != nullptr, "an empty any_completion_handler was called");
    table_->call(std::exchange(stored_, nullptr), static_cast<A&&>(results)...);
  }

  /// Returns the handler's cancellation slot, which is disconnected if it has none.
  cancellation_slot get_cancellation_slot() const noexcept {
    return stored_ != nullptr ? table_->queries.slot(stored_) : cancellation_slot();
  }

 private:
  template <class T, class Fallback>
  friend struct associated_executor;
  template <class T, class Fallback>
  friend struct associated_allocator;

  const detail::handler_table<A...>* table_ = nullptr;
  void* stored_ = nullptr;
};

/// Returns the executor of the handler inside, or the fallback.
template <class... A, class Fallback>
struct associated_executor<any_completion_handler<void(A...)>, Fallback> {
  static any_io_executor get(const any_completion_handler<void(A...)>& handler,
                             const Fallback& fallback = Fallback()) noexcept {
    if (!handler) return any_io_executor(fallback);
    return handler.table_->queries.executor(handler.stored_, any_io_executor(fallback));
  }
};
/// Returns the allocator of the handler inside. Requires that there is one.
template <class... A, class Fallback>
struct associated_allocator<any_completion_handler<void(A...)>, Fallback> {
  static detail::stored_handler_allocator<void> get(
      const any_completion_handler<void(A...)>& handler, const Fallback& = Fallback()) noexcept {
    BECK_ASSERT(handler, "an empty any_completion_handler was asked for its allocator");
    return {&handler.table_->queries, handler.stored_};
  }
};

}  // namespace beck
