// SPDX-License-Identifier: BSL-1.0
// process: a child process as an I/O object. Its end is waited for like any other event, and
// signals reach it or nobody, because Linux knows it by a descriptor and not by a number that may
// have another owner.
#pragma once

#include <beck/io/process_options.hpp>

namespace beck {

namespace detail {
struct child_state;

}  // namespace detail

/// How a process ended. Source: waitid(2).
class exit_status {
 public:
  /// It has left with 0.
  constexpr exit_status() noexcept = default;
  constexpr exit_status(int code, int signal, bool core_dumped) noexcept
      : code_(code), signal_(signal), core_dumped_(core_dumped) {}

  constexpr bool success() const noexcept { return code_ == 0 && signal_ == 0; }
  /// What it returned from main or gave to exit(3), 0 to 255; -1: a signal ended it.
  constexpr int code() const noexcept { return code_; }
  /// The signal that ended it; 0: none.
  constexpr int signal() const noexcept { return signal_; }
  constexpr bool core_dumped() const noexcept { return core_dumped_; }

  friend constexpr bool operator==(const exit_status&, const exit_status&) noexcept = default;

 private:
  int code_ = 0;
  int signal_ = 0;
  bool core_dumped_ = false;
};

namespace detail {

/// Keeps what is known of a child. Any thread.
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

/// A child process. The object owns it as a std::jthread owns its thread: who destroys it while the
/// process runs ends the process (SIGKILL), unless it was detached. Move-only; after a move and
/// before a spawn it is closed.
///
/// The child has the descriptors 0, 1 and 2 and no other of ours, blocking pipes, an empty signal
/// mask, and the default action for SIGPIPE and for every signal that we handle.
/// Ended children are collected by waits, by running(), and, if nobody has waited, by the
/// destructor or one of the next spawns, so none stays behind as a zombie. Programs that ignore
/// SIGCHLD, or collect all children by themselves (wait(2)), get std::errc::no_child_process
/// instead of a status.
///
/// Not in simulations: operation_not_supported.
/// Thread: one object from one thread at a time.
/// Source: posix_spawn(3), pidfd_open(2), pidfd_send_signal(2), waitid(2); Linux 5.4.
class process : private detail::io_object {
 public:
  using executor_type = any_io_executor;
  using options = process_options;
  using detail::io_object::native_handle_type;

  /// Closed: spawn() comes later.
  explicit process(io_context& context);
  /// Requires an executor whose context is an io_context.
  explicit process(const any_io_executor& executor);
  /// Spawns; throws io_error, whose text names the program or the directory.
  process(io_context& context, detail::text_view program,
          const detail::process_texts& arguments = {}, const options& how = {});
  process(const any_io_executor& executor, detail::text_view program,
          const detail::process_texts& arguments = {}, const options& how = {});
  process(process&& other) noexcept = default;
  /// Ends what this one owned.
  process& operator=(process&& other) noexcept;
  ~process();

  any_io_executor get_executor() const noexcept { return object_executor(); }

  /// Starts `program`: a path, or without a slash a name that is looked for in PATH. It gets
  /// `arguments` behind its own name. When this returns the program runs, or the error says why it
  /// does not, and nothing was changed: std::errc::no_such_file_or_directory,
  /// error::access_denied, error::no_descriptors, ... of execve(2), chdir(2) and fork(2);
  /// error::already_open (also of one pipe for two streams: err_to_out() joins them);
  /// error::invalid_argument (an empty program, a text with a NUL inside). Blocks for as long as
  /// the kernel needs to load it.
  void spawn(detail::text_view program, const detail::process_texts& arguments, const options& how,
             error_code& ec);
  void spawn(detail::text_view program, const detail::process_texts& arguments = {},
             const options& how = {});

  /// Whether a child was spawned, running or not, and not given up.
  using detail::io_object::is_open;
  /// Its pidfd (pidfd_open(2)), or -1. It stays the object's.
  using detail::io_object::native_handle;
  /// Its number, or -1. Numbers are used again once a child is collected: to signal it, use
  /// send_signal().
  int id() const noexcept;

  /// Completes when the process has ended; any number of waits, also afterwards, give the same
  /// status. Cancellation: cancel(), or with a token; the process runs on. A time limit:
  /// `co_await timeout(child.async_wait(), 10s)`.
  detail::process_wait_operation async_wait() noexcept { return {descriptor_, child_}; }
  /// `token` takes (error_code, exit_status).
  template <class Token>
  auto async_wait(Token&& token) {
    return detail::launch(async_wait(), static_cast<Token&&>(token));
  }
  /// Blocks until it has ended.
  exit_status wait(error_code& ec);
  exit_status wait();
  /// Ends waits with operation_aborted; the process runs on.
  using detail::io_object::cancel;

  /// False: it has ended, or there is none.
  bool running(error_code& ec) noexcept;
  bool running();

  /// SIGKILL; no error if it has ended already. The wait for its end is the caller's.
  void terminate(error_code& ec) noexcept;
  void terminate();
  /// SIGTERM and SIGINT, which a program may handle.
  void request_exit(error_code& ec) noexcept;
  void request_exit();
  void interrupt(error_code& ec) noexcept;
  void interrupt();
  /// Errors: no_such_process (it has ended), invalid_argument. Source: signal(7).
  void send_signal(int number, error_code& ec) noexcept;
  void send_signal(int number);

  /// Gives it up: it runs on by itself, and this object is closed. Ends waits.
  void detach() noexcept;

 private:
  /// True: the directory was the reason for the error.
  bool spawn_here(detail::text_view program, const detail::process_texts& arguments,
                  const options& how, error_code& ec);
  void give_up(bool end_it) noexcept;

  detail::child_ref child_;
};

}  // namespace beck
