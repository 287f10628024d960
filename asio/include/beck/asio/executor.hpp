// SPDX-License-Identifier: BSL-1.0
// Executors, and the functions that run work on them.
#pragma once

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
  if constexpr (beck::detail::has_associated_executor<T>) {
    return any_io_executor(beck::get_associated_executor(token));
  } else {
    return facade::default_executor();
  }
}
/// Whether a function without an executor may be called at once by dispatch(): outside of every
/// context the system's executor runs it on the calling thread, as in Asio.
template <class T>
bool runs_at_once() {
  return beck::detail::plain_handler<T, void()> && !beck::detail::has_associated_executor<T> &&
         beck::detail::runner::current() == nullptr;
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
  if constexpr (beck::detail::plain_handler<std::decay_t<T>, void()>) {
    if (facade::runs_at_once<std::decay_t<T>>()) {
      static_cast<void>(static_cast<T&&>(token)());
      return;
    }
  }
  return beck::dispatch(facade::executor_of_token(token), static_cast<T&&>(token));
}
/// Calls a function at once, as Asio's system_executor does on any thread. Tokens as
/// dispatch(token).
template <beck::detail::execution_place E, beck::detail::nullary_token T>
  requires facade::of_the_facade<T> && std::is_same_v<std::remove_cvref_t<E>, beck::system_executor>
auto dispatch(E&& where, T&& token) {
  if constexpr (beck::detail::plain_handler<std::decay_t<T>, void()>) {
    static_cast<void>(static_cast<T&&>(token)());
  } else {
    return beck::dispatch(where, static_cast<T&&>(token));
  }
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

BECK_ASIO_END
