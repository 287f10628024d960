// SPDX-License-Identifier: BSL-1.0
// The deferred and use_awaitable tokens for operations that users start with async_initiate. The
// result is stored in the awaiting frame; nothing is allocated for it.
#pragma once

#include <beck/detail/deferred_init.hpp>
#include <beck/detail/functions.hpp>
#include <beck/detail/launch.hpp>
#include <beck/detail/result_slot.hpp>
#include <beck/run/async_result.hpp>

namespace beck {

namespace detail {

/// The result of the deferred token for a generic operation: does nothing until it is awaited or
/// called with a token, at most once. Effectively move-only.
template <class Signature, class Launch>
class deferred_operation;

template <class... A, class Launch>
class [[nodiscard]] deferred_operation<void(A...), Launch> {
 public:
  using signature = void(A...);
  static constexpr bool has_plain_result = !is_io_result<awaited_result_t<A...>>;

  explicit deferred_operation(Launch launch) : launch_(static_cast<Launch&&>(launch)) {}

  /// Starts the operation with another token.
  template <class Token>
  auto operator()(Token&& token) && {
    return beck::async_initiate<Token, signature>(static_cast<Launch&&>(launch_), token);
  }
  /// Returns the kept initiation, for operations that contain this one.
  Launch& initiation() noexcept { return launch_; }
  const Launch& initiation() const noexcept { return launch_; }

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine,
                     std::source_location at = std::source_location::current()) {
    return suspend_in(coroutine, detail::scope_of(coroutine, at));
  }
  bool suspend_in(continuation coroutine, scope& environment) {
    return slot_.emplace().suspend(coroutine, environment, static_cast<Launch&&>(launch_));
  }
  auto await_resume() { return slot_->take(); }

 private:
  Launch launch_;
  deferred_init<awaiting_slot<A...>> slot_;
};

/// An operation whose co_await, unless it throws, returns the delivered object, also if that
/// contains an error. (In g++ 14 a requirement that names an alias of a function is not satisfied.)
template <class Op>
concept delivers_value = requires { requires Op::has_plain_result; };

/// An initiation, and a call that passes a handler and kept arguments to it.
template <class Initiation, class Call>
class kept_initiation {
 public:
  template <class I>
  kept_initiation(I&& initiation, Call&& call)
      : call_(static_cast<Call&&>(call)), initiation_(static_cast<I&&>(initiation)) {}

  auto get_executor() const
    requires requires(const Initiation& i) { i.get_executor(); }
  {
    return initiation_.get_executor();
  }
  template <class Handler>
  auto operator()(Handler&& handler) {
    return call_(static_cast<Initiation&&>(initiation_), static_cast<Handler&&>(handler));
  }

 protected:
  [[no_unique_address]] mutable Call call_;  // a call moves its arguments, a question does not

 private:
  [[no_unique_address]] Initiation initiation_;
};

/// Asks the call of a kept initiation for the executor of an I/O object among its arguments.
struct executor_question {};

/// As above, for a call that has an I/O object among its arguments.
template <class Initiation, class Call>
class placed_initiation : public kept_initiation<Initiation, Call> {
 public:
  using kept_initiation<Initiation, Call>::kept_initiation;

  any_io_executor get_executor() const { return this->call_(executor_question()); }
};

/// An I/O object, or a reference or pointer to one.
template <class T>
concept object_with_executor = requires(const T& t) { any_io_executor(t.get_executor()); };
template <class T>
concept reference_to_object = requires(const T& t) {
  requires object_with_executor<std::remove_cvref_t<decltype(t.get())>>;
  requires std::is_lvalue_reference_v<decltype(t.get())>;
};
template <class T>
concept pointer_to_object =
    requires(const T& t) { requires object_with_executor<std::remove_cvref_t<decltype(*t)>>; };
template <class T>
concept argument_with_executor =
    object_with_executor<T> || reference_to_object<T> || pointer_to_object<T>;

namespace functions {

/// Returns the executor of the first I/O object among the arguments; an empty one if there is none.
inline any_io_executor executor_of_arguments() noexcept { return any_io_executor(); }
template <class First, class... More>
any_io_executor executor_of_arguments(const First& first, const More&... more) {
  if constexpr (object_with_executor<First>) {
    return any_io_executor(first.get_executor());
  } else if constexpr (reference_to_object<First>) {
    return any_io_executor(first.get().get_executor());
  } else if constexpr (pointer_to_object<First>) {
    if (first != nullptr) return any_io_executor(first->get_executor());
  }
  return functions::executor_of_arguments(more...);
}

template <class Signature, class Initiation, class... Args>
auto make_deferred(Initiation&& initiation, Args&&... args) {
  using start_type = std::decay_t<Initiation>;
  auto call = [... kept = std::decay_t<Args>(static_cast<Args&&>(args))](
                  auto&& start, auto&&... handler) mutable {
    if constexpr (sizeof...(handler) == 0) {  // an executor_question
      return functions::executor_of_arguments(kept...);
    } else {
      return static_cast<start_type&&>(start)(static_cast<decltype(handler)&&>(handler)...,
                                              static_cast<std::decay_t<Args>&&>(kept)...);
    }
  };
  constexpr bool is_placed = !requires(const start_type& i) { i.get_executor(); } &&
                             (argument_with_executor<std::decay_t<Args>> || ...);
  using launch = std::conditional_t<is_placed, placed_initiation<start_type, decltype(call)>,
                                    kept_initiation<start_type, decltype(call)>>;
  return deferred_operation<Signature, launch>(
      launch(static_cast<Initiation&&>(initiation), static_cast<decltype(call)&&>(call)));
}

}  // namespace functions

/// An initiation that has its operation as an object: awaiting it needs no handler.
template <class Initiation>
concept gives_operation = requires(Initiation&& i) { static_cast<Initiation&&>(i).operation(); };

}  // namespace detail

template <class Signature>
class async_result<deferred_t, Signature> {
 public:
  /// Returns the operation, which starts when it is awaited or called with a token.
  template <class Initiation, class Tok, class... Args>
  static auto initiate(Initiation&& initiation, Tok&&, Args&&... args) {
    if constexpr (detail::gives_operation<std::decay_t<Initiation>>) {
      return static_cast<std::decay_t<Initiation>&&>(initiation).operation();
    } else {
      return detail::make_deferred<Signature>(static_cast<Initiation&&>(initiation),
                                              static_cast<Args&&>(args)...);
    }
  }
};
template <class Executor, class Signature>
class async_result<use_awaitable_t<Executor>, Signature> {
 public:
  /// Returns the operation, whose awaited result is the value or an exception.
  template <class Initiation, class Tok, class... Args>
  static auto initiate(Initiation&& initiation, Tok&&, Args&&... args) {
    auto operation = async_result<deferred_t, Signature>::initiate(
        static_cast<Initiation&&>(initiation), deferred, static_cast<Args&&>(args)...);
    using plain = decltype(operation);
    if constexpr (detail::delivers_value<plain>) {
      return operation;
    } else {
      return detail::throwing_operation<plain>(static_cast<plain&&>(operation));
    }
  }
};

}  // namespace beck
