// SPDX-License-Identifier: BSL-1.0
// executor_work_guard: keeps run() from returning while code outside of the context is still going
// to post work to it.
#pragma once

#include <beck/run/post.hpp>

namespace beck {

/// Counts as outstanding work of its executor from construction to reset() or destruction. An empty
/// any_io_executor has no work to count.
/// Thread: one object from one thread at a time; the context may run elsewhere meanwhile.
template <class Executor = any_io_executor>
class executor_work_guard {
 public:
  /// The type of the executor.
  using executor_type = Executor;

  /// Adds one unit of outstanding work to `executor`.
  explicit executor_work_guard(const Executor& executor) noexcept
      : executor_(executor), owns_(true) {
    start();
  }
  executor_work_guard(const executor_work_guard& other) noexcept
      : executor_(other.executor_), owns_(other.owns_) {
    if (owns_) start();
  }
  executor_work_guard(executor_work_guard&& other) noexcept
      : executor_(other.executor_), owns_(std::exchange(other.owns_, false)) {}
  executor_work_guard& operator=(const executor_work_guard&) = delete;
  ~executor_work_guard() { reset(); }

  /// Returns the executor.
  Executor get_executor() const noexcept { return executor_; }
  /// Returns whether reset() has not been called.
  bool owns_work() const noexcept { return owns_; }

  /// Removes the unit of work; the context may then run out of work. Idempotent.
  void reset() noexcept {
    if (!std::exchange(owns_, false)) return;
    if (const any_io_executor counted(executor_); counted) counted.on_work_finished();
  }

 private:
  void start() const noexcept {
    if (const any_io_executor counted(executor_); counted) counted.on_work_started();
  }

  Executor executor_;
  bool owns_;
};

/// Returns a guard of an executor.
template <detail::executor_like E>
executor_work_guard<E> make_work_guard(const E& executor) {
  return executor_work_guard<E>(executor);
}
/// Returns a guard of the executor of a context, an I/O object or a handler that has one.
template <detail::has_executor C>
auto make_work_guard(C& context) {
  return executor_work_guard<decltype(context.get_executor())>(context.get_executor());
}

/// Returns a guard of the associated executor of a handler. If it has none, guards nothing.
template <class T>
  requires(!detail::executor_like<T> && !detail::has_executor<T>)
executor_work_guard<associated_executor_t<T>> make_work_guard(const T& handler) {
  return executor_work_guard<associated_executor_t<T>>(beck::get_associated_executor(handler));
}
/// Returns a guard of the associated executor of a handler, or of `fallback` if it has none.
template <class T, detail::executor_like E>
auto make_work_guard(const T& handler, const E& fallback) {
  return executor_work_guard<associated_executor_t<T, E>>(
      beck::get_associated_executor(handler, fallback));
}
/// As above, with the executor of `context` as the fallback.
template <class T, detail::has_executor C>
  requires(!detail::executor_like<C>)
auto make_work_guard(const T& handler, C& context) {
  return beck::make_work_guard(handler, context.get_executor());
}

}  // namespace beck
