// SPDX-License-Identifier: BSL-1.0
// The time limits of a connection: for a peer that is silent or takes no bytes, and for the end.
#pragma once

#include <cstdint>

#include <beck/io/steady_timer.hpp>

namespace beck::websocket::detail {

class session;

/// The timer of a session, and the limits that it watches. A silent peer gets a ping, and has to
/// answer it. Times are nanoseconds of the context's steady clock. Thread: that of the context.
class session_clock {
 public:
  explicit session_clock(session& of);

  // --- the silence of the peer: the time of all waits since its last byte
  /// Notes that a coroutine waits for bytes of the peer, until note_heard() or end_wait().
  void begin_wait() noexcept;
  void note_heard() noexcept;
  /// Notes that the wait has ended without bytes; does nothing if there is none.
  void end_wait() noexcept;
  /// Notes that the first `removed` bytes of the output were sent. The time for a pong begins when
  /// the ping was sent.
  void note_sent(std::uint64_t removed) noexcept {
    if (ping_end_ != 0 && removed >= ping_end_) note_ping_sent();
  }

  /// Starts the limit for a peer that takes bytes: at least one in each limits::send_timeout.
  /// Requires that the output is being written.
  void watch_sending() noexcept;

  /// Starts the limit for the end of the connection. Later calls do nothing.
  void limit_end() noexcept;
  /// Ends all limits. Requires that the session is lost.
  void stop() noexcept;

 private:
  void arm(std::int64_t at) noexcept;
  void on_alarm() noexcept;
  bool check_end(std::int64_t now, std::int64_t& next) noexcept;
  bool check_sending(std::int64_t now, std::int64_t& next) noexcept;
  bool check_silence(std::int64_t now, std::int64_t& next) noexcept;
  void note_ping_sent() noexcept;
  std::int64_t silence_at(std::int64_t now) const noexcept;
  std::int64_t patience() const noexcept;

  session& session_;
  std::int64_t waits_since_ = -1;  // -1: no coroutine waits for the peer
  std::int64_t silence_ = 0;       // of earlier waits, since the last byte
  std::int64_t pinged_at_ = -1;    // the silence after which a ping was sent; -1: none was
  std::uint64_t ping_end_ = 0;  // of a ping in the output, in all that was added; 0: none is there
  std::int64_t close_due_ = INT64_MAX;
  std::int64_t send_due_ = INT64_MAX;
  std::uint64_t sent_at_check_ = 0;
  std::int64_t armed_ = INT64_MAX;  // when the timer expires
  steady_timer timer_;
};

}  // namespace beck::websocket::detail
