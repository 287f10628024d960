// SPDX-License-Identifier: BSL-1.0
// The time limits of a link: calls that wait for a connection, a server that is silent, a lane that
// is idle; and the PINGs that let a server speak.
#pragma once

#include <cstdint>
#include <memory>

#include <beck/coro/task.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/redis/exec.hpp>

#include "redis/session/handshake.hpp"
#include "redis/session/session.hpp"

namespace beck::redis::detail {

/// The clock of one link. Times are nanoseconds of the context's steady clock. Thread: that of the
/// context.
class link_clock {
 public:
  explicit link_clock(link& of);

  /// Starts to watch, as long as the link lives. Throws std::bad_alloc.
  void start();
  /// Looks at the times now, because something has changed.
  void look() noexcept { timer_.cancel(); }
  /// Looks now, if the bytes that came at `now` have set a time before the next look.
  void look_after_input(std::int64_t now) noexcept;
  /// Notes that a socket that was full has taken bytes, or that nothing was to be expected.
  void note_written(std::int64_t now) noexcept { wrote_at_ = now; }
  /// Ends the PING that is under way.
  void cancel_ping(session& from, const error_code& why) noexcept {
    if (ping_) from.cancel(*ping_, why);
  }
  /// Lets the session forget what is under way.
  void drop(session& from) noexcept {
    if (ping_ && ping_->is_under_way()) from.forget(*ping_);
  }

 private:
  static task<> watch(link_ref self);
  std::int64_t wake_at() const noexcept;
  std::int64_t idle_until() const noexcept;
  std::int64_t tend(std::int64_t now) noexcept;
  std::int64_t tend_waiting(std::int64_t now) noexcept;
  std::int64_t tend_ready(std::int64_t now, std::int64_t alive_at) noexcept;
  void send_ping(std::int64_t now) noexcept;

  link& link_;
  steady_timer timer_;
  std::unique_ptr<own_command> ping_;
  std::int64_t due_ = 0;       // the next look
  std::int64_t wrote_at_ = 0;  // see note_written()
  bool is_watching_ = false;
  bool was_late_ = false;  // the last look
};

}  // namespace beck::redis::detail
