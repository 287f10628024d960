// SPDX-License-Identifier: BSL-1.0
// The properties of a completion handler besides its call operator: an executor, an allocator, an
// immediate executor, a cancellation slot, with Asio's names. A handler has them by members
// (get_executor, get_allocator, get_immediate_executor, get_cancellation_slot), by specialising the
// traits, or by wrapping a handler that has them.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include <beck/detail/block.hpp>
#include <beck/detail/functions.hpp>
#include <beck/run/any_io_executor.hpp>
#include <beck/run/cancellation.hpp>

namespace beck {

/// The allocator of handlers that have none: the recycled blocks of detail/block.hpp. Thread: any.
template <class T = void>
class recycling_allocator {
 public:
  /// The type of the objects.
  using value_type = T;
  /// Makes an allocator, which has no state.
  recycling_allocator() noexcept = default;
  /// Converts from an allocator of another type.
  template <class U>
  recycling_allocator(const recycling_allocator<U>&) noexcept {}
  /// Returns memory for `n` objects. Throws std::bad_alloc.
  T* allocate(std::size_t n) { return static_cast<T*>(detail::allocate_block(n * sizeof(T))); }
  /// Frees memory from allocate().
  void deallocate(T* p, std::size_t) noexcept { detail::free_block(p); }
  /// Returns true.
  template <class U>
  bool operator==(const recycling_allocator<U>&) const noexcept {
    return true;
  }
};

namespace detail {

/// A handler around another one: a query that it does not answer itself goes to
/// `wrapped_handler()`.
template <class T>
concept wrapping_handler = requires(const T& t) { t.wrapped_handler(); };
template <wrapping_handler T>
using wrapped_handler_t = std::remove_cvref_t<decltype(std::declval<const T&>().wrapped_handler())>;

/// The answer of a handler to one query: by its own member, or by the handler that it wraps; else
/// the fallback.
template <class Query, class T, class Fallback>
struct association {
  using unspecialised = void;
  static constexpr bool own = requires(const T& t) { Query::ask(t); };
  static auto get(const T& handler, const Fallback& fallback = Fallback()) noexcept {
    if constexpr (own) {
      auto answer = Query::ask(handler);
      if constexpr (std::is_same_v<decltype(answer), any_io_executor> &&
                    std::is_same_v<Fallback, any_io_executor>) {
        if (!answer) return fallback;  // a handler that can have an executor, and has none
      }
      return answer;
    } else if constexpr (wrapping_handler<T>) {
      using inner = typename Query::template trait<wrapped_handler_t<T>, Fallback>;
      return inner::get(handler.wrapped_handler(), fallback);
    } else {
      return fallback;
    }
  }
};

}  // namespace detail

template <class T, class Fallback>
struct associated_executor;
template <class T, class Fallback>
struct associated_immediate_executor;
template <class T, class Fallback>
struct associated_allocator;
template <class T, class Fallback>
struct associated_cancellation_slot;

namespace detail {

struct executor_query {
  template <class T, class Fallback>
  using trait = associated_executor<T, Fallback>;
  template <class T>
  static auto ask(const T& t) noexcept -> decltype(t.get_executor()) {
    return t.get_executor();
  }
};
struct immediate_executor_query {
  template <class T, class Fallback>
  using trait = associated_immediate_executor<T, Fallback>;
  template <class T>
  static auto ask(const T& t) noexcept -> decltype(t.get_immediate_executor()) {
    return t.get_immediate_executor();
  }
};
struct allocator_query {
  template <class T, class Fallback>
  using trait = associated_allocator<T, Fallback>;
  template <class T>
  static auto ask(const T& t) noexcept -> decltype(t.get_allocator()) {
    return t.get_allocator();
  }
};

struct cancellation_slot_query {
  template <class T, class Fallback>
  using trait = associated_cancellation_slot<T, Fallback>;
  template <class T>
  static auto ask(const T& t) noexcept -> decltype(t.get_cancellation_slot()) {
    return t.get_cancellation_slot();
  }
};

}  // namespace detail

/// The executor on which a handler of type T is to be called. May be specialised.
template <class T, class Fallback = any_io_executor>
struct associated_executor : detail::association<detail::executor_query, T, Fallback> {};
/// The executor on which a handler may be called at once when an operation completes immediately.
/// May be specialised.
template <class T, class Fallback = any_io_executor>
struct associated_immediate_executor
    : detail::association<detail::immediate_executor_query, T, Fallback> {};
/// The allocator for the memory that an operation needs while it waits. May be specialised.
template <class T, class Fallback = recycling_allocator<>>
struct associated_allocator : detail::association<detail::allocator_query, T, Fallback> {};

/// The slot through which an operation can be cancelled. May be specialised.
template <class T, class Fallback = cancellation_slot>
struct associated_cancellation_slot
    : detail::association<detail::cancellation_slot_query, T, Fallback> {};

/// Returns the executor of `handler`, or `fallback` if it has none.
template <class T, class F = any_io_executor>
auto get_associated_executor(const T& handler, const F& fallback = F()) noexcept {
  return associated_executor<T, F>::get(handler, fallback);
}
/// Returns the immediate executor of `handler`, or `fallback` if it has none.
template <class T, class F = any_io_executor>
auto get_associated_immediate_executor(const T& handler, const F& fallback = F()) noexcept {
  return associated_immediate_executor<T, F>::get(handler, fallback);
}
/// Returns the allocator of `handler`, or `fallback` if it has none.
template <class T, class F = recycling_allocator<>>
auto get_associated_allocator(const T& handler, const F& fallback = F()) noexcept {
  return associated_allocator<T, F>::get(handler, fallback);
}

/// Returns the cancellation slot of `handler`, or `fallback` if it has none.
template <class T, class F = cancellation_slot>
auto get_associated_cancellation_slot(const T& handler, const F& fallback = F()) noexcept {
  return associated_cancellation_slot<T, F>::get(handler, fallback);
}

/// The type that get_associated_executor() returns.
template <class T, class F = any_io_executor>
using associated_executor_t =
    decltype(beck::get_associated_executor(std::declval<const T&>(), std::declval<const F&>()));
/// The type that get_associated_allocator() returns.
template <class T, class F = recycling_allocator<>>
using associated_allocator_t =
    decltype(beck::get_associated_allocator(std::declval<const T&>(), std::declval<const F&>()));

namespace detail {

/// Whether T answers a query: by a member, by a trait that its author specialised, or through the
/// handler that it wraps.
template <class Query, class T, class Fallback>
inline constexpr bool answers = [] {
  using trait = typename Query::template trait<T, Fallback>;
  if constexpr (!requires { typename trait::unspecialised; }) {
    return true;
  } else if constexpr (trait::own) {
    return true;
  } else if constexpr (wrapping_handler<T>) {
    return answers<Query, wrapped_handler_t<T>, Fallback>;
  } else {
    return false;
  }
}();

template <class T>
concept has_associated_executor = answers<executor_query, T, any_io_executor>;
template <class T>
concept has_immediate_executor = answers<immediate_executor_query, T, any_io_executor>;
template <class T>
concept has_associated_allocator = answers<allocator_query, T, recycling_allocator<>>;
template <class T>
concept has_cancellation_slot = answers<cancellation_slot_query, T, cancellation_slot>;

/// An operation's hook in the slot of its handler; nothing if the handler has none.
template <class Handler, class Hook>
class handler_listening {
 public:
  explicit handler_listening(void*) noexcept {}
  static void start(const Handler&) noexcept {}
  static void stop(const Handler&) noexcept {}
  static bool keep_back(queue_entry*) noexcept { return false; }
};
template <has_cancellation_slot Handler, class Hook>
class handler_listening<Handler, Hook> {
 public:
  /// `owner` is for the hook's function.
  explicit handler_listening(void* owner) noexcept { hook_.owner = owner; }

