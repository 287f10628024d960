// SPDX-License-Identifier: BSL-1.0
// The blocking command of a lane's connection, and its end before its time. It is always the last
// command without reply: none is sent behind it.
#pragma once

#include <cstdint>

#include <beck/redis/exchange.hpp>

namespace beck::redis::detail {

enum class blocking : std::uint8_t {
  none,
  waiting,    ///< the command was written, and is not answered
  stopping,   ///< its exchange was stopped; its reply decides how that ends
  unblocked,  ///< the server has answered that it has ended the wait
};

enum class blocking_event : std::uint8_t {
  begin,
  stop,
  unblock,
  detach,  ///< the exchange is cancelled: the reply is nobody's
  end,
};

/// The blocking command of one connection after the other. Thread: that of the session.
class blocking_state {
 public:
  /// Begins a blocking command, which waits for other clients for `time` nanoseconds.
  void begin(std::int64_t time, std::int64_t now) noexcept;
  /// Lets the reply decide how the exchange of the command ends. Requires is_blocked().
  void stop(exchange& one, const error_code& why) noexcept;
  /// Takes the answer that the wait was ended. Requires that the exchange was stopped.
  void unblock() noexcept;
  /// Takes the end of the command, or of the exchange that was stopped. Requires that there is one.
  void end() noexcept;
  /// Takes the end of the connection.
  void lose() noexcept {
    if (state_ != blocking::none) end();
  }
  /// Forgets an exchange that is cancelled, if it was stopped.
  void detach(const exchange& one) noexcept;

  bool is_blocked() const noexcept {
    return state_ == blocking::waiting || state_ == blocking::stopping;
  }
  /// Returns whether the exchange was stopped, and the server has not answered to that.
  bool is_stopping() const noexcept { return state_ == blocking::stopping; }
  bool is_unblocked() const noexcept { return state_ == blocking::unblocked; }
  /// Returns the exchange that was stopped and has not ended; nullptr: there is none.
  exchange* stopped() const noexcept { return stopped_; }
  /// Returns the `why` of stop().
  const error_code& reason() const noexcept { return reason_; }
  /// Returns until when a server that was last heard at `heard_at` may be silent because of the
  /// command: for the time of its own argument, from its formatting or the reply before it.
  /// INT64_MIN: no command blocks.
  std::int64_t until(std::int64_t heard_at) const noexcept;

 private:
  exchange* stopped_ = nullptr;
  error_code reason_;
  std::int64_t begun_at_ = 0;
  std::int64_t time_ = 0;
  blocking state_ = blocking::none;
};

}  // namespace beck::redis::detail
