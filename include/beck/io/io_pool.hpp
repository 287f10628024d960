// SPDX-License-Identifier: BSL-1.0
// io_pool: the way to use many cores. One io_context for each thread, nothing shared between them;
// sockets and tasks are handed round, and stay where they are.
#pragma once

#include <cstddef>

#include <beck/io/io_context.hpp>

namespace beck {

namespace detail {
class io_pool_state;

}  // namespace detail

/// Exclusive contexts, each on a thread that the pool makes. Each is made, run and destroyed on its
/// thread, so an object or a task of one of them needs no lock against itself.
///
/// Handing round: `tcp::socket socket(pool.next())`, `co_spawn(pool, ...)` and `post(pool, ...)`
/// take the next context each time. Listeners: one acceptor on each context with reuse_port, which
/// the kernel chooses among, or one acceptor that accepts into sockets of next().
/// An exception that leaves a handler goes to on_unhandled(), by default the program ends with a
/// message; the context goes on.
/// Thread: any, but the destructor and join() need one that is not of the pool. Requires: nobody
/// runs or stops a context of the pool by itself.
class io_pool {
 public:
  /// As many contexts as the machine runs threads at once.
  io_pool();
  /// At least one context. Throws what making a context or a thread throws, and
  /// std::invalid_argument for none and for simulated ones: a simulation has one thread.
  explicit io_pool(std::size_t contexts, const io_context::options& how = io_context::options());
  /// stop(); then what is left is destroyed: handlers un-run, then tasks, on all contexts before
  /// the first of them goes, because a handler of one may hold an object of another.
  ~io_pool();
  io_pool(const io_pool&) = delete;
  io_pool& operator=(const io_pool&) = delete;

  std::size_t size() const noexcept;
  /// Requires index < size().
  io_context& at(std::size_t index) noexcept;
  /// Another context each time, in turn.
  io_context& next() noexcept;
  io_context::executor_type get_executor() noexcept { return next().get_executor(); }

  /// Makes every context leave after the handler that it runs. Idempotent.
  void stop() noexcept;
  /// Waits until no context has outstanding work, whatever they hand to one another, or stop().
  /// After it nothing runs any more, and stats() of a context may be read.
  void join();

  /// As io_context's, for all of them. Before the first work is given.
  void on_unhandled(void (*handler)(std::exception_ptr, void* data), void* data = nullptr) noexcept;

 private:
  detail::io_pool_state* state_;
};

}  // namespace beck
