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
