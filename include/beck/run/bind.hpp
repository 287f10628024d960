// SPDX-License-Identifier: BSL-1.0
// bind_executor, bind_immediate_executor, bind_allocator, bind_cancellation_slot: tokens and
// handlers that replace one associated property and keep the others of the wrapped one. With Asio's
// names and meaning.
#pragma once

#include <beck/detail/functions.hpp>
#include <beck/detail/token_adapter.hpp>

namespace beck {

namespace detail {

template <class Executor>
class bound_executor : public association_adapter {
 public:
  using executor_type = Executor;
  explicit bound_executor(const Executor& executor) noexcept : executor_(executor) {}
  executor_type get_executor() const noexcept { return executor_; }

 private:
  Executor executor_;
};

template <class Executor>
class bound_immediate_executor : public association_adapter {
 public:
  using immediate_executor_type = Executor;
  explicit bound_immediate_executor(const Executor& executor) noexcept : executor_(executor) {}
  immediate_executor_type get_immediate_executor() const noexcept { return executor_; }

 private:
  Executor executor_;
};

template <class Allocator>
class bound_allocator : public association_adapter {
 public:
  using allocator_type = Allocator;
  explicit bound_allocator(const Allocator& allocator) noexcept : allocator_(allocator) {}
  allocator_type get_allocator() const noexcept { return allocator_; }

 private:
  Allocator allocator_;
};

class bound_cancellation_slot : public association_adapter {
 public:
  using cancellation_slot_type = cancellation_slot;
  explicit bound_cancellation_slot(cancellation_slot slot) noexcept : slot_(slot) {}
  cancellation_slot get_cancellation_slot() const noexcept { return slot_; }

 private:
  cancellation_slot slot_;
};

}  // namespace detail

/// The type that bind_executor() returns.
template <class T, class Executor>
using executor_binder = detail::token_adapter<detail::bound_executor<Executor>, T>;
/// The type that bind_immediate_executor() returns.
template <class T, class Executor>
using immediate_executor_binder =
    detail::token_adapter<detail::bound_immediate_executor<Executor>, T>;
/// The type that bind_allocator() returns.
template <class T, class Allocator>
using allocator_binder = detail::token_adapter<detail::bound_allocator<Allocator>, T>;

/// The type that bind_cancellation_slot() returns.
template <class T>
using cancellation_slot_binder = detail::token_adapter<detail::bound_cancellation_slot, T>;

namespace detail {

namespace functions {

/// The executor of an object that is an executor or has one.
template <executor_like E>
const E& executor_of(const E& executor) noexcept {
  return executor;
}
template <has_executor C>
auto executor_of(C& context) noexcept {
  return context.get_executor();
}

}  // namespace functions

}  // namespace detail

/// Returns a token whose handler runs on `where` (an executor, or a context with one). A coroutine
/// that awaits with such a token still continues on its own executor.
template <class Where, class T>
auto bind_executor(Where&& where, T&& token) {
  using executor = std::decay_t<decltype(detail::executor_of(where))>;
  return executor_binder<std::decay_t<T>, executor>(
      detail::bound_executor<executor>(detail::executor_of(where)), static_cast<T&&>(token));
}

/// Returns a token whose handler may be called inside the initiating function, on `where`, if the
/// operation completes at once. The runner bounds depth and budget: beyond them it is queued.
template <class Where, class T>
auto bind_immediate_executor(Where&& where, T&& token) {
  using executor = std::decay_t<decltype(detail::executor_of(where))>;
  return immediate_executor_binder<std::decay_t<T>, executor>(
      detail::bound_immediate_executor<executor>(detail::executor_of(where)),
      static_cast<T&&>(token));
}

/// Returns a token whose operation allocates with `allocator` (rebound).
template <class Allocator, class T>
auto bind_allocator(const Allocator& allocator, T&& token) {
  return allocator_binder<std::decay_t<T>, Allocator>(detail::bound_allocator<Allocator>(allocator),
                                                      static_cast<T&&>(token));
}

/// Returns a token whose operation can be cancelled by the signal of `slot`. With co_spawn(), a
/// terminal request stops the coroutine's scope. Reads and writes of one step accept every type of
/// request, composed ones terminal and partial.
template <class T>
auto bind_cancellation_slot(cancellation_slot slot, T&& token) {
  return cancellation_slot_binder<std::decay_t<T>>(detail::bound_cancellation_slot(slot),
                                                   static_cast<T&&>(token));
}

/// As above, around the default token.
template <class Where>
auto bind_executor(Where&& where) {
  return beck::bind_executor(static_cast<Where&&>(where), deferred);
}
/// As above, around the default token.
template <class Where>
auto bind_immediate_executor(Where&& where) {
  return beck::bind_immediate_executor(static_cast<Where&&>(where), deferred);
}
/// As above, around the default token.
inline auto bind_cancellation_slot(cancellation_slot slot) {
  return beck::bind_cancellation_slot(slot, deferred);
}
/// As above, around the default token.
template <class Allocator>
auto bind_allocator(const Allocator& allocator) {
  return beck::bind_allocator(allocator, deferred);
}

}  // namespace beck
