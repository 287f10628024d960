// SPDX-License-Identifier: BSL-1.0
// The way of the bytes that come: each token goes to the reply that comes next or to a push, and
// the last one ends a command. Then its exchange ends, waits for its next reply, or is sent again.
#include "redis/session/read_side.hpp"

#include <cstring>

#include <beck/base/assert.hpp>

namespace beck::redis::detail {
namespace {

/// Returns the limits of a parser whose user reads and drops pushes that are too large.
parse_limits without_push_limit(parse_limits most) noexcept {
  most.push_bytes = UINT32_MAX;
  return most;
}

/// Returns whether the first reply behind commands without one may be that of CLIENT REPLY, which
/// the server has refused: then no later reply can be distinguished from unexpected ones.
/// `last` is the last token of the reply, and holds all of such an error.
bool is_out_of_step(const pending_entry& entry, const token& last) noexcept {
  if (!entry.is_behind_silence || last.type != data_type::simple_error || last.depth != 0)
    return false;
  const error why = error_of(last.text);
  if (why == error::err) return last.text.find("nknown ") == 5;  // command, or subcommand
  return why == error::busy || why == error::noperm || why == error::noauth;
}

}  // namespace

read_side::read_side(const session_limits& most, push_sink* pushes, const repeat_rules& rules,
                     exchange_queues& queues, write_side& writer, const command_guard& guard,
                     blocking_state& blocking) noexcept
    : rules_(rules),
      queues_(queues),
      writer_(writer),
      guard_(guard),
      blocking_(blocking),
      most_(without_push_limit(most.replies)),
      parser_(most_),
      pushes_(pushes, most.replies.push_bytes) {
  parser_.expect_pushes_inside(true);
}

// --- bytes and tokens

error_code read_side::received(std::string_view bytes, std::int64_t now) {
  now_ = now;
  const bool is_kept = !rest_.empty();
  if (is_kept) {
    keep(bytes);
    const auto all = rest_.view();
    bytes = {all.data(), all.size()};
  }
  const std::size_t size = bytes.size();
  parsed found;
  bool are_pushes = false;
  do {
    found = parser_.parse(bytes, tokens_, tokens_max);
    for (std::size_t i = 0; i < found.tokens; ++i) {
      are_pushes = tokens_[i].in_push;
      if (!are_pushes) heard_at_ = now;
      const error_code ec = take(tokens_[i]);
      if (ec) error_offset_ = parser_.offset();
      if (ec) return ec;
    }
    bytes.remove_prefix(found.consumed);
  } while (found.outcome == parse_outcome::full || found.outcome == parse_outcome::stopped);
  if (found.outcome == parse_outcome::refused) {
    error_offset_ = parser_.error_offset();
    return parser_.reason();
  }
  if (!are_pushes) heard_at_ = now;  // also a part of a long reply
  if (is_kept) {
    rest_.consume(size - bytes.size());
  } else if (!bytes.empty()) {
    keep(bytes);
  }
  return {};
}

/// Adds bytes to those that are no whole token yet.
void read_side::keep(std::string_view bytes) {
  std::memcpy(rest_.prepare(bytes.size()).data(), bytes.data(), bytes.size());
  rest_.commit(bytes.size());
}

/// Takes the next token of a push, or of the reply to the command that is first in line.
error_code read_side::take(const token& next) {
  if (next.in_push) {
    if (pushes_.take(next)) end_push();
    return {};
  }
  const pending_entry* const first = writer_.next_answered();
  if (first == nullptr) return protocol_error::unexpected_reply;
  if (const error_code ec = take_reply(next, *first); ec) return ec;
  if (next.is_last) end_reply();
  return {};
}

/// Reads a token into the place of the reply to the first command of `entry`. Returns an error if
/// it belongs to no reply of that command: the server is out of step.
error_code read_side::take_reply(const token& next, const pending_entry& entry) {
  exchange* const one = entry.of;
  if (!is_reading_) {
    is_reading_ = true;
    if (one != nullptr) {
      const reply_place place = one->place_of(one->answered());
      status_ = &place.status();
      reader_.begin(place, one->terms().limits);
    }
  }
  if (entry.is_guard && !guard_.is_answer(next)) return protocol_error::failed_guard;
  if (one != nullptr) {
    reader_.feed(next);
    if (token_watch* const to = one->watch().tokens; to != nullptr) to->see(one->answered(), next);
  }
  if (!next.is_last) return {};
  if (is_out_of_step(entry, next)) return protocol_error::unexpected_reply;
  push_answers* const pushes = one != nullptr ? one->watch().pushes : nullptr;
  if (pushes != nullptr && !pushes->is_in_step(one->answered()))
    return protocol_error::unexpected_reply;
  return {};
}

// --- ends

/// The last token of a push was taken. It may be the answer to the command that is first in line.
void read_side::end_push() {
  exchange* const one = is_reading_ ? nullptr : writer_.first();
  push_answers* const answers = one != nullptr ? one->watch().pushes : nullptr;
  if (answers != nullptr && one->answered() + 1 < one->commands() &&
      answers->is_answer(one->answered(), pushes_.message())) {
    status_ = &one->place_of(one->answered()).status();
    end_reply();
  }
  pushes_.pass_on();
}

/// The last token of a reply was taken.
void read_side::end_reply() noexcept {
  exchange* const one = writer_.end_reply();
  const bool is_of_blocking = writer_.in_flight() == 0 && blocking_.is_blocked();
  const error_code ec = end_value(one);
  if (rules_.is_of_replica(ec)) is_at_replica_ = true;
  if (is_of_blocking && one != nullptr && one == blocking_.stopped()) {
    end_stopped(*one, ec);
  } else {
    if (is_of_blocking) blocking_.end();
    if (one != nullptr && one->progress().note_answer() && !keep_refused(*one))
      writer_.end(*one, {});
  }
  writer_.end_silences();
}

/// Sets the outcome of the reply to the next command of `of`. Returns its error. `of`: nullptr: the
/// reply was dropped.
error_code read_side::end_value(exchange* of) noexcept {
  is_reading_ = false;
  if (of == nullptr) return {};
  BECK_ASSERT(status_ != nullptr, "the end of a reply that has not begun");
  const error_code ec = status_->error();
  const bool may_have_run = of->progress().was_sent_before() && is_refusal(ec);
  status_->set(may_have_run ? outcome::maybe_executed : outcome::executed);
  status_ = nullptr;
  return ec;
}

/// The server has answered to a command whose exchange was stopped: that it has ended the wait, or
/// with the reply that came before it was to do so.
void read_side::end_stopped(exchange& one, const error_code& ec) noexcept {
  if (ec == error::unblocked) return blocking_.unblock();
  const bool is_last = one.progress().note_answer();
  const error_code why = is_last ? error_code() : blocking_.reason();
  blocking_.end();
  queues_.take_out(one);
  writer_.end(one, why);
}

/// Keeps an exchange whose replies have all come, if its last commands were refused for now and
/// there is time left.
bool read_side::keep_refused(exchange& one) noexcept {
  const std::uint32_t first = rules_.refused_from(one);
  if (first == one.commands()) {
    queues_.reset_pause();
    return false;
  }
  if (!rules_.may_send_later(one, now_)) return false;
  one.progress().begin_at(first);
  queues_.refuse(one, now_);
  return true;
}

void read_side::leave(const exchange& one) noexcept {
  if (!is_reading_ || writer_.first() != &one) return;
  reader_.leave();
  status_ = nullptr;
}

void read_side::lose() noexcept {
  rest_.clear();
  parser_ = reply_parser(most_);
  parser_.expect_pushes_inside(true);
  reader_.leave();
  status_ = nullptr;
  is_reading_ = false;
  pushes_.lose();
  is_at_replica_ = false;
}

void read_side::trim() noexcept {
  if (rest_.empty()) rest_.release();
  pushes_.trim();
}

}  // namespace beck::redis::detail
