// SPDX-License-Identifier: BSL-1.0
// The exchanges that a session has: those that wait, in the order in which they are sent, and the
// state of each.
#pragma once

#include <cstddef>
#include <cstdint>

#include <beck/redis/exchange.hpp>

namespace beck::redis::detail {

enum class exchange_event : std::uint8_t {
  submit,
  greet,
  send,           ///< the last command of one that waits is in a write
  send_greeting,  ///< the same of a greeting
  refuse,         ///< the server has refused the commands for now
  wake,           ///< refused commands are due again
  repeat,         ///< the connection is lost, and it goes over to the next one
  hold,           ///< it has ended, but a write refers to its bytes
  end,
};

/// The lists of a session. Greetings go before all others, which wait for the end of the greeting.
/// Times are nanoseconds of any one steady clock. Thread: that of the session.
class exchange_queues {
 public:
  using list = exchange::list;

  exchange_queues() noexcept = default;
  exchange_queues(const exchange_queues&) = delete;
  exchange_queues& operator=(const exchange_queues&) = delete;
  /// Requires that there is no exchange.
  ~exchange_queues();

  /// Takes an exchange behind all others.
  void submit(exchange& one, std::int64_t now) noexcept;
  /// Takes an exchange that is sent before all others.
  void greet(exchange& one, std::int64_t now) noexcept;

  // --- sending

  /// Lets the exchanges be sent that are no greetings.
  void open() noexcept { is_open_ = true; }
  /// Lets them wait, until open().
  void close() noexcept { is_open_ = false; }
  /// Returns the exchange whose commands are sent next; nullptr: there is none.
  exchange* next() noexcept {
    exchange* const one = greeting_.front();
    return one != nullptr || !is_open_ ? one : waiting_.front();
  }
  bool has_next() const noexcept { return !greeting_.empty() || (is_open_ && !waiting_.empty()); }
  /// Takes an exchange out of its list, behind its last command.
  void note_sent(exchange& one) noexcept;
  /// Lets all others go before an exchange that waits.
  void give_way(exchange& one) noexcept;

  // --- refusals for now

  /// Takes an exchange that is to be sent again behind a pause: the next one is twice as long,
  /// unless reset_pause() is called between.
  void refuse(exchange& one, std::int64_t now) noexcept;
  void reset_pause() noexcept { pause_ = 0; }
  /// Returns when wake() is due; INT64_MAX: nothing was refused.
  std::int64_t wake_at() const noexcept { return refused_.empty() ? INT64_MAX : wake_at_; }
  /// Lets refused exchanges be sent again, if it is time.
  void wake(std::int64_t now) noexcept;

  // --- losses

  /// Takes the end of a connection: all others than greetings wait. Refused ones are due.
  void lose(std::int64_t now) noexcept;
  /// Moves all greetings to `to`.
  void give_greetings(list& to) noexcept;
  /// Takes exchanges back in front of all others.
  void repeat(list& again) noexcept;

  // --- ends

  /// Takes an exchange out of the list that it is in, if it is in one.
  void take_out(exchange& one) noexcept;
  /// Ends an exchange that is in no list. done() is called inside.
  void end(exchange& one, const error_code& ec) noexcept;
  /// Keeps an exchange that is in no list; end_held() ends it.
  void hold(exchange& one, const error_code& ec) noexcept;
  void end_held() noexcept;
  /// Forgets an exchange without done().
  void forget(exchange& one) noexcept;
  /// Returns the first exchange of those that wait; nullptr: there is none.
  exchange* front() noexcept { return waiting_.front(); }
  /// Returns any exchange that is in a list; nullptr: there is none.
  exchange* any() noexcept;

  // --- observers

  bool is_waiting() const noexcept { return !waiting_.empty(); }
  /// Returns how many exchanges wait to be sent, for the first time or again.
  std::size_t waiting() const noexcept { return count_; }
  /// Returns since when the first one of those that wait has waited: since it came, or since the
  /// last connection that was open was lost, whichever is later. INT64_MAX: none waits.
  std::int64_t waiting_since() const noexcept;

 private:
  void leave_waiting() noexcept;

  list greeting_;
  list waiting_;
  list refused_;           // for now; sent again at wake_at_
  list held_;              // ended, but a write refers to their bytes
  std::size_t count_ = 0;  // in waiting_ and refused_
  std::int64_t wake_at_ = 0;
  std::int64_t pause_ = 0;  // the last one
  std::int64_t lost_at_ = INT64_MIN;
  bool is_open_ = false;
};

}  // namespace beck::redis::detail
