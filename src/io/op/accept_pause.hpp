// SPDX-License-Identifier: BSL-1.0
// S1 and S2: accepts that found no descriptor or no memory for a new socket, or connections that
// were lost before they were accepted. They are attempted again when a descriptor has been closed,
// or after a pause that doubles from 10 ms to one second. The log gets one line for each series of
// pauses, and no more than one in a second: a process may lack descriptors for each second client.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <beck/detail/operation.hpp>
#include <beck/detail/queue_entry.hpp>

namespace beck::detail {

class io_loop;

/// Thread: the runner.
class accept_pause {
 public:
  static constexpr std::int64_t no_deadline = INT64_MAX;

  /// The consequence of a result of accept(2).
  enum class verdict : std::uint8_t {
    deliver,  ///< it is the result of the operation
    again,    ///< the connection was lost: accept the next one
    pause,    ///< nothing can be accepted now
  };

  explicit accept_pause(io_loop& loop) noexcept;
  accept_pause(const accept_pause&) = delete;
  accept_pause& operator=(const accept_pause&) = delete;

  /// Returns the consequence of `result`, and counts lost connections.
  verdict judge(std::ptrdiff_t result) noexcept;
  /// Parks an accept, whose result is the reason, until resume().
  void add(io_op& op) noexcept;
  /// Removes an accept that is to end.
  void remove(io_op& op) noexcept;
  /// Queues attempts of all paused accepts.
  void resume() noexcept;
  bool empty() const noexcept { return paused_.empty(); }
  /// Returns when resume() is due; `no_deadline` if nothing is paused.
  std::int64_t retry_at() const noexcept { return retry_at_; }

 private:
  struct log_message : queue_entry {
    accept_pause* owner;
  };

  static void log_entry(queue_entry* entry, runner* where);

  io_loop& loop_;
  entry_queue paused_;
  std::int64_t pause_ns_ = 0;
  std::int64_t retry_at_ = no_deadline;
  std::int64_t quiet_until_ = 0;   // nothing is logged before
  unsigned lost_connections_ = 0;  // in a row
  log_message log_entry_;
  // The error that the queued log_message reports; 0 if none is queued.
  std::atomic<int> reason_{0};
};

}  // namespace beck::detail
