// SPDX-License-Identifier: BSL-1.0
// The half that drivers share whose kernel reports readiness: operations are parked until an event
// wakes them, or listed and attempted one turn later (lazy speculation).
#pragma once

#include "io/driver/driver.hpp"
#include "io/op/lazy_list.hpp"

namespace beck::detail {

class driver_host;

class readiness_driver : public driver {
 public:
  void attach(descriptor& d) noexcept override;
  void submit(io_op& op) noexcept override;
  void cancel(io_op& op) noexcept override;
  bool unlist(io_op& op) noexcept override { return due_.remove(op) || fresh_.remove(op); }
  void cancel_everything() noexcept override {}
  void after_fork_in_child() noexcept override;
  unsigned in_flight() const noexcept override { return 0; }

 protected:
  explicit readiness_driver(driver_host& host) noexcept : host_(host) {}

  /// Has events of `d` reported from now on, at the latest. False: that is impossible, and `op`,
  /// which was to be parked, has been finished or queued.
  virtual bool watch(descriptor& d, io_op& op) noexcept = 0;
  /// The number of operations that only an event can wake has changed.
  virtual void count_parked(int /*change*/) noexcept {}

  /// The first thing of a turn: queues late attempts of what was listed one turn ago; of everything
  /// that is listed if nothing else is going to happen.
  void begin_poll(poll_mode mode) noexcept;
  bool has_due() const noexcept { return !due_.empty(); }
  bool has_listed() const noexcept { return !due_.empty() || !fresh_.empty(); }
  /// Queues late attempts of what begin_poll() has left for the next turn.
  void attempt_due() noexcept;
  /// The kernel has reported events of `d`.
  void note(descriptor& d, unsigned events) noexcept;

  driver_host& host_;

 private:
  lazy_list due_;    // attempted in this turn
  lazy_list fresh_;  // attempted in the next one
};

}  // namespace beck::detail