  void start(const Handler& handler) noexcept {
    const cancellation_slot slot = beck::get_associated_cancellation_slot(handler);
    if (!slot.is_connected()) return;
    slot.connect(hook_);
    listening_ = true;
  }
  /// Called before the handler is called, moved or destroyed.
  void stop(const Handler& handler) noexcept {
    if (std::exchange(listening_, false)) beck::get_associated_cancellation_slot(handler).clear();
  }
  /// Returns true if a message of the hook is in flight; `delivery` runs when it is back.
  bool keep_back(queue_entry* delivery) noexcept { return listening_ && hook_.keep_back(delivery); }

 private:
  Hook hook_;
  bool listening_ = false;
};

/// True for handlers that only store the result (for a waiting coroutine, a future): calling one
/// runs no user code, so it may also be called inside the function that started the operation.
template <class T>
inline constexpr bool only_keeps_result = [] {
  if constexpr (requires { T::only_keeps_result; }) {
    return T::only_keeps_result;
  } else if constexpr (wrapping_handler<T>) {
    return only_keeps_result<wrapped_handler_t<T>>;
  } else {
    return false;
  }
}();

/// `A` for objects of type T, without <memory>.
template <class A, class T>
struct rebound_allocator;
template <class A, class T>
  requires requires { typename A::template rebind<T>::other; }
struct rebound_allocator<A, T> {
  using type = typename A::template rebind<T>::other;
};
template <template <class, class...> class A, class U, class... Rest, class T>
  requires(!requires { typename A<U, Rest...>::template rebind<T>::other; })
struct rebound_allocator<A<U, Rest...>, T> {
  using type = A<T, Rest...>;
};

namespace functions {

/// Makes a T in memory from the handler's allocator. Throws the exceptions of allocating and
/// constructing; then no memory is lost.
template <class T, class Handler, class... Args>
[[gnu::always_inline]] inline T* make_for_handler(const Handler& handler, Args&&... args) {
  if constexpr (!has_associated_allocator<Handler>) {
    void* block = allocate_block(sizeof(T));
    if constexpr (std::is_nothrow_constructible_v<T, Args...>) {
      return ::new (block) T(static_cast<Args&&>(args)...);
    } else {
      struct guard {
        void* block;
        ~guard() {
          if (block != nullptr) free_block(block);
        }
      } unwinding{block};
      T* made = ::new (block) T(static_cast<Args&&>(args)...);
      unwinding.block = nullptr;
      return made;
    }
  } else {
    typename rebound_allocator<associated_allocator_t<Handler>, T>::type allocator(
        beck::get_associated_allocator(handler));
    T* memory = allocator.allocate(1);
    try {
      return ::new (static_cast<void*>(memory)) T(static_cast<Args&&>(args)...);
    } catch (...) {
      allocator.deallocate(memory, 1);
      throw;
    }
  }
}

/// Destroys an object from make_for_handler. `handler` is the handler itself, moved out of the
/// object.
template <class T, class Handler>
void release_for_handler(T* object, const Handler& handler) noexcept {
  object->~T();
  if constexpr (!has_associated_allocator<Handler>) {
    (void)handler;
    detail::free_block(object);
  } else {
    typename rebound_allocator<associated_allocator_t<Handler>, T>::type allocator(
        beck::get_associated_allocator(handler));
    allocator.deallocate(object, 1);
  }
}

}  // namespace functions

}  // namespace detail

}  // namespace beck
