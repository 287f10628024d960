// SPDX-License-Identifier: BSL-1.0
// The common part of the drivers whose kernel reports readiness: operations are parked until an
// event wakes them, or listed and attempted one poll later (lazy speculation).
#pragma once

#include <cstdint>

#include "io/driver/driver.hpp"
#include "io/op/descriptor.hpp"
#include "io/op/readiness.hpp"

namespace beck::detail {

class driver_host;
struct loop_core;

/// Returns the number by which an event names its descriptor: another one if the slot has a new
/// owner since.
inline std::uint64_t token_of(const descriptor& d) noexcept {
  return std::uint64_t{d.generation} << 32 | d.index;
}

class readiness_driver : public driver {
 public:
  void attach(descriptor& d) noexcept override;
  void submit(io_op& op) noexcept override;
  bool unlist(io_op& op) noexcept override { return due_.remove(op) || fresh_.remove(op); }
  void cancel_everything() noexcept override {}
  void after_fork_in_child() noexcept override;
  unsigned in_flight() const noexcept override { return 0; }

 protected:
  /// `unwatches`: the driver has unwatch().
  readiness_driver(driver_host& host, loop_core& core, bool unwatches = false) noexcept;

  /// Makes the kernel report events of `d`, if it does not yet. Returns false if that is
  /// impossible; `op`, which was to be parked, has then been finished or queued.
  virtual bool watch(descriptor& d, io_op& op) noexcept = 0;
  /// Ends the kernel's reports of events of `d`.
  virtual void unwatch(descriptor& /*d*/) noexcept {}
  /// Begins a poll: queues late attempts of the operations that were listed before the last poll;
  /// in poll_mode::drain, of all that are listed.
  void begin_poll(poll_mode mode) noexcept;
  bool has_due() const noexcept { return !due_.empty(); }
  bool has_listed() const noexcept { return !due_.empty() || !fresh_.empty(); }
  /// Queues late attempts of the operations that begin_poll() has left for the next poll.
  void attempt_due() noexcept;
  /// Takes events of `d` that the kernel has reported.
  void note(descriptor& d, unsigned events) noexcept;

  driver_host& host_;
  loop_core& core_;

  const bool unwatches_;

 private:
  bool submit_unwatched(io_op& op) noexcept;

  lazy_list due_;    // attempted in the next poll
  lazy_list fresh_;  // attempted in the poll after that
};

}  // namespace beck::detail
