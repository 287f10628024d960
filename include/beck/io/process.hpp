// SPDX-License-Identifier: BSL-1.0
// process: a child process as an I/O object. Its end is waited for like any other event. Signals
// reach the child or no process, because Linux knows it by a descriptor and not by a number that
// may be used again.
#pragma once

#include <beck/io/process_options.hpp>
#include <string_view>

namespace beck {

namespace detail {
struct child_state;

}  // namespace detail

/// How a process ended. Source: waitid(2).
class exit_status {
 public:
  /// Makes the status of a process that returned 0.
  constexpr exit_status() noexcept = default;
  /// Makes a status of these parts.
  constexpr exit_status(int code, int signal, bool core_dumped) noexcept
      : code_(code), signal_(signal), core_dumped_(core_dumped) {}

  /// Returns whether the process returned 0.
  constexpr bool success() const noexcept { return code_ == 0 && signal_ == 0; }
  /// Returns the value that main returned or that was passed to exit(3), 0 to 255; -1 if a signal
  /// ended the process.
  constexpr int code() const noexcept { return code_; }
  /// Returns the signal that ended the process, or 0.
  constexpr int signal() const noexcept { return signal_; }
  /// Returns whether the process left a core dump.
  constexpr bool core_dumped() const noexcept { return core_dumped_; }

  friend constexpr bool operator==(const exit_status&, const exit_status&) noexcept = default;

 private:
  int code_ = 0;
  int signal_ = 0;
  bool core_dumped_ = false;
};

namespace detail {

/// Shares the state of a child. Thread: any.
class child_ref {
 public:
  child_ref() noexcept = default;
  explicit child_ref(child_state* of) noexcept : state_(of) {}
  child_ref(const child_ref& other) noexcept;
  child_ref(child_ref&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  child_ref& operator=(child_ref other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~child_ref();

  child_state* get() const noexcept { return state_; }

 private:
  child_state* state_ = nullptr;
};

/// A wait for the end of a child; starts when awaited or given a token.
class [[nodiscard]] process_wait_operation : public operation {
 public:
  using signature = void(error_code, exit_status);

  process_wait_operation(descriptor* d, child_ref child) noexcept
      : operation(op_kind::wait_read, d, nullptr, 0), child_(static_cast<child_ref&&>(child)) {}
  process_wait_operation(process_wait_operation&& other) noexcept
      : operation(static_cast<operation&&>(other)),
        child_(static_cast<child_ref&&>(other.child_)) {}

  io_result<exit_status> await_resume() noexcept;
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<process_wait_operation&&>(*this),
                          static_cast<Token&&>(token));
  }

 private:
  child_ref child_;
};

}  // namespace detail

/// A child process. The object owns it as a std::jthread owns its thread: destroying the object
/// while the process runs ends the process (SIGKILL), unless it was detached. Move-only; after a
/// move and before a spawn the object is closed.
///
/// The child has the descriptors 0, 1 and 2 and no other one of this program, blocking pipes, an
/// empty signal mask, and the default action for SIGPIPE and for every signal that this program
/// handles.
/// Ended children are collected by waits, by running(), and, if there was no wait, by the
/// destructor or one of the next spawns, so none stays behind as a zombie. Programs that ignore
/// SIGCHLD, or collect all children by themselves (wait(2)), get std::errc::no_child_process
/// instead of a status.
///
/// Closed objects: operations end with bad_descriptor. Not in simulations: operation_not_supported.
/// Thread: one object from one thread at a time.
/// Source: posix_spawn(3), pidfd_open(2), pidfd_send_signal(2), waitid(2); Linux 5.4.
class process : private detail::io_object {
 public:
  /// The executor's type.
  using executor_type = any_io_executor;
  /// The options of spawn().
  using options = process_options;
  using detail::io_object::native_handle_type;

