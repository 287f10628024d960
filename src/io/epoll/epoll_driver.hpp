// SPDX-License-Identifier: BSL-1.0
// The epoll driver: each descriptor is registered edge-triggered, when its first attempt finds
// nothing, and changed once, when the first attempt to write does; there is no re-arming. The
// registration ends while reads need no events.
#pragma once

#include <atomic>
#include <ctime>
#include <string>
#include <vector>

#include "io/driver/readiness_driver.hpp"

struct epoll_event;

namespace beck::detail {

class driver_host;
struct loop_core;

class epoll_driver final : public readiness_driver {
 public:
  /// `refused` is the reason for the lack of a better driver, for the report; empty if epoll was
  /// requested. Throws io_error if the kernel refuses.
  epoll_driver(driver_host& host, loop_core& core, const std::string& refused);
  ~epoll_driver() override;

  bool detach(descriptor& d) noexcept override;
  bool poll(poll_mode mode, std::int64_t deadline) noexcept override;
  void close_handles() noexcept override;
  int wake_handle() const noexcept override { return wake_fd_; }
  backend kind() const noexcept override { return backend::epoll; }
  const char* report() const noexcept override { return report_.c_str(); }
  void add_stats(context_stats&) const noexcept override {}

 private:
  /// The shortest time between two calls of epoll_wait while entries are queued.
  static constexpr std::int64_t busy_visit_ns = 100'000;
  /// The shortest time on a shared loop, where collecting events of other processors' sockets is
  /// expensive.
  static constexpr std::int64_t shared_poll_ns = 200'000;
  /// The shortest time while no operation is parked: only reads with late attempts are outstanding.
  static constexpr std::int64_t idle_poll_ns = 1'000'000;
  static constexpr std::size_t events_first = 256;
  static constexpr std::size_t events_max = 16384;

  bool watch(descriptor& d, io_op& op) noexcept override;
  void unwatch(descriptor& d) noexcept override;
  void count_parked(int change) noexcept override;
  /// Collects the events that are there now if `timeout` is 0; otherwise waits for events until the
  /// deadline.
  void collect(int timeout, std::int64_t deadline) noexcept;
  /// Calls epoll_pwait2(2), or epoll_wait(2) where that does not exist. Returns the number of
  /// events; 0 also after a signal.
  int wait_for_events(const timespec* limit) noexcept;

  std::string report_;
  int epoll_fd_ = -1;
  int wake_fd_ = -1;
  bool nanoseconds_ = true;  // epoll_pwait2 exists
  std::int64_t last_poll_ = 0;
  std::atomic<int> parked_{0};  // operations that only an event can wake
  std::vector<epoll_event> events_;
};

}  // namespace beck::detail
