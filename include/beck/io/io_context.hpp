// SPDX-License-Identifier: BSL-1.0
// io_context: the loop that a program runs. It owns one driver (io_uring, epoll or the simulator),
// the timers, a mailbox and every descriptor of its I/O objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string_view>
#include <type_traits>

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

/// Returns the name of `which` as BECK_BACKEND spells it.
const char* to_string(backend which) noexcept;

namespace detail {

/// Parses "automatic", "io_uring", "epoll" or "sim". Throws system_error (invalid_argument) whose
/// message names the value and what is allowed.
backend parse_backend(std::string_view name);

}  // namespace detail

/// Counters of a context since it was made. They only grow.
struct context_stats {
  std::uint64_t iterations = 0;          ///< iterations of the loop
  std::uint64_t kernel_entries = 0;      ///< io_uring_enter or epoll_wait calls
  std::uint64_t entries_submitted = 0;   ///< ring entries handed to the kernel
  std::uint64_t completions = 0;         ///< completions or events taken from the kernel
  std::uint64_t entries_run = 0;         ///< queue entries run
  std::uint64_t delivered = 0;           ///< user handlers and resumptions among them
  std::uint64_t inline_completions = 0;  ///< operations that finished without suspending
  std::uint64_t budget_stops = 0;        ///< attempts refused because an entry had spent its budget
  std::uint64_t attempts = 0;            ///< direct system calls for operations
  std::uint64_t wrong_attempts = 0;      ///< those that ended with EAGAIN
  std::uint64_t lazy_armed = 0;          ///< receives submitted one turn late
  std::uint64_t arming_stops = 0;        ///< sockets whose receives are no longer submitted early
  std::uint64_t sends_batched = 0;       ///< sends that have waited for others
  std::uint64_t leases = 0;              ///< buffers lent by async_receive()
  std::uint64_t lease_waits = 0;         ///< receives that found no free buffer
  std::uint64_t speculations = 0;        ///< reads attempted one turn late, without readiness
  std::uint64_t spins = 0;               ///< busy polls before the loop slept
  std::uint64_t spin_hits = 0;           ///< busy polls that found work
  std::uint64_t wakeups = 0;             ///< times another thread woke the sleeping loop
  std::uint64_t mail = 0;                ///< entries that came through the mailbox
  std::uint64_t block_misses = 0;  ///< blocks of this thread that came from the general allocator
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
/// Thread: run*, poll*: any. While one thread runs an exclusive context, others wait in run* until
/// it has left, the context is stopped or their time has passed; poll* returns 0. So a handler must
/// not wait for another handler. A second thread of a simulated context gets std::logic_error. On a
/// shared context as many threads run handlers as it was made for; one more waits for a place (in
/// poll* it returns 0). post, stop, get_executor and starting operations: any
/// thread.
/// Destruction: by any thread that does not run the context. Operations in flight are cancelled and
/// reaped, their handlers are destroyed un-run, then the tasks that still live, newest first.
/// Log: a line if run() ends, or the context is destroyed, with suspended tasks that wait for
/// nothing that the context knows of (docs/observability.md).
class io_context : public execution_context {
 public:
  class strand;  ///< Asio's older form of a strand, which the facade of Asio defines
  /// How a receive into a small buffer waits on io_uring, when it is not known that there is data.
  enum class receive_arming : unsigned char {
    lazy,   ///< it goes to the kernel one turn later, behind the next sends
    eager,  ///< it goes to the kernel in the turn that starts it
    none,   ///< it waits for the descriptor's poll, as a receive into a large buffer does
  };

