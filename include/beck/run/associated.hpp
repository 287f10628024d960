// SPDX-License-Identifier: BSL-1.0
// What a completion handler carries besides its call operator: an executor, an allocator, an immediate
// executor. Asio's names; a handler offers them by members (get_executor, get_allocator,
// get_immediate_executor) or by specialising the traits.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include <beck/run/any_io_executor.hpp>
#include <beck/run/block.hpp>

namespace beck {

/// The allocator of handlers that bring none: the recycled blocks of run/block.hpp.
template <class T = void>
class recycling_allocator {
 public:
  using value_type = T;
  recycling_allocator() noexcept = default;
  template <class U>
  recycling_allocator(const recycling_allocator<U>&) noexcept {}
  T* allocate(std::size_t n) { return static_cast<T*>(allocate_block(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) noexcept { free_block(p); }
  template <class U>
  bool operator==(const recycling_allocator<U>&) const noexcept {
    return true;
  }
};

/// The executor on which a handler of type T wants to be called; `fallback` if it does not say.
template <class T, class Fallback = any_io_executor>
struct associated_executor {
  using unspecialised = void;
  static auto get(const T& handler, const Fallback& fallback = Fallback()) noexcept {
    if constexpr (requires { handler.get_executor(); }) {
      return handler.get_executor();
    } else {
      return fallback;
    }
  }
};

/// The executor on which a handler may be called at once when an operation finishes immediately.
template <class T, class Fallback = any_io_executor>
struct associated_immediate_executor {
  using unspecialised = void;
  static auto get(const T& handler, const Fallback& fallback = Fallback()) noexcept {
    if constexpr (requires { handler.get_immediate_executor(); }) {
      return handler.get_immediate_executor();
    } else {
      return fallback;
    }
  }
};

/// The allocator for the memory that an operation needs while it waits to call the handler.
template <class T, class Fallback = recycling_allocator<>>
struct associated_allocator {
  using unspecialised = void;
  static auto get(const T& handler, const Fallback& fallback = Fallback()) noexcept {
    if constexpr (requires { handler.get_allocator(); }) {
      return handler.get_allocator();
    } else {
      return fallback;
    }
  }
};

template <class T, class F = any_io_executor>
auto get_associated_executor(const T& handler, const F& fallback = F()) noexcept {
  return associated_executor<T, F>::get(handler, fallback);
}
template <class T, class F = any_io_executor>
auto get_associated_immediate_executor(const T& handler, const F& fallback = F()) noexcept {
  return associated_immediate_executor<T, F>::get(handler, fallback);
}
template <class T, class F = recycling_allocator<>>
auto get_associated_allocator(const T& handler, const F& fallback = F()) noexcept {
  return associated_allocator<T, F>::get(handler, fallback);
}

template <class T, class F = any_io_executor>
using associated_executor_t = decltype(get_associated_executor(std::declval<const T&>(), std::declval<const F&>()));
template <class T, class F = recycling_allocator<>>
using associated_allocator_t = decltype(get_associated_allocator(std::declval<const T&>(), std::declval<const F&>()));

/// True if T says where it wants to be called, by a member or by a specialised trait.
template <class T>
concept has_associated_executor =
    requires(const T& t) { t.get_executor(); } ||
    !requires { typename associated_executor<T, any_io_executor>::unspecialised; };
template <class T>
concept has_immediate_executor =
    requires(const T& t) { t.get_immediate_executor(); } ||
    !requires { typename associated_immediate_executor<T, any_io_executor>::unspecialised; };
template <class T>
concept has_associated_allocator =
    requires(const T& t) { t.get_allocator(); } ||
    !requires { typename associated_allocator<T, recycling_allocator<>>::unspecialised; };

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

/// Makes a T in memory from the handler's allocator. Throws what allocating or constructing throws;
/// nothing is left behind then.
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
        get_associated_allocator(handler));
    T* memory = allocator.allocate(1);
    try {
      return ::new (static_cast<void*>(memory)) T(static_cast<Args&&>(args)...);
    } catch (...) {
      allocator.deallocate(memory, 1);
      throw;
    }
  }
}

/// Ends the life of an object from make_for_handler. `handler` is the handler itself, moved out of it.
template <class T, class Handler>
void release_for_handler(T* object, const Handler& handler) noexcept {
  object->~T();
  if constexpr (!has_associated_allocator<Handler>) {
    (void)handler;
    free_block(object);
  } else {
    typename rebound_allocator<associated_allocator_t<Handler>, T>::type allocator(
        get_associated_allocator(handler));
    allocator.deallocate(object, 1);
  }
}

}  // namespace beck
