// SPDX-License-Identifier: BSL-1.0
// The input of a session: tokens go to the reply of the command that is first in line, or to the
// pushes.
#include "redis/session.hpp"

#include <cstring>
#include <utility>

namespace beck::redis::detail {
namespace {

constexpr std::int64_t refused_pause_first = 10'000'000;  // nanoseconds, doubling
constexpr std::int64_t refused_pause_most = 1'000'000'000;
constexpr std::size_t push_element_bytes = 4;  // the shortest one on the wire, but for a null

}  // namespace

bool is_refused_for_now(const error_code& ec) noexcept {
  return ec == error::loading || ec == error::masterdown || ec == error::tryagain ||
         ec == error::clusterdown || ec == error::busy;
}

bool is_refusal(const error_code& ec) noexcept {
  return is_refused_for_now(ec) || ec == error::moved || ec == error::ask ||
         ec == error::cross_slot || ec == error::readonly || ec == error::exec_abort ||
         ec == error::noauth || ec == error::noperm || ec == error::oom || ec == error::misconf ||
         ec == error::noreplicas;
}

/// Returns whether a command with this error has not run, and may do so soon, here or at the server
/// of the next connection.
bool session::may_run_later(const error_code& ec) const noexcept {
  return is_refused_for_now(ec) || (limits_.leaves_replicas && ec == error::readonly);
}

/// Returns whether a transaction has ended with EXECABORT, and so has not run, because of a command
/// that may run later. One that was sent whole before, over a connection that was lost, may have.
bool session::is_aborted_for_now(exchange& one) const noexcept {
  if (!one.is_whole_ || one.sent_ == one.commands_) return false;
  if (one.place_of(one.commands_ - 1).status().error() != error::exec_abort) return false;
  for (std::uint32_t i = 0; i + 1 < one.commands_; ++i) {
    if (may_run_later(one.place_of(i).status().error())) return true;
  }
  return false;
}

/// Keeps an exchange whose replies have all come, if its last commands were refused for now and
/// there is time left. Commands behind which another one has run are not sent again, and those of a
/// unit only together.
bool session::keep_refused(exchange& one) noexcept {
  std::uint32_t first = one.commands_;
  while (first != 0 && may_run_later(one.place_of(first - 1).status().error())) --first;
  const bool is_aborted = is_aborted_for_now(one);
  if (first == one.commands_ && !is_aborted) {
    wake_pause_ = 0;
    return false;
  }
  const bool may_begin_again = !one.is_whole_ || one.is_retryable_ || is_aborted;
  if (one.is_greeting_ || !may_begin_again || now_ - one.begun_at_ >= limits_.refused_for)
    return false;
  if (one.is_whole_) first = 0;
  if (refused_.empty()) {
    wake_pause_ = wake_pause_ == 0 ? refused_pause_first : 2 * wake_pause_;
    if (wake_pause_ > refused_pause_most) wake_pause_ = refused_pause_most;
    wake_at_ = now_ + wake_pause_;
  }
  one.answered_ = one.formatted_ = first;
  one.at_ = command_cursor(one.parts_);
  one.at_.pass(first);
  ++waiting_;
  refused_.push_back(one);
  return true;
}

/// The last token of a reply was taken.
void session::end_reply() noexcept {
  pending_entry& entry = pending_.front();
  exchange* const one = entry.of;
  in_reply_ = false;
  --in_flight_;
  if (entry.is_guard) ++guards_passed_;
  if (--entry.left == 0) pending_.pop();
  if (pending_.empty()) is_blocked_ = false;  // nothing is sent behind a blocking command
  if (one != nullptr) {
    const error_code& ec = status_->error();
    const bool was_sent_before = one->answered_ < one->sent_;
    status_->set(was_sent_before && is_refusal(ec) ? outcome::maybe_executed : outcome::executed);
    if (limits_.leaves_replicas && (ec == error::readonly || ec == error::masterdown))
      is_at_replica_ = true;
    if (one == stopping_ && !is_blocked_ && status_->error() == error::unblocked) {
      is_unblocked_ = true;
    } else {
      take_reply(*one);
    }
  }
  end_silent();
}

/// Ends an exchange with its last reply; one that was stopped with that of its blocking command,
/// which the server has answered before it was to end the wait.
void session::take_reply(exchange& one) noexcept {
  const bool is_last = ++one.answered_ == one.commands_;
  if (&one == stopping_ && !is_blocked_) {
    stopping_ = nullptr;
    take_out(one);
    end(one, is_last ? error_code() : stop_reason_);
  } else if (is_last && !keep_refused(one)) {
    end(one, error_code());
  }
}

/// Ends the commands that are first in line, were written, and will not be answered: each is read
/// as a null, and it is not known whether it has run.
void session::end_silent() noexcept {
  while (!pending_.empty() && pending_.front().is_silent &&
         pending_.front().end <= written_bytes_) {
    exchange* const one = pending_.front().of;
    pending_.pop();
    --in_flight_;
    if (one == nullptr) continue;
    token none;
    none.is_last = true;
    const reply_place place = one->place_of(one->answered_);
    reader_.begin(place, one->limits_);
    reader_.feed(none);
    reader_.leave();
    place.status().set(outcome::maybe_executed);
    if (++one->answered_ == one->commands_) end(*one, error_code());
  }
}

/// Returns whether the first reply behind commands without one may be that of CLIENT REPLY, which
/// the server has refused: then no later reply can be distinguished from unexpected ones.
/// `last` is the last token of the reply, and holds all of such an error.
bool session::is_out_of_step(const pending_entry& entry, const token& last) noexcept {
  if (!entry.is_behind_silence || last.type != data_type::simple_error || last.depth != 0)
    return false;
  const error why = error_of(last.text);
  if (why == error::err) return last.text.find("nknown ") == 5;  // command, or subcommand
  return why == error::busy || why == error::noperm || why == error::noauth;
}

/// Returns whether a token belongs to the reply to the guard that is first in line. A server that
/// refuses all commands for now refuses this one, too.
bool session::is_guarded(const token& next) const noexcept {
  if (next.type == data_type::attribute || next.depth != 0) return true;
  if (next.type == data_type::simple_error) return is_refused_for_now(error_of(next.text));
  const auto text = guard_text(limits_.guard_seed, guards_passed_);
  return next.type == data_type::bulk_string &&
         next.text == std::string_view(text.data(), text.size());
}

/// The last token of a push was taken. It may be the answer to the command that is first in line.
void session::end_push() {
  exchange* const one = pending_.empty() || in_reply_ ? nullptr : pending_.front().of;
  if (one != nullptr && one->has_push_answers_ && one->answered_ + 1 < one->commands_ &&
      one->is_answer(one->answered_, push_)) {
    status_ = &one->place_of(one->answered_).status();
    end_reply();
  }
  const bool is_cut = std::exchange(is_push_cut_, false);
  in_push_ = false;
  push_bytes_ = 0;
  if (pushes_ != nullptr && is_cut) pushes_->take_cut_push(push_);
  if (pushes_ != nullptr && !is_cut) pushes_->take_push(push_);
  push_.clear();
}

/// Takes a token of a push. From the element on that is too large it is dropped, with the sizes
/// that are announced in mind: what was read before names the channel.
void session::take_of_push(const token& next) {
  in_push_ = true;
  const bool is_element = next.part <= text_part::first;
  push_bytes_ += next.text.size() + (is_element ? push_element_bytes : 0);
  std::size_t bytes = push_bytes_;
  if (next.part == text_part::first && next.number != unknown_size)
    bytes += static_cast<std::size_t>(next.number) - next.text.size();
  if (!is_push_cut_ && bytes > limits_.replies.push_bytes && next.depth != 0) {
    is_push_cut_ = true;
    token none;
    none.depth = 1;
    none.is_last = true;
    push_.append(none);
  }
  if (!is_push_cut_) push_.append(next);
  if (next.is_last) end_push();
}

error_code session::take(const token& next) {
  if (next.in_push) {
    take_of_push(next);
    return {};
  }
  if (pending_.empty() || pending_.front().is_silent) return protocol_error::unexpected_reply;
  exchange* const one = pending_.front().of;
  if (!in_reply_) {
    in_reply_ = true;
    if (one != nullptr) {
      const reply_place place = one->place_of(one->answered_);
      status_ = &place.status();
      reader_.begin(place, one->limits_);
    }
  }
  if (pending_.front().is_guard && !is_guarded(next)) return protocol_error::failed_guard;
  if (one != nullptr) reader_.feed(next);
  if (one != nullptr && one->sees_tokens_) one->see(one->answered_, next);
  if (!next.is_last) return {};
  if (is_out_of_step(pending_.front(), next)) return protocol_error::unexpected_reply;
  if (one != nullptr && one->has_push_answers_ && !one->is_in_step(one->answered_))
    return protocol_error::unexpected_reply;
  end_reply();
  return {};
}

/// Adds bytes to those that are no whole token yet.
void session::keep(std::string_view bytes) {
  std::memcpy(rest_.prepare(bytes.size()).data(), bytes.data(), bytes.size());
  rest_.commit(bytes.size());
}

error_code session::received(std::string_view bytes, std::int64_t now) {
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

}  // namespace beck::redis::detail
