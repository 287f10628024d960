// SPDX-License-Identifier: BSL-1.0
// The properties of handlers as traits that programs specialise in their namespace of Asio. Each
// trait answers as beck's does, and beck's asks a trait that a program has specialised.
#pragma once

#include <type_traits>

#include <beck/asio/config.hpp>
#include <beck/run/associated.hpp>
#include <beck/run/thread_pool.hpp>

BECK_ASIO_BEGIN

using beck::recycling_allocator;

/// The hook of a handler that has none of its own. It changes nothing here.
inline bool asio_handler_is_continuation(...) noexcept { return false; }

/// The executor of a handler of type T. May be specialised, with `type` and `get()`.
template <class T, class Fallback = beck::any_io_executor>
struct associated_executor : beck::detail::association<beck::detail::executor_query, T, Fallback> {
  using primary = associated_executor;
  /// The type of get().
  using type =
      decltype(associated_executor::get(std::declval<const T&>(), std::declval<const Fallback&>()));
};
/// The executor on which a handler may be called at once. May be specialised, as above.
template <class T, class Fallback = beck::any_io_executor>
struct associated_immediate_executor
    : beck::detail::association<beck::detail::immediate_executor_query, T, Fallback> {
  using primary = associated_immediate_executor;
  /// The type of get().
  using type = decltype(associated_immediate_executor::get(std::declval<const T&>(),
                                                           std::declval<const Fallback&>()));
};
/// The allocator of a handler. May be specialised, as above.
template <class T, class Fallback = beck::recycling_allocator<>>
struct associated_allocator
    : beck::detail::association<beck::detail::allocator_query, T, Fallback> {
  using primary = associated_allocator;
  /// The type of get().
  using type = decltype(associated_allocator::get(std::declval<const T&>(),
                                                  std::declval<const Fallback&>()));
};
/// The cancellation slot of a handler. May be specialised, as above.
template <class T, class Fallback = beck::cancellation_slot>
struct associated_cancellation_slot
    : beck::detail::association<beck::detail::cancellation_slot_query, T, Fallback> {
  using primary = associated_cancellation_slot;
  /// The type of get().
  using type = decltype(associated_cancellation_slot::get(std::declval<const T&>(),
                                                          std::declval<const Fallback&>()));
};

/// All properties of handlers of type T. A program may specialise it, with `get()` as that of
/// Associator, which is one of the traits above.
template <template <class, class> class Associator, class T, class Fallback, class = void>
struct associator {};

namespace facade {

struct no_answer {};
/// Whether a program has specialised associator for T, and it has an answer to this query.
template <template <class, class> class Trait, class Query, class T>
concept associated_by_program =
    !requires(const T& handler) { Query::ask(handler); } && requires(const T& handler) {
      associator<Trait, T, no_answer>::get(handler);
      requires !std::is_same_v<typename associator<Trait, T, no_answer>::type, no_answer>;
    };

/// The answer of a specialised associator.
template <template <class, class> class Trait, class T, class Fallback>
struct associator_answer {
  using type = typename associator<Trait, T, Fallback>::type;
  static type get(const T& handler, const Fallback& fallback = Fallback()) noexcept {
    return associator<Trait, T, Fallback>::get(handler, fallback);
  }
};

}  // namespace facade

template <class T, class Fallback>
  requires facade::associated_by_program<associated_executor, beck::detail::executor_query, T>
struct associated_executor<T, Fallback>
    : facade::associator_answer<associated_executor, T, Fallback> {};
template <class T, class Fallback>
  requires facade::associated_by_program<associated_immediate_executor,
                                         beck::detail::immediate_executor_query, T>
struct associated_immediate_executor<T, Fallback>
    : facade::associator_answer<associated_immediate_executor, T, Fallback> {};
template <class T, class Fallback>
  requires facade::associated_by_program<associated_allocator, beck::detail::allocator_query, T>
struct associated_allocator<T, Fallback>
    : facade::associator_answer<associated_allocator, T, Fallback> {};
template <class T, class Fallback>
  requires facade::associated_by_program<associated_cancellation_slot,
                                         beck::detail::cancellation_slot_query, T>
struct associated_cancellation_slot<T, Fallback>
    : facade::associator_answer<associated_cancellation_slot, T, Fallback> {};

