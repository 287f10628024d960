// SPDX-License-Identifier: BSL-1.0
// io_context: the loop that a program runs. It owns one driver (io_uring, epoll or the simulator),
// the timers, a mailbox and every descriptor of its I/O objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

#include <beck/base/duration.hpp>
#include <beck/detail/text_sink.hpp>
#include <beck/run/any_io_executor.hpp>
#include <beck/run/post.hpp>
#include <beck/run/work_guard.hpp>

namespace beck {

namespace detail {
class io_loop;
class op_engine;
class sim_host;
struct backend_selection;

}  // namespace detail

namespace testing {
struct context_seam;
namespace sim {
class host;
}
}  // namespace testing
namespace uring {
class ring_kernel;
}

/// Which driver a context uses.
enum class backend : unsigned char {
  automatic,  ///< io_uring where the kernel allows it, else epoll; BECK_BACKEND overrides it
  io_uring,
  epoll,
  sim,  ///< in memory, under virtual time: see <beck/testing/sim.hpp>
};

/// The name as BECK_BACKEND spells it.
const char* to_string(backend which) noexcept;

/// How a receive into a small buffer waits on io_uring, when it is not known that there is data.
enum class receive_arming : unsigned char {
  lazy,   ///< it goes to the kernel one turn later, behind the next sends
  eager,  ///< it goes to the kernel in the turn that starts it
  none,   ///< it waits for the descriptor's poll, as a receive into a large buffer does
};

namespace detail {

/// Parses "automatic", "io_uring", "epoll" or "sim". Throws system_error (invalid_argument) whose
/// message names the value and what is allowed.
backend parse_backend(text_view name);

}  // namespace detail

/// What a context has done since it was made. Counters only grow.
struct context_stats {
  std::uint64_t turns = 0;               ///< rounds of the loop
  std::uint64_t kernel_entries = 0;      ///< io_uring_enter or epoll_wait calls
  std::uint64_t entries_submitted = 0;   ///< ring entries handed to the kernel
  std::uint64_t completions = 0;         ///< completions or events taken from the kernel
  std::uint64_t hops = 0;                ///< queue entries run
  std::uint64_t delivered = 0;           ///< user handlers and resumptions among them
  std::uint64_t inline_completions = 0;  ///< operations that finished without suspending
  std::uint64_t budget_stops = 0;        ///< attempts refused because an entry had spent its budget
  std::uint64_t attempts = 0;            ///< direct system calls for operations
  std::uint64_t wrong_attempts = 0;      ///< those that gave EAGAIN
  std::uint64_t lazy_armed = 0;          ///< receives submitted one turn late
  std::uint64_t arming_stops = 0;        ///< sockets whose receives are no longer submitted early
  std::uint64_t leases = 0;              ///< buffers lent by async_receive()
  std::uint64_t lease_waits = 0;         ///< receives that found none
  std::uint64_t speculations = 0;        ///< reads attempted one turn late, without readiness
  std::uint64_t spins = 0;               ///< times it looked for work before it slept
  std::uint64_t spin_hits = 0;           ///< those that found some
  std::uint64_t wakeups = 0;             ///< times another thread woke the sleeping loop
  std::uint64_t mail = 0;                ///< entries that came through the mailbox
  std::uint64_t block_misses = 0;  ///< blocks that the general allocator had to give to this thread
  std::uint64_t retries = 0;       ///< refused submissions, busy rings, overflows, accept back-offs
  std::uint32_t depth_max = 0;     ///< deepest nesting of tasks started inline
  std::uint64_t outstanding = 0;   ///< operations in flight now
};

/// An event loop. Constructed without a number of threads it is exclusive: one thread at a time
/// runs it, any thread may post to it and start operations. Constructed for several it is shared:
/// handlers run on any of the threads inside run*, several at once, and only a strand keeps two of
/// them apart. An exclusive context is the fast form, and an io_pool of them the way to use many
/// cores; shared ones are for handlers that block or compute, and for programs that come from Asio.
///
/// Thread: run*, poll* by one thread at a time (threads may take turns; a second one at the same
/// moment gets std::logic_error); of a shared context by as many as it was made for, and one too
/// many waits for a place (poll* then gives 0). post, stop, get_executor and starting operations:
/// any thread.
/// Destruction: from any thread that does not run it, with operations in flight: they are cancelled
/// and reaped, their handlers are destroyed un-run, then the tasks that still live, newest first.
class io_context : public execution_context {
 public:
  /// What a context is made of; every setter returns the object.
  class options {
   public:
    options() noexcept {}
    options& backend(beck::backend which) noexcept {
      backend_ = which;
      return *this;
    }
    /// The seed of a private simulated world (backend::sim without a host).
    options& seed(std::uint64_t seed) noexcept {
      seed_ = seed;
      return *this;
    }
    /// How many threads may be inside run* and poll* at once: see io_context(int).
    options& threads(int most) noexcept {
      threads_ = most;
      return *this;
    }
    /// For measuring a mechanism against its absence (docs/mechanisms.md). The default is the fast
    /// one; other backends ignore it. No result of any operation depends on it.
    options& arming(receive_arming how) noexcept {
      arming_ = how;
      return *this;
    }
    /// For measuring, too. Off: a read that may find more data is tried at once, not one turn
    /// later; one that found none waits for an event.
    options& lazy_speculation(bool on) noexcept {
      speculation_ = on;
      return *this;
    }

