// SPDX-License-Identifier: BSL-1.0
// Executors, and the functions that run work on them.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include <beck/asio/associated.hpp>
#include <beck/asio/async_result.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/error.hpp>
#include <beck/asio/property.hpp>
#include <beck/run/any_io_executor.hpp>
#include <beck/run/post.hpp>
#include <beck/run/strand.hpp>
#include <beck/run/work_guard.hpp>

BECK_ASIO_BEGIN

/// Asio's name for the executor of a handler that is hidden behind a function.
using any_completion_executor = beck::any_io_executor;
/// Asio's name, of before 1.17, for the executor of objects.
using executor = beck::any_io_executor;

using beck::any_io_executor;
using beck::defer;
using beck::dispatch;
using beck::execution_context;
using beck::executor_work_guard;
using beck::make_strand;
using beck::post;
using beck::strand;

namespace facade {

/// Returns the executor of a token that is passed without a place: its own, else the default.
template <class T>
any_io_executor executor_of_token(const T& token) {
  const any_io_executor own(beck::get_associated_executor(token));
  return own ? own : facade::default_executor();
}

}  // namespace facade

/// Queues a function on its associated executor, by default that of the calling handler, and
/// outside of every context the system's. Tokens likewise.
template <beck::detail::token_without_place T>
  requires facade::of_the_facade<T>
auto post(T&& token) {
  return beck::post(facade::executor_of_token(token), static_cast<T&&>(token));
}
/// As post().
template <beck::detail::token_without_place T>
  requires facade::of_the_facade<T>
auto defer(T&& token) {
  return beck::defer(facade::executor_of_token(token), static_cast<T&&>(token));
}
/// As post(), but calls the function at once if the caller is inside its executor, or outside of
/// every context if it has none.
template <beck::detail::token_without_place T>
  requires facade::of_the_facade<T>
auto dispatch(T&& token) {
  return beck::dispatch(facade::executor_of_token(token), static_cast<T&&>(token));
}
/// Returns a guard of an executor, of the executor of a context, or of that of a handler: see
/// get_associated_executor().
template <class T>
auto make_work_guard(T&& object) {
  using type = std::remove_reference_t<T>;
  if constexpr (beck::detail::executor_like<type> || beck::detail::has_executor<type>) {
    return beck::make_work_guard(object);
  } else {
    return beck::make_work_guard(BECK_ASIO::get_associated_executor(object));
  }
}
/// Returns a guard of the executor of a handler, or of the fallback if it has none.
template <class T, class Fallback>
auto make_work_guard(const T& handler, Fallback&& fallback) {
  return beck::make_work_guard(handler, static_cast<Fallback&&>(fallback));
}

namespace facade {

/// The signature of a handler that takes the result of a function.
template <class Result>
struct result_signature {
  using type = void(Result);
};
template <>
struct result_signature<void> {
  using type = void();
};

/// A handler and its result, for the executor of the handler.
template <class Handler, class... Results>
class handler_call {
 public:
  handler_call(Handler&& handler, Results&&... results)
      : handler_(static_cast<Handler&&>(handler)), results_(static_cast<Results&&>(results)...) {}
  const Handler& wrapped_handler() const noexcept { return handler_; }
  void operator()() {
    std::apply(static_cast<Handler&&>(handler_), static_cast<std::tuple<Results...>&&>(results_));
  }

 private:
  Handler handler_;
  std::tuple<Results...> results_;
};

/// Calls a function where it was submitted, and then the handler with its result, on the executor
/// of the handler, which is outstanding work until then.
template <class Function, class Handler>
class function_then {
 public:
  function_then(Function&& function, Handler&& handler, const any_io_executor& where)
      : function_(static_cast<Function&&>(function)),
        handler_(static_cast<Handler&&>(handler)),
        work_(beck::get_associated_executor(handler_, where)) {}
  void operator()() {
    using result = std::invoke_result_t<Function>;
    if constexpr (std::is_void_v<result>) {
      static_cast<Function&&>(function_)();
      pass_on<>();
    } else {
      pass_on<result>(static_cast<Function&&>(function_)());
    }
  }

 private:
  template <class... Results>
  void pass_on(Results&&... results) {
    beck::dispatch(work_.get_executor(),
                   handler_call<Handler, Results...>(static_cast<Handler&&>(handler_),
                                                     static_cast<Results&&>(results)...));
  }

  Function function_;
  Handler handler_;
  beck::executor_work_guard<any_io_executor> work_;
};

/// The initiation of a call of a function, which has its executor for tokens that ask.
template <class Submit>
class function_initiation {
 public:
  function_initiation(any_io_executor where, Submit submit)
      : where_(std::move(where)), submit_(submit) {}
  const any_io_executor& get_executor() const noexcept { return where_; }
  template <class Handler, class Callable>
  void operator()(Handler&& handler, Callable call) const {
    using handler_type = std::decay_t<Handler>;
    submit_(where_, function_then<Callable, handler_type>(
                        static_cast<Callable&&>(call),
                        handler_type(static_cast<Handler&&>(handler)), where_));
  }

 private:
  any_io_executor where_;
  Submit submit_;
};

/// A call of a function on an executor, and of a handler with its result there, or on the
/// executor of the handler. `Submit`: post, dispatch or defer.
template <class Function, class Where, class Token, class Submit>
auto submit_function(Function&& function, Where&& where, Token&& token, Submit submit) {
  using callable = std::decay_t<Function>;
  using signature = typename result_signature<std::invoke_result_t<callable>>::type;
  return beck::async_initiate<Token, signature>(
      function_initiation<Submit>(beck::detail::executor_at(where), submit), token,
      callable(static_cast<Function&&>(function)));
}

/// A function, and a place to call it: no pair of a place and a token is one.
template <class Function, class Where>
concept function_for = !beck::detail::executor_like<std::decay_t<Function>> &&
                       std::is_invocable_v<std::decay_t<Function>> &&
                       (beck::detail::executor_like<std::decay_t<Where>> ||
                        beck::detail::has_executor<std::remove_reference_t<Where>>);

}  // namespace facade

/// Queues `function` on `where`, an executor or a context. `token` takes its result.
template <class Function, class Where, class Token = beck::deferred_t>
  requires facade::function_for<Function, Where>
auto post(Function&& function, Where&& where, Token&& token = Token()) {
  return facade::submit_function(static_cast<Function&&>(function), where, token,
                                 [](const auto& at, auto&& f) { beck::post(at, std::move(f)); });
}
/// As above, and calls it at once if the caller is on `where`.
template <class Function, class Where, class Token = beck::deferred_t>
  requires facade::function_for<Function, Where>
auto dispatch(Function&& function, Where&& where, Token&& token = Token()) {
  return facade::submit_function(
      static_cast<Function&&>(function), where, token,
      [](const auto& at, auto&& f) { beck::dispatch(at, std::move(f)); });
}
/// As post(), as a continuation of the caller.
template <class Function, class Where, class Token = beck::deferred_t>
  requires facade::function_for<Function, Where>
auto defer(Function&& function, Where&& where, Token&& token = Token()) {
  return facade::submit_function(static_cast<Function&&>(function), where, token,
                                 [](const auto& at, auto&& f) { beck::defer(at, std::move(f)); });
}

BECK_ASIO_END
