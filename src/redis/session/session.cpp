// SPDX-License-Identifier: BSL-1.0
// The ends of exchanges from outside, and how they go over to the next connection.
#include "redis/session/session.hpp"

#include <beck/base/assert.hpp>

namespace beck::redis::detail {

session::session(const session_limits& most, push_sink* pushes) noexcept
    : rules_(most),
      guard_(most.guard, most.guard_seed),
      writer_(most, queues_, guard_, blocking_),
      reader_(most, pushes, rules_, queues_, writer_, guard_, blocking_) {
  BECK_ASSERT(most.in_flight != 0 && most.slice_commands != 0,
              "a session whose bounds have no room for a command");
}

// --- exchanges that end

/// Takes an exchange away from its replies: they are dropped.
void session::detach(exchange& one) noexcept {
  blocking_.detach(one);
  reader_.leave(one);
  writer_.detach(one);
}

void session::cancel(exchange& one, const error_code& why, std::string_view text) noexcept {
  if (!one.is_under_way() || one.is_held()) return;
  BECK_ASSERT(one.watch().pushes == nullptr || one.progress().formatted() == 0,
              "a SUBSCRIBE was cancelled whose answer is on its way");
  queues_.take_out(one);
  detach(one);
  writer_.end(one, why, text);
}

bool session::stop(exchange& one, const error_code& why) noexcept {
  if (blocking_.stopped() == &one) return true;
  if (!blocking_.is_blocked() || !writer_.is_last(one)) return false;
  blocking_.stop(one, why);
  queues_.close();
  return true;
}

void session::end_unblocked() noexcept {
  BECK_ASSERT(blocking_.is_unblocked(), "the end of a wait that the server has not ended");
  exchange& one = *blocking_.stopped();
  const error_code why = blocking_.reason();
  reply_status& status = one.place_of(one.answered()).status();
  status.set(why, {});
  status.set(outcome::executed);
  one.progress().note_answer();
  blocking_.end();
  queues_.take_out(one);
  writer_.end(one, why);
}

void session::forget(exchange& one) noexcept {
  if (!one.is_held()) detach(one);
  queues_.forget(one);
}

void session::drop_all() noexcept {
  reader_.lose();  // the value that a reply is read into goes with its exchange
  const auto drop = [this](exchange& one) {
    forget(one);
    one.drop();
  };
  if (blocking_.is_unblocked()) drop(*blocking_.stopped());  // it may be in no list
  while (exchange* const one = queues_.any()) drop(*one);
  while (exchange* const one = writer_.take_exchange()) drop(*one);
}

void session::end_waiting(const error_code& why, std::int64_t before,
                          std::string_view text) noexcept {
  while (queues_.waiting_since() < before) cancel(*queues_.front(), why, text);
}

// --- connections

void session::connected(std::int64_t now) noexcept {
  writer_.begin();
  reader_.begin(now);
}

bool session::begin_again() noexcept {
  if (writer_.is_silenced() || blocking_.is_blocked() || queues_.is_waiting()) return false;
  if (writer_.has_exchanges()) return false;
  queues_.close();
  return true;
}

void session::lost(const error_code& cause, std::int64_t now) noexcept {
  // Its reply is over a limit, and would be so again; nullptr: there is none, or it was cancelled.
  const bool is_of_reply = is_limit(cause) && !reader_.is_in_push();
  const exchange* const refused = is_of_reply ? writer_.first() : nullptr;
  exchange_queues::list again;
  exchange_queues::list ended;
  writer_.take_back_unsent();
  while (exchange* const one = writer_.take_exchange()) {
    queues_.take_out(*one);
    one->progress().note_loss(one->terms().is_whole);
    const bool may_repeat = one != refused && rules_.may_repeat(*one, cause);
    if (may_repeat) one->progress().begin_at(one->answered());
    (may_repeat ? again : ended).push_back(*one);
  }
  queues_.give_greetings(ended);
  if (blocking_.is_unblocked()) {
    queues_.take_out(*blocking_.stopped());
    ended.push_back(*blocking_.stopped());
  }
  blocking_.lose();
  writer_.lose();
  reader_.lose();
  queues_.lose(now);
  queues_.repeat(again);
  queues_.end_held();
  // A limit is the reason of one reply; the other calls have only lost their connection.
  const error_code aborted = make_error_code(std::errc::connection_aborted);
  while (exchange* const one = ended.pop_front())
    writer_.end(*one, is_limit(cause) && one != refused ? aborted : cause);
}

void session::trim() noexcept {
  writer_.trim();
  reader_.trim();
}

}  // namespace beck::redis::detail