using beck::associated_allocator_t;
using beck::associated_executor_t;
/// The type of get_associated_immediate_executor().
template <class T, class Fallback = beck::any_io_executor>
using associated_immediate_executor_t = typename associated_immediate_executor<T, Fallback>::type;
/// The type of get_associated_cancellation_slot().
template <class T, class Fallback = beck::cancellation_slot>
using associated_cancellation_slot_t = typename associated_cancellation_slot<T, Fallback>::type;
using beck::get_associated_allocator;
using beck::get_associated_cancellation_slot;
using beck::get_associated_immediate_executor;

namespace facade {

/// The functions of the pool's executor, but a caller on any thread may run entries at once.
inline const beck::detail::executor_table& system_table() {
  static const beck::detail::executor_table table = [] {
    beck::detail::executor_table functions = *beck::system_executor().table();
    functions.running_here = [](const void*) noexcept { return true; };
    return functions;
  }();
  return table;
}

}  // namespace facade

/// The executor of the process-wide pool, whose dispatch() runs functions at once on any thread, as
/// in Asio. The pool is made at first use, which may throw std::system_error.
class system_executor : public beck::system_executor {
 public:
  /// Returns true.
  static constexpr bool running_in_this_thread() noexcept { return true; }
  /// Runs `function` inside this call.
  template <class F>
  void execute(F&& function) const {
    std::decay_t<F> kept(static_cast<F&&>(function));
    static_cast<std::decay_t<F>&&>(kept)();
  }
  /// Returns the functions of the executor, for any_io_executor.
  const beck::detail::executor_table* table() const { return &facade::system_table(); }
};

namespace facade {

/// Always true: makes a function preferred to the one of beck with the same parameters, which a
/// call without a namespace finds, too.
template <class T>
concept of_the_facade = true;
struct no_fallback {};

/// Returns the executor of work that has none: that of the calling handler, so that it stays on its
/// thread, and outside of every context the system's, as in Asio. The first use of that one makes
/// the pool, which may throw std::system_error.
inline beck::any_io_executor default_executor() {
  if (beck::detail::runner::current() != nullptr) {
    beck::any_io_executor here = beck::detail::ambient_scope().executor();
    if (here) return here;
  }
  return system_executor();
}

}  // namespace facade

/// Returns the executor of `handler`, or `fallback` if it has none. Without a fallback that is the
/// executor of the calling handler, and outside of every context the system's.
template <class T, class Fallback = facade::no_fallback>
  requires facade::of_the_facade<T>
auto get_associated_executor(const T& handler, const Fallback& fallback = Fallback()) {
  if constexpr (!std::is_same_v<Fallback, facade::no_fallback>) {
    return beck::get_associated_executor(handler, fallback);
  } else {
    auto found = beck::get_associated_executor(handler);
    if constexpr (std::is_same_v<decltype(found), beck::any_io_executor>) {
      if (!found) found = facade::default_executor();
    }
    return found;
  }
}

namespace facade {

/// Whether a program has specialised the trait: only a primary template names itself. A
/// specialisation that derives from another trait inherits that one's name.
template <class Trait>
concept specialised = !requires { requires std::is_same_v<typename Trait::primary, Trait>; };

}  // namespace facade

BECK_ASIO_END

namespace beck {

template <class T, class Fallback>
  requires BECK_ASIO::facade::specialised<BECK_ASIO::associated_executor<T, Fallback>>
struct associated_executor<T, Fallback> : BECK_ASIO::associated_executor<T, Fallback> {};
template <class T, class Fallback>
  requires BECK_ASIO::facade::specialised<BECK_ASIO::associated_immediate_executor<T, Fallback>>
struct associated_immediate_executor<T, Fallback>
    : BECK_ASIO::associated_immediate_executor<T, Fallback> {};
template <class T, class Fallback>
  requires BECK_ASIO::facade::specialised<BECK_ASIO::associated_allocator<T, Fallback>>
struct associated_allocator<T, Fallback> : BECK_ASIO::associated_allocator<T, Fallback> {};
template <class T, class Fallback>
  requires BECK_ASIO::facade::specialised<BECK_ASIO::associated_cancellation_slot<T, Fallback>>
struct associated_cancellation_slot<T, Fallback>
    : BECK_ASIO::associated_cancellation_slot<T, Fallback> {};

}  // namespace beck
