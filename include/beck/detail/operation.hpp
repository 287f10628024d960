// SPDX-License-Identifier: BSL-1.0
// The operation: plain data that describes one asynchronous request, is queued through itself and
// receives its own result. It is stored in its waiter, the coroutine frame or the callback's block,
// and does not move while it is in flight. Drivers know nothing else.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>

#include <beck/base/io_result.hpp>
#include <beck/detail/opaque_value.hpp>
#include <beck/detail/queue_entry.hpp>
#include <beck/detail/scope.hpp>

namespace beck::detail {

struct descriptor;
struct timer_state;

/// The kind of request. Drivers switch over it without a default.
enum class op_kind : std::uint8_t {
  receive,          ///< recv(2) into one buffer
  send,             ///< send(2) from one buffer
  receive_vector,   ///< recvmsg(2) into an array of buffers
  receive_lease,    ///< recv(2) into a buffer that the loop lends
  send_vector,      ///< sendmsg(2) from an array of buffers
  receive_message,  ///< recvmsg(2) of a datagram, or recvmmsg(2) of several
  send_message,     ///< sendmsg(2) of a datagram, or sendmmsg(2) of several
  accept,           ///< accept4(2)
  connect,          ///< connect(2); the address is the operation's buffer
  wait_read,        ///< readiness to read, without transfer
  wait_write,       ///< readiness to write
  wait_error,       ///< a pending error or hang-up
  file_in_order,    ///< a call on a file, one after the other (detail/file_operation.hpp)
  wait_timer,       ///< a wait for a point in time
  wait_signal,      ///< a wait for a signal
  file,             ///< a call on a file, beside others
  raw,              ///< a ring entry that the user fills
  job,              ///< a call that blocks, by a thread of the context's pool
};

/// The state of an operation; io/op/transitions.hpp has the table of the transitions that are
/// allowed.
enum class op_state : std::uint8_t {
  inert,      ///< not started, or delivered
  mailed,     ///< on its way to the runner
  waiting,    ///< behind another operation of its direction
  listed,     ///< to be attempted or submitted one poll later
  parked,     ///< waiting for readiness (or for a point in time)
  in_kernel,  ///< the kernel has it
  ready,      ///< in the run queue, to be attempted
  finished,   ///< in the run queue, to be delivered
};

/// The request, the state and the result of an operation.
struct io_op : queue_entry {
  /// The operation continues until `length` bytes have moved.
  static constexpr std::uint8_t flag_all = 1;
  /// Cancellation was requested while the operation could not be undone.
  static constexpr std::uint8_t flag_cancelled = 2;
  /// connect: connect(2) was called and the connection is in progress; accept: no connection was
  /// found.
  static constexpr std::uint8_t flag_tried = 4;
  /// accept: there was no descriptor or memory for a new socket.
  static constexpr std::uint8_t flag_exhausted = 8;
  /// The driver still has to ask the kernel to cancel the operation.
  static constexpr std::uint8_t flag_cancel_queued = 16;
  /// The operation is one step of a composed operation: it keeps its direction between two steps.
  static constexpr std::uint8_t flag_steps = 32;
  /// The operation's deadline has passed: if the queued attempt finds nothing, the operation ends.
  static constexpr std::uint8_t flag_last_attempt = 64;
  /// The deadline of the operation's object has passed: a cancelled operation then reports
  /// error::timeout.
  static constexpr std::uint8_t flag_timed_out = 128;

  /// wait_write, as length: an event is enough, and poll(2) need not confirm it. For waiters that
  /// try again whatever they are told.
  static constexpr std::size_t by_event = 1;

  /// Sets the request and leaves everything else uninitialised: an awaiter that finishes in
  /// await_ready() never touches the rest.
  io_op(op_kind k, descriptor* d, void* data, std::size_t bytes) noexcept
      : target(d),
        address(data),
        length(bytes),
        transferred(0),
        kind(k),
        state(op_state::inert),
        flags(0) {}

  /// Moves an inert operation: copies only the request, field by field (see
  /// detail/opaque_value.hpp).
  io_op(io_op&& other) noexcept
      : target(opaque_value(other.target)),
        address(opaque_value(other.address)),
        length(opaque_value(other.length)),
        transferred(0),
        kind(other.kind),
        state(op_state::inert),
        flags(other.flags) {}
  io_op& operator=(const io_op&) = delete;

  run_function complete;  ///< called on the runner when the result is set (nullptr: destroy)
  union {
    descriptor* target;
    timer_state* timer;
  };
  void* address;            ///< the buffer, or an array of `length` vectors, or a socket address
  std::size_t length;       ///< bytes (vectors: entries)
  std::size_t transferred;  ///< bytes moved so far
  int result;               ///< 0 or more, -errno, or one of base/error.hpp's results
  op_kind kind;
  op_state state;
  std::uint8_t flags;
};
static_assert(sizeof(io_op) <= 64, "the hot fields share one cache line");

/// The awaitable form of an operation, the same for every kind: it is stored in a coroutine frame,
/// is attempted before it suspends the coroutine, and resumes it on the executor of its scope.
class operation : public io_op {
 public:
  using io_op::io_op;
  operation(operation&& other) noexcept : io_op(static_cast<io_op&&>(other)) {}

  /// Attempts the operation. Returns true if it has finished without suspending: the caller is on
  /// the context's runner, the descriptor is known to be ready and the budget allows the attempt.
  bool await_ready() noexcept;
  /// Starts the operation; its completion resumes `coroutine`. `at`: the place of the co_await, for
  /// dumps.
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> coroutine,
                     std::source_location at = std::source_location::current()) {
    suspend_in(coroutine, detail::scope_of(coroutine, at));
  }
  /// Starts the operation for a coroutine whose scope is `environment`.
  void suspend_in(continuation coroutine, scope& environment) {
    suspend_and_begin(*this, coroutine, environment);
  }

