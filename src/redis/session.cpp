// SPDX-License-Identifier: BSL-1.0
// The life of exchanges: how they come, are cancelled, go over to the next connection, and end.
#include "redis/session.hpp"

#include <initializer_list>

#include <beck/base/assert.hpp>
#include <beck/redis/arguments.hpp>
#include <beck/redis/command_table.hpp>

namespace beck::redis::detail {
namespace {

/// Returns the limits of a parser whose user reads and drops pushes that are too large.
parse_limits without_push_limit(parse_limits most) noexcept {
  most.push_bytes = UINT32_MAX;
  return most;
}

}  // namespace

bool is_limit(const error_code& ec) noexcept {
  return ec == protocol_error::line_too_long || ec == protocol_error::too_deep ||
         ec == protocol_error::too_many_elements || ec == protocol_error::reply_too_large ||
         ec == protocol_error::push_too_large;
}

session::session(const session_limits& most, push_sink* pushes) noexcept
    : limits_(most), pushes_(pushes), parser_(without_push_limit(most.replies)) {
  parser_.expect_pushes_inside(true);
}

session::~session() {
  BECK_ASSERT(queue_.empty() && greeting_.empty() && refused_.empty() && held_.empty(),
              "a session was destroyed while exchanges were under way");
}

// --- coming

void session::begin(exchange& one, std::int64_t now) noexcept {
  BECK_ASSERT(!one.is_under_way_ && one.answered_ < one.commands_,
              "an exchange was submitted that has no commands, or is under way");
  one.is_under_way_ = true;
  one.begun_at_ = now;
  now_ = now;
}

void session::submit(exchange& one, std::int64_t now) noexcept {
  begin(one, now);
  one.is_greeting_ = false;
  ++waiting_;
  queue_.push_back(one);
}

void session::greet(exchange& one, std::int64_t now) noexcept {
  begin(one, now);
  one.is_greeting_ = true;
  greeting_.push_back(one);
}

// --- going

/// Takes an exchange out of the list that it is in, if it is in one.
void session::take_out(exchange& one) noexcept {
  if (!one.hook_.is_linked()) return;
  one.hook_.unlink();
  if (!one.is_greeting_ && !one.is_held_) --waiting_;
}

/// Takes an exchange away from its replies: they are dropped.
void session::detach(exchange& one) noexcept {
  if (stopping_ == &one) stopping_ = nullptr;
  if (one.formatted_ == one.answered_) return;
  std::uint64_t ticket = one.first_ticket_;
  if (ticket < pending_.first_ticket()) ticket = pending_.first_ticket();
  if (in_reply_ && pending_.front().of == &one) reader_.leave();
  for (; ticket <= one.last_ticket_; ++ticket) {
    if (pending_.at(ticket).of == &one) pending_.at(ticket).of = nullptr;
  }
}

void session::call_done(exchange& one, const error_code& ec) noexcept {
  one.is_under_way_ = false;
  one.done(ec);
}

/// Ends an exchange that is in no list: the replies that have not come get the error.
void session::end(exchange& one, const error_code& ec, std::string_view text) noexcept {
  const std::uint32_t sent = one.formatted_ > one.sent_ ? one.formatted_ : one.sent_;
  for (std::uint32_t i = one.answered_; i < one.commands_; ++i) {
    reply_status& status = one.place_of(i).status();
    status.set(ec, text);
    status.set(i < sent ? outcome::maybe_executed : outcome::not_sent);
  }
  if (is_lent(one)) {
    one.is_held_ = true;
    one.held_end_ = ec;
    held_.push_back(one);
  } else {
    call_done(one, ec);
  }
}

void session::end_held() noexcept {
  while (exchange* const one = held_.pop_front()) {
    one->is_held_ = false;
    call_done(*one, one->held_end_);
  }
}

void session::cancel(exchange& one, const error_code& why, std::string_view text) noexcept {
  if (!one.is_under_way_ || one.is_held_) return;
  BECK_ASSERT(!one.has_push_answers_ || one.formatted_ == 0,
              "a SUBSCRIBE was cancelled whose answer is on its way");
  take_out(one);
  detach(one);
  end(one, why, text);
}

bool session::stop(exchange& one, const error_code& why) noexcept {
  if (stopping_ == &one) return true;
  if (!is_blocked_ || pending_.at(pending_.next_ticket() - 1).of != &one) return false;
  stopping_ = &one;
  stop_reason_ = why;
  is_unblocked_ = false;
  is_ready_ = false;
  return true;
}

void session::end_unblocked() noexcept {
  exchange& one = *stopping_;
  reply_status& status = one.place_of(one.answered_).status();
  status.set(stop_reason_, {});
  status.set(outcome::executed);
  ++one.answered_;
  stopping_ = nullptr;
  take_out(one);
  end(one, stop_reason_);
}

void session::forget(exchange& one) noexcept {
  take_out(one);
  if (!one.is_held_) detach(one);
  one.is_under_way_ = false;
}

void session::drop_all() noexcept {
  if (exchange* const one = stopping_; is_unblocked()) {  // it may be in no list
    forget(*one);
    one->drop();
  }
  for (exchange_list* const list : {&greeting_, &queue_, &refused_, &held_}) {
    while (exchange* const one = list->front()) {
      forget(*one);
      one->drop();
    }
  }
  for (std::uint64_t t = pending_.first_ticket(); t != pending_.next_ticket(); ++t) {
    if (exchange* const one = pending_.at(t).of; one != nullptr) {
      forget(*one);
      one->drop();
    }
  }
}

void session::end_waiting(const error_code& why, std::int64_t before,
                          std::string_view text) noexcept {
  while (exchange* const one = queue_.front()) {
    if (waits_since(*one) >= before) return;
    cancel(*one, why, text);
  }
}

// --- connections

void session::connected(std::int64_t now) noexcept {
  BECK_ASSERT(pending_.empty() && segment_count_ == 0, "a connection begins before the last ends");
  heard_at_ = now;
  formatted_bytes_ = 0;
  written_bytes_ = 0;
}

bool session::begin_again() noexcept {
  if (!mode_.is_on() || is_blocked_ || is_waiting()) return false;
  for (std::uint64_t t = pending_.first_ticket(); t != pending_.next_ticket(); ++t) {
    if (pending_.at(t).of != nullptr) return false;
  }
  is_ready_ = false;
  return true;
}

void session::wake(std::int64_t now) noexcept {
  if (now < wake_at()) return;
  while (exchange* const one = refused_.back()) {
    refused_.erase(*one);
    queue_.push_front(*one);
  }
}

/// Returns how many commands of an entry the kernel has not taken whole.
std::uint32_t session::unsent_commands(const pending_entry& entry) const noexcept {
  if (entry.end <= written_bytes_) return 0;
  if (entry.begin >= written_bytes_) return entry.commands;
  command_cursor at(entry.of->parts_);
  at.pass(entry.first);
  std::uint64_t end = entry.begin;
  std::uint32_t sent = 0;
  for (;; ++sent) {  // ends: the last command is not sent
    const command_bytes next = at.peek(1, 0);
    end += next.wire.size();
    if (end > written_bytes_) return entry.commands - sent;
    at.pass(next);
  }
}

bool session::is_answered() noexcept {
  if (pending_.empty()) return true;
  const pending_entry& next = pending_.front();
  return next.of == nullptr ? next.end > written_bytes_ : next.left == unsent_commands(next);
}

/// Returns the exchange whose reply is over a limit, and would be so again; nullptr: there is none,
/// or it was cancelled.
exchange* session::offender(const error_code& cause) noexcept {
  const bool is_of_reply = is_limit(cause) && !in_push_ && !pending_.empty();
  return is_of_reply ? pending_.front().of : nullptr;
}

/// Returns whether an exchange may be sent again from the first command without reply on.
bool session::may_repeat(const exchange& one, const error_code& cause) const noexcept {
  if (one.is_greeting_ || one.attempts_ >= limits_.attempts) return false;
  if (one.formatted_ <= one.answered_) return true;
  // Any of the replies may provoke an error of the syntax again.
  if (cause.category() == protocol_category() && !is_limit(cause)) return false;
  if (one.is_retryable_) return true;
  command_cursor at(one.parts_);
  at.pass(one.answered_);
  for (std::uint32_t i = one.answered_; i < one.formatted_; ++i) {
    const command_bytes next = at.peek(1, 0);
    if (!facts_of(arguments(next.wire)).is_read_only()) return false;
    at.pass(next);
  }
  return true;
}

/// Begins a transaction from its MULTI again. Without its EXEC nothing of it has run.
void session::restart_whole(exchange& one) noexcept {
  one.answered_ = 0;
  if (one.formatted_ < one.commands_) one.formatted_ = 0;
}

void session::lost(const error_code& cause, std::int64_t now) noexcept {
  if (is_ready_) down_since_ = now;
  is_ready_ = false;
  reader_.leave();
  segment_ = 0;
  segment_count_ = 0;
  const exchange* const refused = offender(cause);
  const std::uint64_t behind = pending_.next_ticket();
  for (std::uint64_t t = pending_.first_ticket(); t != behind; ++t) {
    const pending_entry& entry = pending_.at(t);
    if (entry.of != nullptr) entry.of->formatted_ -= unsent_commands(entry);
  }
  exchange_list again;
  exchange_list ended;
  for (std::uint64_t t = pending_.first_ticket(); t != behind; ++t) {
    exchange* const one = pending_.at(t).of;
    if (one == nullptr) continue;
    for (std::uint64_t other = t; other <= one->last_ticket_; ++other) {
      if (pending_.at(other).of == one) pending_.at(other).of = nullptr;
    }
    take_out(*one);
    if (one->is_whole_) restart_whole(*one);
    if (one->formatted_ > one->sent_) one->sent_ = one->formatted_;
    ++one->attempts_;
    (one != refused && may_repeat(*one, cause) ? again : ended).push_back(*one);
  }
  while (exchange* const one = greeting_.pop_front()) ended.push_back(*one);
  if (is_unblocked()) {
    take_out(*stopping_);
    ended.push_back(*stopping_);
  }
  pending_.clear();
  stopping_ = nullptr;
  mode_ = reply_mode();
  was_silent_ = is_blocked_ = false;
  in_flight_ = 0;
  unguarded_ = 0;
  guards_passed_ = guards_;
  in_reply_ = false;
  is_at_replica_ = false;
  copied_.clear();
  rest_.clear();
  push_.clear();
  push_bytes_ = 0;
  in_push_ = is_push_cut_ = false;
  parser_ = reply_parser(without_push_limit(limits_.replies));
  parser_.expect_pushes_inside(true);
  wake(INT64_MAX);
  while (exchange* const one = again.back()) {
    again.erase(*one);
    one->formatted_ = one->answered_;
    one->at_ = command_cursor(one->parts_);
    one->at_.pass(one->answered_);
    ++waiting_;
    queue_.push_front(*one);
  }
  end_held();
  // A limit is the reason of one reply; the other calls have only lost their connection.
  const error_code aborted = make_error_code(std::errc::connection_aborted);
  while (exchange* const one = ended.pop_front())
    end(*one, is_limit(cause) && one != refused ? aborted : cause);
}

void session::trim() noexcept {
  if (segment_count_ == 0) copied_.release();
  if (rest_.empty()) rest_.release();
  if (pending_.empty()) pending_.release();
  if (push_.elements() == 0) push_.shrink();
}

// --- the commands of an exchange

command_bytes command_cursor::peek(std::uint32_t commands_max, std::size_t bytes_max) noexcept {
  while (passed_ == part_->commands) *this = command_cursor(part_ + 1);
  const std::string_view rest = part_->wire.substr(offset_);
  const std::uint32_t left = part_->commands - passed_;
  if (left <= commands_max && rest.size() <= bytes_max) return {rest, left};
  std::uint32_t commands = 0;
  std::size_t bytes = 0;
  while (commands < left && (commands == 0 || commands < commands_max)) {
    const std::size_t next = arguments(rest.substr(bytes)).wire().size();
    if (commands != 0 && bytes + next > bytes_max) break;
    bytes += next;
    ++commands;
  }
  return {rest.substr(0, bytes), commands};
}

void command_cursor::pass(std::uint32_t commands) noexcept {
  while (commands != 0) {
    const command_bytes some = peek(commands, static_cast<std::size_t>(-1));
    pass(some);
    commands -= some.commands;
  }
}

}  // namespace beck::redis::detail
