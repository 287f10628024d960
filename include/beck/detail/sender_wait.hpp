// SPDX-License-Identifier: BSL-1.0
// The part of a sender's operation state that is no template: it goes to the executor where the
// awaitable runs, has the scope of the wait, belongs to the context like a task, and is stopped
// from any thread. Nothing is allocated. See interop/execution.hpp.
#pragma once

#include <beck/base/error.hpp>
#include <beck/detail/continuation.hpp>
#include <beck/detail/functions.hpp>
#include <beck/detail/initiating_call.hpp>
#include <beck/detail/scope.hpp>
#include <utility>

namespace beck::detail {

class sender_wait;

/// A request to stop a wait, on its way to the executor of the wait. Also counts the parties that
/// may still use the state: the wait, and the request. The last one to leave completes the state.
class stop_request : public queue_entry {
 public:
  stop_request() noexcept : queue_entry{} {}
  /// Notes that one more party uses the state. Returns false if none uses it any more.
  bool join() noexcept { return __atomic_fetch_add(&parties_, 1u, __ATOMIC_ACQ_REL) != 0; }
  /// Notes that a party has left. Returns whether it was the last one.
  bool leave() noexcept { return __atomic_sub_fetch(&parties_, 1u, __ATOMIC_ACQ_REL) == 0; }

 private:
  friend class sender_wait;

  sender_wait* wait_ = nullptr;
  unsigned parties_ = 1;
};

/// The links of a wait: into a queue, or into the context's list of trees. It is in one at a time.
/// Standard layout: a pointer to a member is also one to the whole.
struct sender_links {
  union {
    queue_entry entry{};  ///< while the start or the completion is queued
    owned_tree tree;      ///< while the context has the wait
  };
};

/// A wait of an object that is no coroutine. The derived class's function is called on the
/// executor: to start the awaitable, when its wait is over, and when the executor is destroyed.
/// Thread: begin(): any; request_stop(): any, while the wait is open; everything else inside the
/// executor.
class sender_wait : public resumable, private sender_links {
 public:
  sender_wait& operator=(const sender_wait&) = delete;

 protected:
  sender_wait(function on_progress, any_io_executor home) noexcept
      : resumable(on_progress), home_(static_cast<any_io_executor&&>(home)) {}
  ~sender_wait() { close(); }

  /// Returns whether there is a scope: the wait was opened.
  bool is_open() const noexcept { return phase_ == phase::open; }
  /// Returns whether the awaitable has its result, and only the completion is left.
  bool is_over() const noexcept { return over_; }
  /// Returns whether the executor is being destroyed: there is no result.
  bool is_lost() const noexcept { return lost_; }

  /// Returns the executor. Requires that the wait was not opened.
  const any_io_executor& home() const noexcept { return home_; }
  /// Sets the executor. Requires that the wait was not started.
  void set_home(any_io_executor home) noexcept { home_ = static_cast<any_io_executor&&>(home); }

  /// Returns whether the caller is inside the executor, which is not being destroyed.
  bool is_here() const noexcept {
    return home_ && home_.running_in_this_thread() && !runner::current()->destroys;
  }
  /// Calls the function on the executor: at once, if the caller is inside it and the stack is not
  /// too deep. Tasks may be started inside the function.
  void begin() noexcept;
  /// Calls the function as an entry of the executor.
  void begin_elsewhere() noexcept;
  /// Makes the scope of the wait, and gives the wait to the context.
  scope& open() noexcept;
  /// Calls the function again, as an entry of the executor, and the wait is over then.
  void finish_later() noexcept;
  /// Stops the wait, through `message` if this thread is not the executor's. If the message is the
  /// last party the function is called when it has arrived, and the wait is over then.
  void request_stop(stop_request& message) noexcept;
  /// Takes the wait away from the context. Returns whether a stop has ended it. Requires open.
  bool leave_context() noexcept;
  /// Destroys the scope.
  void close() noexcept {
    const phase ended = std::exchange(phase_, phase::closed);
    if (ended == phase::inert) home_.~any_io_executor();
    if (ended == phase::open) scope_.~scope();
  }

 private:
  friend struct dump_access;

  static sender_wait& from(queue_entry* link) noexcept {
    return static_cast<sender_wait&>(*reinterpret_cast<sender_links*>(link));
  }
  static sender_wait& from(owned_tree* link) noexcept {
    return static_cast<sender_wait&>(*reinterpret_cast<sender_links*>(link));
  }
  static void started(queue_entry* entry, runner* where);
  static void finished(queue_entry* entry, runner* where);
  static void carry_stop(queue_entry* message, runner* where);
  static void lose(owned_tree* tree);

  union {
    any_io_executor home_;
    scope scope_;
  };
  enum class phase : unsigned char { inert, open, closed };  // home_, scope_, neither
  phase phase_ = phase::inert;
  bool owned_ = false;  // by the context, through tree
  bool over_ = false;
  bool lost_ = false;
};

namespace functions {

/// Calls `start()`. Returns whether the operation of `owner` has completed inside that call;
/// otherwise it may have been destroyed.
template <class Start>
bool completes_inside(const void* owner, Start&& start) {
  const initiating_call call(owner);
  static_cast<Start&&>(start)();
  return call.result() == initiating_call::outcome::completed;
}

}  // namespace functions
using namespace functions;

/// Returns the error of the exception that is being handled: the code of a system_error,
/// not_enough_memory for std::bad_alloc. Any other exception ends the program.
error_code code_of_current_exception() noexcept;

}  // namespace beck::detail