  /// Starts the operation, whose `complete` is set. Composed operations have a begin() of their
  /// own.
  void begin() noexcept;
  /// Starts the operation. Returns true if it finished within the call and nothing was queued.
  bool begin_immediate() noexcept;

  /// Returns the error with the name of the operation if it failed, else no error.
  result_error error() const noexcept {
    if (result >= 0) [[likely]]
      return result_error();
    return failure();
  }

 protected:
  /// Makes the completion resume `coroutine` on the executor of `environment`, and, from
  /// environment.started() on, a stop of that scope cancel the operation. Returns false if the
  /// scope has been stopped before: the operation must not start, and ends with the scope's reason.
  [[nodiscard]] bool wait_in(continuation coroutine, scope& environment) noexcept;
  /// Starts `op`, whose class may have a begin() of its own, as suspend_in() does.
  template <class Operation>
  static void suspend_and_begin(Operation& op, continuation coroutine, scope& environment) {
    if (!op.wait_in(coroutine, environment)) return;
    op.begin();
    environment.started();
  }

 private:
  [[gnu::cold]] result_error failure() const noexcept;
  static const wait_kind own_wait;
  static const wait_kind wait_elsewhere;

  static scope* cancel_wait(void* leaf, scope& from) noexcept;
  static void resume(queue_entry* entry, runner* where);
  static void resume_elsewhere(queue_entry* entry, runner* where);

  continuation coroutine_;
  scope* scope_;
};

/// The base of an operation whose class `Derived` has a begin() of its own, through which
/// coroutines start it.
template <class Derived, class Base>
class begun_by : public Base {
 public:
  using Base::Base;

  /// Starts the operation by Derived::begin(); its completion resumes `coroutine`.
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> coroutine,
                     std::source_location at = std::source_location::current()) {
    suspend_in(coroutine, detail::scope_of(coroutine, at));
  }
  /// Starts the operation by Derived::begin() for a coroutine whose scope is `environment`.
  void suspend_in(continuation coroutine, scope& environment) {
    Base::suspend_and_begin(static_cast<Derived&>(*this), coroutine, environment);
  }

 private:
  friend Derived;

  explicit begun_by(Base&& inert) noexcept : Base(static_cast<Base&&>(inert)) {}
};

/// Starts `op`, whose `complete` is set. Its completion is queued, never run inside the call.
/// Requires: `op` does not move until it has been delivered. Thread: any.
void start_operation(io_op& op) noexcept;

/// Starts `op` as start_operation(). Returns true if it finished within the call: its result is
/// set, nothing was queued, and the caller delivers it. Only for callers that are on the runner and
/// may continue inline.
bool start_operation_immediate(io_op& op) noexcept;

/// Returns `begin(op)`, which starts `op` and returns true if it finished within the call. If no
/// thread runs the context, the calling thread is its runner during the call.
bool begin_immediate_anywhere(io_op& op, bool (*begin)(io_op& op) noexcept) noexcept;

/// Requests cancellation. Requires that `op` has been started and not yet delivered. If its result
/// is already known, that result is delivered. Returns false, and does nothing, if another thread
/// is running the context.
bool cancel_operation(io_op& op) noexcept;

/// Requests the cancellation of an operation from inside the executor of its handler. If another
/// thread runs the operation's context, a message travels there and back, and the operation, its
/// handler and their executor must stay until it has returned.
class remote_cancel {
 public:
  /// Requests cancellation of `op`, whose handler runs on `home`. Requires that the handler has not
  /// been called.
  void request(io_op& op, const any_io_executor& home) noexcept;
  /// Returns whether the message is on its way; if so, `delivery` is run when it has returned.
  bool keep_back(queue_entry* delivery) noexcept {
    if (message_) delivery_ = delivery;
    return static_cast<bool>(message_);
  }

 private:
  static void act_there(void* self) noexcept;
  static void come_home(queue_entry* entry, runner* where);

  deferred_init<loop_command> message_;
  io_op* op_;
  const any_io_executor* home_;
  queue_entry* delivery_ = nullptr;
};

/// Queues the completion of an operation whose result is known without any I/O. Thread: any.
void complete_later(io_op& op, int result) noexcept;

/// Returns the executor that completions of the operation's object use when the handler names none.
const any_io_executor& default_executor(const io_op& op) noexcept;

inline void operation::begin() noexcept { start_operation(*this); }
inline bool operation::begin_immediate() noexcept { return start_operation_immediate(*this); }

/// Returns whether `executor` is that of the context that runs `op`; the completion may then be
/// called directly.
bool runs_operations_of(const any_io_executor& executor, const io_op& op) noexcept;

/// An operation that completes with a number of bytes.
class [[nodiscard]] transfer_operation : public operation {
 public:
  using signature = void(error_code, std::size_t);
  using operation::operation;

  io_result<std::size_t> await_resume() const noexcept { return {error(), transferred}; }
  template <class Token>
  auto operator()(Token&& token) &&;
};

/// An operation that completes with success or an error and nothing else.
class [[nodiscard]] void_operation : public operation {
 public:
  using signature = void(error_code);
  using operation::operation;

  io_result<> await_resume() const noexcept { return io_result<>(error()); }
  template <class Token>
  auto operator()(Token&& token) &&;
};

}  // namespace beck::detail