  /// The settings of a context: `io_context ctx({.backend = backend::epoll, .threads = 2})`.
  struct options {
    /// The driver.
    beck::backend backend = beck::backend::automatic;
    /// The seed of a private simulated world (backend::sim without a host).
    std::uint64_t seed = 1;
    /// How many threads may be inside run* and poll* at once: see io_context(int).
    int threads = 1;
    /// How receives wait on io_uring; other backends ignore it. For measuring a mechanism against
    /// its absence (docs/mechanisms.md): no result of any operation depends on it.
    receive_arming arming = receive_arming::lazy;
    /// Whether sends of up to 4 KiB may wait for others on io_uring while many sockets are busy: at
    /// most for the handlers that are ready, and for any call of the library that could depend on
    /// them (docs/mechanisms.md). With false each is sent at once, also by a handler that then
    /// blocks until the peer has acted on it.
    bool batched_sends = true;
    /// Whether a read that may find more data is attempted one turn later instead of at once. With
    /// false, a read that found no data waits for an event. For measuring, too.
    bool lazy_speculation = true;
    /// The pool of buffers that async_receive() lends: at most lease_count buffers of lease_bytes
    /// bytes each; 0 counts as 1.
    std::size_t lease_count = 512, lease_bytes = 4096;
    /// How long the loop busy-polls before it sleeps; it backs off while that finds nothing.
    /// Ignored in simulations. Negative counts as 0, off.
    duration busy_poll = {};
    detail::sim_host* host = nullptr;      ///< set by testing::sim::host::options() only
    uring::ring_kernel* kernel = nullptr;  ///< for tests of the library: the kernel below the ring
  };

  /// The executor of a context: one pointer, valid as long as the context. Thread: any.
  class executor_type : public detail::queueing_members<executor_type> {
   public:
    /// Refers to `context`.
    explicit executor_type(io_context& context) noexcept : context_(&context) {}

    /// Returns the context.
    io_context& context() const noexcept { return *context_; }
    /// Returns whether the calling thread is inside a handler of the context.
    bool running_in_this_thread() const noexcept {
      return any_io_executor(*this).running_in_this_thread();
    }
    /// Adds one unit of outstanding work: run() does not return until it is taken away.
    void on_work_started() const noexcept { any_io_executor(*this).on_work_started(); }
    /// Takes one unit of outstanding work away.
    void on_work_finished() const noexcept { any_io_executor(*this).on_work_finished(); }
    /// Runs `function` inside this call if the caller is inside the context, else queues it. Throws
    /// std::bad_alloc.
    template <class F>
    void execute(F&& function) const {
      any_io_executor(*this).execute(static_cast<F&&>(function));
    }

    /// Returns the functions of the executor, for any_io_executor.
    const detail::executor_table* table() const noexcept { return context_->table_; }
    /// Returns the object of table()'s functions.
    void* target() const noexcept { return context_->loop_; }
    friend bool operator==(const executor_type&, const executor_type&) noexcept = default;

   private:
    io_context* context_;
  };

  /// The most threads that a context can be made for.
  static constexpr int threads_max = 1024;

  /// Makes an exclusive context with the default options. Throws io_error if the requested backend
  /// is refused (its message is the reason), and std::system_error (invalid_argument) if
  /// BECK_BACKEND names no backend.
  io_context();
  /// Makes a context for `threads` threads at once; 0 and 1 make an exclusive one. A shared context
  /// uses epoll, or, in a simulated world, virtual threads that one real thread runs. On a shared
  /// context a time limit of a coroutine allocates a block, and stops reach composed operations
  /// only on strands.
  /// Throws std::invalid_argument if `threads` is less than 0 or more than `threads_max`; io_error
  /// (operation_not_supported) if io_uring was requested for more than one thread; else as
  /// io_context().
  explicit io_context(int threads);
  /// Makes a context with these options. Throws as io_context(int).
  io_context(const options& how);  // implicit: see options
  /// Cancels and reaps operations in flight, then destroys un-run handlers and, newest first, the
  /// tasks that live here. Requires: no thread runs or uses the context, and no task of it waits
  /// for an operation of an object on another context.
  ~io_context() override;

  /// Returns the executor of the context. Thread: any.
  executor_type get_executor() noexcept { return executor_type(*this); }