    /// Lent by async_receive(): at most `most` of `bytes` bytes, each at least 1.
    options& lease_buffers(std::size_t most, std::size_t bytes) noexcept;
    /// Looks for so long before it sleeps, as long as that pays; off, and not in simulations.
    options& busy_poll(duration most) noexcept;

   private:
    friend class detail::io_loop;
    friend class detail::op_engine;
    friend struct detail::backend_selection;
    friend class io_context;
    friend struct testing::context_seam;
    friend class testing::sim::host;

    beck::backend backend_ = beck::backend::automatic;
    receive_arming arming_ = receive_arming::lazy;
    bool speculation_ = true;
    int threads_ = 1;
    std::uint64_t seed_ = 1;
    std::size_t lease_buffers_ = 512, lease_bytes_ = 4096;
    std::int64_t busy_poll_ns_ = 0;
    detail::sim_host* host_ = nullptr;
    uring::ring_kernel* kernel_ = nullptr;  // the library's tests put a scripted one below the ring
  };

  class executor_type {
   public:
    explicit executor_type(io_context& context) noexcept : context_(&context) {}

    io_context& context() const noexcept { return *context_; }
    bool running_in_this_thread() const noexcept {
      return any_io_executor(*this).running_in_this_thread();
    }
    void on_work_started() const noexcept { any_io_executor(*this).on_work_started(); }
    void on_work_finished() const noexcept { any_io_executor(*this).on_work_finished(); }
    template <class F>
    void execute(F&& function) const {
      any_io_executor(*this).execute(static_cast<F&&>(function));
    }

    const detail::executor_table* table() const noexcept { return context_->table_; }
    void* target() const noexcept { return context_->loop_; }
    friend bool operator==(const executor_type&, const executor_type&) noexcept = default;

   private:
    io_context* context_;
  };

  /// The most threads that a context can be made for.
  static constexpr int threads_max = 1024;

  /// Throws io_error if the backend that was asked for is refused (its message is the reason).
  io_context();
  /// For `threads` threads at once; 0 and 1 make an exclusive context. A shared one uses epoll, or
  /// in a simulated world virtual threads, which one real thread runs: if io_uring was asked for,
  /// an io_error says so (operation_not_supported). There a time limit of a coroutine allocates a
  /// block, and stops reach composed operations only on strands.
  /// Throws std::invalid_argument for less than 0 or more than `threads_max`.
  explicit io_context(int threads);
  io_context(const options& how);  // implicit: see options
  /// Cancels and reaps what is in flight, then destroys un-run handlers and, newest first, the
  /// tasks that live here. Thread: any that does not run it, and no other uses it. Requires: no
  /// task of it waits for an operation of an object on another context.
  ~io_context() override;

  executor_type get_executor() noexcept { return executor_type(*this); }

  /// Runs handlers until there is no outstanding work or stop() is called. Returns how many user
  /// handlers and resumptions ran. What a handler throws leaves run(); the queues stay intact.
  std::size_t run();
  /// At most one handler; blocks for it.
  std::size_t run_one();
  std::size_t run_for(duration time);
  std::size_t run_until(time_point deadline);
  std::size_t run_one_for(duration time);
  std::size_t run_one_until(time_point deadline);
  /// Runs what is ready, without blocking.
  std::size_t poll();
  std::size_t poll_one();

  /// Makes run* and poll* return as soon as the current handler has; idempotent. Any thread.
  void stop() noexcept;
  bool stopped() const noexcept;
  /// Allows run() again after stop() or after it ran out of work. Requires that nobody runs it.
  void restart() noexcept;

  /// Takes exceptions that escape detached tasks; by default the program ends with a message.
  /// Not while the context runs.
  void on_unhandled(void (*handler)(std::exception_ptr, void* data), void* data = nullptr) noexcept;
  /// Takes log lines (rare); by default stderr, of simulations nobody. Not while it runs.
  void on_log(void (*sink)(const char* line, void* data), void* data = nullptr) noexcept;

  /// The driver in use, and in words: which one, with which features, and why not a better one. The
  /// text lives as long as the context.
  backend backend_in_use() const noexcept;
  const char* backend_report() const noexcept;

  /// By the runner's thread, or while nobody runs the context.
  context_stats stats() const noexcept;

  /// Prints the tasks that live here, for people (the form may change): where each was spawned, the
  /// co_awaits in which it stands, what it waits for and since when. Tasks that stand at the same
  /// places are counted together; the largest `groups_max` groups are printed (at most 384 are told
  /// apart). `out` is a file descriptor, a std::string, a std::ostream, or is called with pieces of
  /// text; it must not use the context, and what it throws is dropped.
  /// Thread: any. While another thread runs the context, that one prints, between two handlers, and
  /// the caller waits for it; so not with a lock that a handler may wait for. Simulated contexts:
  /// only the thread that runs them.
  /// Not listed: handlers without a task, and tasks that live on a thread_pool or a user's
  /// executor, or are on their way here from other threads or strands and have not begun.
  void dump(detail::text_sink out, std::size_t groups_max = dump_groups) const;
  static constexpr std::size_t dump_groups = 50;

 private:
  friend class detail::io_loop;
  static const detail::executor_table loop_table;
  static const detail::executor_table shared_loop_table;

  detail::io_loop* loop_;
  const detail::executor_table* table_;
};

}  // namespace beck
