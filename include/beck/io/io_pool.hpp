// SPDX-License-Identifier: BSL-1.0
// io_pool: the way to use many cores. One io_context for each thread, nothing shared between them;
// sockets and tasks are distributed over them, and stay where they are.
#pragma once

#include <cstddef>

#include <beck/io/io_context.hpp>

namespace beck {

namespace detail {
class io_pool_state;

}  // namespace detail

/// Exclusive contexts, each on a thread that the pool makes. Each is made, run and destroyed on its
/// thread, so an object or a task of a context needs no lock against itself.
///
/// Distribution: `tcp::socket socket(pool.next())`, `co_spawn(pool, ...)` and `post(pool, ...)`
/// take the next context each time. Listeners: one acceptor on each context with reuse_port, which
/// the kernel chooses among, or one acceptor that accepts into sockets of next().
/// An exception that leaves a handler goes to on_unhandled(), by default the program ends with a
/// message; the context goes on.
/// Thread: any; the destructor and join() only threads that are not of the pool. Requires: the
/// program itself neither runs nor stops a context of the pool.
class io_pool {
 public:
  /// Makes as many contexts as the machine runs threads at once.
  io_pool();
  /// Makes `contexts` contexts with these options. Throws std::invalid_argument if `contexts` is 0
  /// or the options mean a simulation, which has one thread; and what making a context or a thread
  /// throws.
  explicit io_pool(std::size_t contexts, const io_context::options& how = {});
  /// Calls stop(), then destroys handlers un-run, then tasks, on all contexts before the first of
  /// them goes, because a handler of one may hold an object of another.
  ~io_pool();
  io_pool(const io_pool&) = delete;
  io_pool& operator=(const io_pool&) = delete;

  /// Returns the number of contexts.
  std::size_t size() const noexcept;
  /// Returns a context. Requires index < size(), asserted.
  io_context& at(std::size_t index) noexcept;
  /// Returns another context each time, in turn.
  io_context& next() noexcept;
  /// Returns the executor of next().
  io_context::executor_type get_executor() noexcept { return next().get_executor(); }

  /// Makes every context leave after the handler that it runs. Idempotent.
  void stop() noexcept;
  /// Blocks until no context has outstanding work, whatever they post to one another, or until
  /// stop(). Afterwards no context runs any more, and stats() of each may be read.
  void join();

  /// Sets io_context::on_unhandled() of all contexts. Requires that the pool has not got any work
  /// yet.
  void on_unhandled(void (*handler)(std::exception_ptr, void* data), void* data = nullptr) noexcept;

 private:
  detail::io_pool_state* state_;
};

}  // namespace beck
