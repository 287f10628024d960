// SPDX-License-Identifier: BSL-1.0
// The lists of exchanges, and the table of their states.
#include "redis/session/exchange_queues.hpp"

#include <algorithm>

#include <beck/base/assert.hpp>

#include "base/transitions.hpp"

namespace beck::redis::detail {
namespace {

constexpr std::int64_t refused_pause_first = 10'000'000;  // nanoseconds, doubling
constexpr std::int64_t refused_pause_most = 1'000'000'000;

/// In the order of exchange_event.
constexpr beck::detail::transition_table<exchange_state, 9> exchange_transitions = [] {
  using beck::detail::any_but;
  using beck::detail::any_of;
  using enum exchange_state;
  return beck::detail::transition_table<exchange_state, 9>{{
      /* submit        */ {waiting, any_of({idle})},
      /* greet         */ {greeting, any_of({idle})},
      /* send          */ {sent, any_of({waiting})},
      /* send_greeting */ {greeted, any_of({greeting})},
      /* refuse        */ {refused, any_of({sent})},
      /* wake          */ {waiting, any_of({refused})},
      /* repeat        */ {waiting, any_of({waiting, sent})},
      /* hold          */ {held, any_but({idle, held})},
      /* end           */ {idle, any_but({idle})},
  }};
}();

}  // namespace

exchange_queues::~exchange_queues() {
  BECK_ASSERT(any() == nullptr, "a session was destroyed while exchanges were under way");
}

void exchange_queues::submit(exchange& one, std::int64_t now) noexcept {
  BECK_ASSERT(one.answered() < one.commands(), "an exchange was submitted that has no commands");
  advance(one.state_, exchange_event::submit, exchange_transitions);
  one.begun_at_ = now;
  ++count_;
  waiting_.push_back(one);
}

void exchange_queues::greet(exchange& one, std::int64_t now) noexcept {
  BECK_ASSERT(one.answered() < one.commands(), "a greeting has no commands");
  advance(one.state_, exchange_event::greet, exchange_transitions);
  one.begun_at_ = now;
  greeting_.push_back(one);
}

// --- sending

/// Counts one exchange less among those that wait.
void exchange_queues::leave_waiting() noexcept {
  BECK_ASSERT(count_ != 0, "more exchanges leave the queue than have come");
  --count_;
}

void exchange_queues::note_sent(exchange& one) noexcept {
  one.hook_.unlink();
  if (one.is_greeting()) {
    advance(one.state_, exchange_event::send_greeting, exchange_transitions);
  } else {
    leave_waiting();
    advance(one.state_, exchange_event::send, exchange_transitions);
  }
}

void exchange_queues::give_way(exchange& one) noexcept {
  BECK_ASSERT(one.state_ == exchange_state::waiting, "an exchange gave way that does not wait");
  one.hook_.unlink();
  waiting_.push_back(one);
}

// --- refusals for now

void exchange_queues::refuse(exchange& one, std::int64_t now) noexcept {
  if (refused_.empty()) {
    pause_ = pause_ == 0 ? refused_pause_first : std::min(2 * pause_, refused_pause_most);
    wake_at_ = now + pause_;
  }
  advance(one.state_, exchange_event::refuse, exchange_transitions);
  ++count_;
  refused_.push_back(one);
}

void exchange_queues::wake(std::int64_t now) noexcept {
  if (now < wake_at()) return;
  while (exchange* const one = refused_.back()) {
    refused_.erase(*one);
    advance(one->state_, exchange_event::wake, exchange_transitions);
    waiting_.push_front(*one);
  }
}

// --- losses

void exchange_queues::lose(std::int64_t now) noexcept {
  if (is_open_) lost_at_ = now;
  is_open_ = false;
  wake(INT64_MAX);
}

void exchange_queues::give_greetings(list& to) noexcept {
  while (exchange* const one = greeting_.pop_front()) to.push_back(*one);
}

void exchange_queues::repeat(list& again) noexcept {
  while (exchange* const one = again.back()) {
    again.erase(*one);
    advance(one->state_, exchange_event::repeat, exchange_transitions);
    ++count_;
    waiting_.push_front(*one);
  }
}

// --- ends

void exchange_queues::take_out(exchange& one) noexcept {
  if (!one.hook_.is_linked()) return;
  one.hook_.unlink();
  if (one.state_ == exchange_state::waiting || one.state_ == exchange_state::refused)
    leave_waiting();
}

void exchange_queues::end(exchange& one, const error_code& ec) noexcept {
  BECK_ASSERT(!one.hook_.is_linked(), "an exchange ends while it is in a list");
  advance(one.state_, exchange_event::end, exchange_transitions);
  one.done(ec);
}

void exchange_queues::hold(exchange& one, const error_code& ec) noexcept {
  advance(one.state_, exchange_event::hold, exchange_transitions);
  one.held_end_ = ec;
  held_.push_back(one);
}

void exchange_queues::end_held() noexcept {
  while (exchange* const one = held_.pop_front()) {
    const error_code why = one->held_end_;  // the exchange may be gone before done() has returned
    end(*one, why);
  }
}

void exchange_queues::forget(exchange& one) noexcept {
  take_out(one);
  advance(one.state_, exchange_event::end, exchange_transitions);
}

std::int64_t exchange_queues::waiting_since() const noexcept {
  const exchange* const one = waiting_.front();
  return one == nullptr ? INT64_MAX : std::max(one->begun_at(), lost_at_);
}

exchange* exchange_queues::any() noexcept {
  for (list* const some : {&greeting_, &waiting_, &refused_, &held_}) {
    if (exchange* const one = some->front(); one != nullptr) return one;
  }
  return nullptr;
}

}  // namespace beck::redis::detail