  /// Makes a closed object, for a later spawn().
  explicit process(io_context& context);
  /// As above. Throws io_error (invalid_argument) unless the context of `executor` is an
  /// io_context.
  explicit process(const any_io_executor& executor);
  /// Spawns a process: see spawn(). Throws io_error, whose text names the program or the directory.
  process(io_context& context, std::string_view program,
          const detail::process_texts& arguments = {}, const options& how = {});
  /// As above.
  process(const any_io_executor& executor, std::string_view program,
          const detail::process_texts& arguments = {}, const options& how = {});
  process(process&& other) noexcept = default;
  /// Ends the process that this object owned, and takes over the other one.
  process& operator=(process&& other) noexcept;
  /// Ends the process (SIGKILL) if it still runs; waits end with operation_aborted.
  ~process();

  /// Returns the executor that waits complete on.
  any_io_executor get_executor() const noexcept { return object_executor(); }

  /// Starts `program`: a path, or, without a slash, a name that is searched in PATH. It gets
  /// `arguments` after its own name. When this returns the program runs, or `ec` says why it does
  /// not, and nothing was changed. Blocks until the kernel has loaded it.
  /// Errors: std::errc::no_such_file_or_directory, access_denied, no_descriptors, ... of execve(2),
  /// chdir(2) and fork(2); already_open if the object or a pipe of `how` is open, or one pipe is
  /// named for two streams (use err_to_out()); invalid_argument for an empty program or a text that
  /// contains NUL.
  void spawn(std::string_view program, const detail::process_texts& arguments, const options& how,
             error_code& ec);
  /// As above, and throws io_error on failure, whose text names the program or the directory.
  void spawn(std::string_view program, const detail::process_texts& arguments = {},
             const options& how = {});

  /// Returns whether a child was spawned, running or not, and not detached.
  using detail::io_object::is_open;
  /// Returns the pidfd (pidfd_open(2)), or -1. It stays the object's.
  using detail::io_object::native_handle;
  /// Returns the process id, or -1. Ids are used again once a child is collected: to signal the
  /// process, use send_signal().
  int id() const noexcept;

  /// Completes with (error_code, exit_status) when the process has ended. Any number of waits, also
  /// afterwards, get the same status. Cancellation: cancel(), or with a token; the process goes on.
  /// A time limit: `co_await timeout(child.async_wait(), 10s)`.
  detail::process_wait_operation async_wait() noexcept { return {descriptor_, child_}; }
  /// As above. `token` takes (error_code, exit_status).
  template <class Token>
  auto async_wait(Token&& token) {
    return detail::launch(async_wait(), static_cast<Token&&>(token));
  }
  /// Blocks until the process has ended, and returns its status.
  exit_status wait(error_code& ec);
  /// As above, and throws io_error on failure.
  exit_status wait();
  /// Ends waits with operation_aborted; the process goes on.
  using detail::io_object::cancel;

  /// Returns whether the process runs; false if it has ended or the object is closed
  /// (bad_descriptor).
  bool running(error_code& ec) noexcept;
  /// As above, and throws io_error on failure.
  bool running();

  /// Sends SIGKILL; no error if the process has ended already. Does not wait for the end.
  void terminate(error_code& ec) noexcept;
  /// As above, and throws io_error on failure.
  void terminate();
  /// Sends SIGTERM, which a program may handle. Errors as send_signal().
  void request_exit(error_code& ec) noexcept;
  /// As above, and throws io_error on failure.
  void request_exit();
  /// Sends SIGINT, which a program may handle. Errors as send_signal().
  void interrupt(error_code& ec) noexcept;
  /// As above, and throws io_error on failure.
  void interrupt();
  /// Sends a signal. Errors: std::errc::no_such_process if the process has ended; invalid_argument
  /// if `number` is no signal. Source: signal(7).
  void send_signal(int number, error_code& ec) noexcept;
  /// As above, and throws io_error on failure.
  void send_signal(int number);

  /// Leaves the process to itself: it goes on, waits end with operation_aborted, and the object is
  /// closed.
  void detach() noexcept;

 private:
  /// Spawns. Returns true if the directory was the reason for the error.
  bool spawn_here(std::string_view program, const detail::process_texts& arguments,
                  const options& how, error_code& ec);
  void give_up(bool end_it) noexcept;

  detail::child_ref child_;
};

}  // namespace beck
