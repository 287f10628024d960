// SPDX-License-Identifier: BSL-1.0
// The asynchronous half of a backend, and the choice of a backend. A driver handles operations and
// descriptors and knows nothing of sockets, files or coroutines. It never runs user code, and
// drivers do not know one another.
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

/// How driver::poll() may wait.
enum class poll_mode : std::uint8_t {
  busy,   ///< entries are queued: enter the kernel only if there is a reason
  drain,  ///< do not wait, and find everything that is ready now
  wait,   ///< nothing is queued: wait for the first event or the deadline
};

/// Thread: the runner, or the thread that holds the slot of an idle loop. Functions do not throw: a
/// failure becomes the result of an operation.
class driver {
 public:
  virtual ~driver() = default;

  /// Takes a descriptor that was opened: sets its assumed readiness.
  virtual void attach(descriptor& d) noexcept = 0;

  /// Takes all operations of `d` back from the kernel, as far as it returns them at once; parked,
  /// listed and kernel operations of `d` are finished with ECANCELED (or their result). Returns
  /// true if close(2) may follow now. Otherwise the driver calls driver_host::close_if_idle(d) when
  /// the last operation has come back.
  virtual bool detach(descriptor& d) noexcept = 0;

  /// Takes the current operation of a direction, which could not or may not be attempted now: lists
  /// it, parks it, or queues an attempt. Does no I/O.
  virtual void submit(io_op& op) noexcept = 0;

  /// Cancels an operation that the kernel holds: finishes it with ECANCELED when the kernel has
  /// ended it. If its result is already there, it is delivered instead.
  virtual void cancel(io_op& /*op*/) noexcept {}
  /// Adds `change` to the number of operations that only an event can wake: the engine has ended
  /// parked ones.
  virtual void count_parked(int /*change*/) noexcept {}

  /// Returns whether the driver makes calls on files itself, so that they need no thread.
  virtual bool makes_file_calls() const noexcept { return false; }
  /// Returns whether the events of a watched TCP socket say exactly when urgent data has arrived.
  virtual bool reports_urgent_data() const noexcept { return true; }

  /// Registers memory with the kernel, which file operations name by numbers from 1; the table must
  /// stay until unregister_buffers(). Returns -errno if this failed: the numbers then have no
  /// meaning.
  virtual int register_buffers(const io_vector*, unsigned) noexcept {
    return -error::operation_not_supported;
  }
  /// Ends the registration of memory. Requires that no operation uses it.
  virtual void unregister_buffers() noexcept {}

  /// Takes a listed operation out of its list. Returns false if it was not found in one: then it
  /// stays listed, and is ended by its flag when its list is taken.
  virtual bool unlist(io_op& op) noexcept = 0;

  /// Passes the sends that wait for the next poll to the kernel now, and takes their results.
  /// Called by flush_sends() on the thread that has listed them.
  virtual void make_listed_sends() noexcept {}
  /// Returns the driver of this thread that has listed sends since its last poll, or nullptr.
  static driver* listing() noexcept { return listing_; }

  /// Polls the kernel once: submits the prepared entries and collects the events and completions. A
  /// wait ends at `deadline` (steady clock, nanoseconds; INT64_MAX: none). Returns whether it has
  /// entered the kernel, which takes time.
  virtual bool poll(poll_mode mode, std::int64_t deadline) noexcept = 0;

  /// Requests the cancellation of all operations in the kernel, for shutting down.
  virtual void cancel_everything() noexcept = 0;

  /// Adapts to a child of fork, where the operations in the kernel are the parent's: finishes the
  /// listed ones with ECANCELED. Afterwards nothing is in flight, and only attach() and detach()
  /// are called, which do nothing in the kernel.
  virtual void after_fork_in_child() noexcept {}
  /// Closes the descriptors of the driver, and does nothing else, in a child of fork whose copy of
  /// the driver may be half changed. The driver is never destroyed afterwards.
  virtual void close_handles() noexcept {}

  /// Returns the descriptor that another thread writes eight bytes to, to end a wait; -1 if there
  /// are no other threads (simulation).
  virtual int wake_handle() const noexcept = 0;

  /// Returns the threads of a shared loop, if the driver simulates them; nullptr if they are real.
  virtual virtual_threads* threads() noexcept { return nullptr; }

  /// Returns the object that makes blocking calls, if the driver simulates them; nullptr if the
  /// loop's threads make them.
  virtual blocking_jobs* jobs() noexcept { return nullptr; }

  /// Returns the number of operations and watched descriptors that the kernel holds; the driver is
  /// quiescent at 0.
  virtual unsigned in_flight() const noexcept = 0;

  virtual backend kind() const noexcept = 0;
  virtual const char* report() const noexcept = 0;
  virtual void add_stats(context_stats& stats) const noexcept = 0;

 protected:
  /// Notes that sends of this thread wait for the next poll of `lister`; nullptr: none do.
  static void note_listing(driver* lister) noexcept { listing_ = lister; }

 private:
  inline static thread_local constinit driver* listing_ [[gnu::tls_model("initial-exec")]] =
      nullptr;
};

// The choice of a driver: the only place that knows all drivers.

class io_loop;

struct backend_selection {
  /// Returns the backend that `how` requests, or, for automatic, BECK_BACKEND. Throws
  /// std::system_error if that names none.
  static backend requested(const io_context::options& how);
  /// Makes the driver and the system that `how` requests (or, for automatic, BECK_BACKEND). Throws
  /// io_error with the reason if a backend that was requested by name is refused.
  static void open(io_loop& loop, const io_context::options& how, std::unique_ptr<system>& sys,
                   std::unique_ptr<driver>& drv);
};

}  // namespace beck::detail