  /// Runs handlers until there is no outstanding work or stop() is called. Returns the number of
  /// user handlers and resumptions that ran. An exception that a handler throws leaves run(); the
  /// queues stay intact, and run() may be called again.
  std::size_t run();
  /// Runs at most one handler; blocks until there is one. Returns 0 or 1.
  std::size_t run_one();
  /// As run(), for at most `time`.
  std::size_t run_for(duration time);
  /// As run(), at most until `deadline`. If it has passed, as poll().
  std::size_t run_until(time_point deadline);
  /// As run_one(), for at most `time`.
  std::size_t run_one_for(duration time);
  /// As run_one(), at most until `deadline`.
  std::size_t run_one_until(time_point deadline);
  /// Runs the handlers that are ready, and those that become so meanwhile, without blocking: does
  /// not return while each makes another one ready. Returns their number.
  std::size_t poll();
  /// Runs at most one handler that is ready, without blocking. Returns 0 or 1.
  std::size_t poll_one();

  /// Makes run* and poll* return as soon as the current handler has returned. Idempotent. Thread:
  /// any.
  void stop() noexcept;
  /// Returns whether stop() was called, or run* or poll* has run out of work, and restart() was not
  /// called since.
  bool stopped() const noexcept;
  /// Allows run() again after stop() or after it ran out of work. Requires that no thread runs the
  /// context.
  void restart() noexcept;

  /// Sets the function that takes exceptions that escape detached tasks; by default the program
  /// ends with a message. Requires that no thread runs the context.
  void on_unhandled(void (*handler)(std::exception_ptr, void* data), void* data = nullptr) noexcept;
  /// Sets the function that takes log lines (rare); by default they go to stderr, those of
  /// simulations nowhere. Requires that no thread runs the context.
  void on_log(void (*sink)(const char* line, void* data), void* data = nullptr) noexcept;

  /// Returns the driver in use; never backend::automatic.
  backend backend_in_use() const noexcept;
  /// Returns in words which driver is in use, with which features, and why not a better one. The
  /// text lives as long as the context.
  const char* backend_report() const noexcept;

  /// Returns the counters. Thread: the runner's, or any while no thread runs the context.
  context_stats stats() const noexcept;

  /// Prints the tasks that live here, for people (the form may change): where each was spawned, its
  /// co_await expressions, the operation that it waits for and since when. Tasks at the same
  /// places form one group; the largest `groups_max` groups are printed (at most 384 are told
  /// apart). `out` is a file descriptor, a std::string, a std::ostream, or is called with pieces of
  /// text; it must not use the context, and its exceptions are dropped.
  /// Thread: any. While another thread runs the context, that thread prints between two handlers
  /// and the caller waits; so do not call it with a lock that a handler may wait for. Simulated
  /// contexts: only the thread that runs them.
  /// Not listed: handlers without a task, and tasks that live on a thread_pool or a user's
  /// executor, and tasks on their way here from other threads or strands that have not begun.
  void dump(detail::text_sink out, std::size_t groups_max = dump_groups) const;
  /// The groups that dump() prints by default.
  static constexpr std::size_t dump_groups = 50;

 private:
  friend class detail::io_loop;
  static const detail::executor_table loop_table;
  static const detail::executor_table shared_loop_table;

  detail::io_loop* loop_;
  const detail::executor_table* table_;
};
static_assert(std::is_trivially_destructible_v<io_context::options>);

namespace detail {
/// Makes contexts that are destroyed before their objects keep memory and descriptors until the
/// program ends, where they would end it with a message. Returns true. Thread: any.
bool let_objects_outlive_contexts() noexcept;
/// Makes contexts for several threads that BECK_BACKEND puts on io_uring exclusive ones, whose
/// threads take turns, where they would be refused. Returns true. Thread: any.
bool let_threads_take_turns() noexcept;
}  // namespace detail

}  // namespace beck
