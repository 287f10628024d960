// SPDX-License-Identifier: BSL-1.0
// The asynchronous half of a backend, and the choice of one. A driver knows operations and
// descriptors, nothing of sockets, files or coroutines; it never runs user code, and no driver sees
// another one.
#pragma once

#include <cstdint>
#include <memory>

#include <beck/detail/operation.hpp>
#include <beck/io/io_context.hpp>

#include "io/system/system.hpp"

namespace beck::detail {

class blocking_jobs;
struct io_vector;
struct descriptor;
class virtual_threads;

/// How a turn of the driver may wait.
enum class poll_mode : std::uint8_t {
  busy,   ///< work is queued: enter the kernel only if there is a reason
  drain,  ///< nothing is queued, do not wait: find everything that is ready now
  wait,   ///< nothing is queued: wait for the first event or the deadline
};

/// Thread: the runner, or whoever holds the idle runner's slot. Nothing throws: what cannot be done
/// becomes the result of an operation.
class driver {
 public:
  virtual ~driver() = default;

  /// A descriptor was opened: sets what is assumed about its readiness.
  virtual void attach(descriptor& d) noexcept = 0;

  /// Takes everything of `d` back from the kernel, as far as it gives it back at once; parked,
  /// listed and kernel operations of `d` are finished with ECANCELED (or their result). True if
  /// close(2) may follow now; else the driver calls io_loop::close_if_idle(d) when the last one
  /// has come back.
  virtual bool detach(descriptor& d) noexcept = 0;

  /// The head of a direction could not or may not be attempted now: lists it, parks it, or queues
  /// an attempt. Does no I/O.
  virtual void submit(io_op& op) noexcept = 0;

  /// Ends an operation that was submitted with ECANCELED, now or, where it is in the kernel, when
  /// the kernel says so. A result that is already there wins.
  virtual void cancel(io_op& op) noexcept = 0;

  /// Whether calls on files need no thread.
  virtual bool makes_file_calls() const noexcept { return false; }
  /// Whether events of a watched TCP socket say exactly when urgent data has come.
  virtual bool tells_urgent_data() const noexcept { return true; }

  /// Has the kernel keep hold of memory that file operations name by numbers, from 1 on; the table
  /// stays until unregister_buffers(). -errno: numbers have no meaning.
  virtual int register_buffers(const io_vector*, unsigned) noexcept {
    return -error::operation_not_supported;
  }
  /// Requires that no operation uses one.
  virtual void unregister_buffers() noexcept {}

  /// Takes a listed operation out of its list; false: it stays there, and its flag ends it.
  virtual bool unlist(io_op& op) noexcept = 0;

  /// One visit to the kernel: hands over what is prepared, collects what has happened. `deadline`
  /// (steady clock, nanoseconds; INT64_MAX: none) bounds waiting.
  virtual void poll(poll_mode mode, std::int64_t deadline) noexcept = 0;

  /// Asks the kernel to end whatever it has, for shutting down.
  virtual void cancel_everything() noexcept = 0;

  /// This process is a child of fork: what the kernel has is the parent's. Ends what is listed with
  /// ECANCELED; from now on nothing is in flight, and only attach() and detach() are called, which
  /// do nothing.
  virtual void after_fork_in_child() noexcept {}
  /// The same, but nothing of the driver may be in order: closes what it has open, and does nothing
  /// else. It is never destroyed.
  virtual void close_handles() noexcept {}

  /// The descriptor that another thread writes eight bytes to, to end a wait; -1 if there are no
  /// other threads (simulation).
  virtual int wake_handle() const noexcept = 0;

  /// The threads of a shared loop, if the driver plays them; nullptr: they are real.
  virtual virtual_threads* threads() noexcept { return nullptr; }

  /// Who makes calls that block, if the driver plays that; nullptr: threads, which are the loop's.
  virtual blocking_jobs* jobs() noexcept { return nullptr; }

  /// What the kernel has, operations and watched descriptors: quiescent at 0.
  virtual unsigned in_flight() const noexcept = 0;

  virtual backend kind() const noexcept = 0;
  virtual const char* report() const noexcept = 0;
  virtual void add_stats(context_stats& stats) const noexcept = 0;
};

// Choosing a driver: the only place that knows all of them.

class io_loop;

struct backend_selection {
  /// Makes what `how` (or, for automatic, BECK_BACKEND) asks for. Throws io_error with the reason
  /// when a backend that was asked for by name is refused.
  static void open(io_loop& loop, const io_context::options& how, std::unique_ptr<system>& sys,
                   std::unique_ptr<driver>& drv);
};

}  // namespace beck::detail
