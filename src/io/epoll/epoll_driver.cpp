// SPDX-License-Identifier: BSL-1.0
// epoll(7). Events become readiness bits and queued attempts before any user code runs, so an event
// never meets a descriptor that was reused after the event. The generation identifies events that a
// duplicated descriptor might still report.
#include "io/epoll/epoll_driver.hpp"

#include <cerrno>
#include <new>

#include <sys/epoll.h>
#include <unistd.h>

#include <beck/base/error.hpp>

#include "base/descriptor_number.hpp"
#include "base/fatal_call.hpp"
#include "io/driver/driver_host.hpp"
#include "io/driver/loop_core.hpp"
#include "io/loop/mailbox.hpp"
#include "io/op/readiness.hpp"
#include "io/op/transitions.hpp"
#include "io/system/posix_system.hpp"

namespace beck::detail {
namespace {

constexpr std::uint64_t wake_token = UINT64_MAX;

/// Returns the number of events of a wait that failed: 0. Every error but a signal ends the
/// program: a loop that cannot wait would poll again at once, for ever.
int no_events(const char* call, int error) noexcept {
  if (error != EINTR) end_without_call(call, error);
  return 0;
}

}  // namespace

epoll_driver::epoll_driver(driver_host& host, loop_core& core, const std::string& refused)
    : readiness_driver(host, core, true),
      report_(refused.empty() ? "epoll" : "epoll; no io_uring: " + refused),
      events_(events_first) {
  const int made = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_fd_ = behind_standard(made < 0 ? -errno : made);
  if (epoll_fd_ < 0) throw_error(make_error(epoll_fd_), "epoll_create1");
  wake_fd_ = wake_open();
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.u64 = wake_token;
  const int error = wake_fd_ < 0                                                  ? -wake_fd_
                    : ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &event) < 0 ? errno
                                                                                  : 0;
  if (error == 0) return;
  if (wake_fd_ >= 0) ::close(wake_fd_);
  ::close(epoll_fd_);
  throw_error(make_error(-error), "eventfd");
}

epoll_driver::~epoll_driver() { close_handles(); }

void epoll_driver::close_handles() noexcept {
  ::close(wake_fd_);
  ::close(epoll_fd_);
}

bool epoll_driver::detach(descriptor& d) noexcept {
  if (is_watched(d)) unwatch(d);  // close(2) alone would leave a duplicated descriptor registered
  return d.in_kernel == 0;
}

void epoll_driver::unwatch(descriptor& d) noexcept {
  epoll_event unused{};
  ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, d.fd, &unused);
  advance(d, watch_event::end);
  d.watches_room = false;
}

/// Room is watched for once an operation lacks it: a UNIX socket and a pipe report room each time
/// their peer takes something. Both calls report the readiness that is there already.
bool epoll_driver::watch(descriptor& d, io_op& op) noexcept {
  const bool lacks_room = direction_of(op.kind) == direction_out && !d.watches_room &&
                          d.queue[direction_out].ready == readiness::no;
  if (is_watched(d) && !lacks_room) return true;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLPRI | EPOLLET;
  if (lacks_room) event.events |= EPOLLOUT;
  event.data.u64 = token_of(d);
  const int change = is_watched(d) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  if (::epoll_ctl(epoll_fd_, change, d.fd, &event) < 0) {
    const int error = errno;
    // EPERM: the descriptor has no readiness (/dev/null), so an operation that the budget has put
    // off is attempted.
    if (error == EPERM && d.queue[direction_of(op.kind)].ready != readiness::no) {
      host_.queue_attempt(op);
    } else {
      host_.finish(op, -error);
    }
    return false;
  }
  d.watches_room |= lacks_room;
  if (!is_watched(d)) advance(d, watch_event::watch);
  return true;
}

/// Relaxed: the count only determines how soon the next poll enters the kernel.
void epoll_driver::count_parked(int change) noexcept {
  if (core_.is_shared) [[unlikely]] {
    parked_.fetch_add(change, std::memory_order_relaxed);
  } else {
    parked_.store(parked_.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
  }
}

bool epoll_driver::poll(poll_mode mode, std::int64_t deadline) noexcept {
  begin_poll(mode);
  if (mode != poll_mode::drain && !core_.queue.empty()) mode = poll_mode::busy;

  if (mode == poll_mode::busy) {  // no flag says that there are events: ask now and then
    const std::int64_t now = core_.sys->now();
    const std::int64_t busy_ns = core_.is_shared ? shared_poll_ns : busy_visit_ns;
    // While no operation waits for an event, late attempts find the data, and edges coalesce until
    // the kernel is polled.
    const bool idle = parked_.load(std::memory_order_relaxed) == 0;
    if (now - last_poll_ < (idle ? idle_poll_ns : busy_ns)) return false;
    last_poll_ = now;
    collect(0, 0);
  } else if (mode == poll_mode::drain || has_due()) {
    collect(0, 0);
    if (mode == poll_mode::wait && core_.queue.empty()) attempt_due();
  } else if (core_.mail.sleep()) {
    collect(-1, deadline);
    core_.mail.awake();
  }
  return true;
}

int epoll_driver::wait_for_events(const timespec* limit) noexcept {
  const int room = static_cast<int>(events_.size());
  if (nanoseconds_) {
    const int count = ::epoll_pwait2(epoll_fd_, events_.data(), room, limit, nullptr);
    if (count >= 0) [[likely]]
      return count;
    const int error = errno;
    if (error != ENOSYS && error != EPERM) return no_events("epoll_pwait2", error);
    nanoseconds_ = false;  // before Linux 5.11, or a filter that does not know the call
  }
  int limit_ms = -1;  // rounded up: a timer is never early
  if (limit != nullptr) {
    limit_ms =
        limit->tv_sec > 1'000'000
            ? 1'000'000'000
            : static_cast<int>(limit->tv_sec * 1000 + (limit->tv_nsec + 999'999) / 1'000'000);
  }
  const int count = ::epoll_wait(epoll_fd_, events_.data(), room, limit_ms);
  return count >= 0 ? count : no_events("epoll_wait", errno);
}

void epoll_driver::collect(int timeout, std::int64_t deadline) noexcept {
  timespec limit{0, 0};
  const timespec* wait = &limit;
  if (timeout != 0 && deadline == INT64_MAX) {
    wait = nullptr;
  } else if (timeout != 0) {
    const std::int64_t left = deadline - core_.sys->now();
    if (left > 0) limit = {left / 1'000'000'000, left % 1'000'000'000};
  }
  for (;;) {
    ++core_.counters.kernel_entries;
    host_.pause_lock();
    const int count = wait_for_events(wait);
    host_.resume_lock();
    if (count == 0)
      return;  // a time-out, or EINTR (S9): the loop's next iteration recomputes the deadline
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events_[static_cast<std::size_t>(i)];
      if (event.data.u64 == wake_token) continue;
      ++core_.counters.completions;
      descriptor& d = core_.descriptors.at(static_cast<std::uint32_t>(event.data.u64));
      const descriptor_lock held(core_, d);
      if (token_of(d) != event.data.u64) continue;  // S7: the slot has a new owner
      note(d, event.events);
    }
    if (static_cast<std::size_t>(count) < events_.size() || events_.size() >= events_max) return;
    try {  // full: there may be more, and the next batch should fit
      events_.resize(events_.size() * 2);
    } catch (const std::bad_alloc&) {
      return;
    }
    limit = {0, 0};
    wait = &limit;
  }
}

}  // namespace beck::detail
