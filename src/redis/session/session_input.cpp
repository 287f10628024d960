// SPDX-License-Identifier: BSL-1.0
// The ends that replies and writes bring about: each token goes to the reply that comes next or to
// a push, and the last one ends a command.
#include "redis/session/session.hpp"

namespace beck::redis::detail {

error_code session::received(std::string_view bytes, std::int64_t now) {
  now_ = now;
  return input_.receive(bytes, now, [this](const token& next) { return take(next); });
}

error_code session::take(const token& next) {
  if (next.in_push) {
    if (pushes_.take(next)) end_push();
    return {};
  }
  if (pending_.empty()) return protocol_error::unexpected_reply;
  const pending_entry& first = pending_.front();
  if (first.is_silent) return protocol_error::unexpected_reply;
  if (const error_code ec = replies_.take(next, first); ec) return ec;
  if (next.is_last) end_reply();
  return {};
}

/// The last token of a push was taken. It may be the answer to the command that is first in line.
void session::end_push() {
  exchange* const one = replies_.is_reading() ? nullptr : pending_.first();
  push_answers* const answers = one != nullptr ? one->watch().pushes : nullptr;
  if (answers != nullptr && one->answered() + 1 < one->commands() &&
      answers->is_answer(one->answered(), pushes_.message())) {
    replies_.take_push(*one);
    end_reply();
  }
  pushes_.pass_on();
}

/// The last token of a reply was taken.
void session::end_reply() noexcept {
  const pending_entry& first = pending_.front();
  exchange* const one = first.of;
  if (first.is_guard) guard_.note_answer();
  pending_.end_reply();
  const bool is_of_blocking = pending_.empty() && blocking_.is_blocked();
  const error_code ec = replies_.end(one);
  if (rules_.is_of_replica(ec)) is_at_replica_ = true;
  if (is_of_blocking && one != nullptr && one == blocking_.stopped()) {
    end_stopped(*one, ec);
  } else {
    if (is_of_blocking) blocking_.end();
    if (one != nullptr && one->progress().note_answer() && !keep_refused(*one)) end(*one, {});
  }
  end_silences();
}

/// The server has answered to a command whose exchange was stopped: that it has ended the wait, or
/// with the reply that came before it was to do so.
void session::end_stopped(exchange& one, const error_code& ec) noexcept {
  if (ec == error::unblocked) return blocking_.unblock();
  const bool is_last = one.progress().note_answer();
  const error_code why = is_last ? error_code() : blocking_.reason();
  blocking_.end();
  queues_.take_out(one);
  end(one, why);
}

/// Keeps an exchange whose replies have all come, if its last commands were refused for now and
/// there is time left.
bool session::keep_refused(exchange& one) noexcept {
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

/// Ends the commands that are first in line, were written, and will not be answered: each is read
/// as a null.
void session::end_silences() noexcept {
  while (pending_.is_silence_due()) {
    exchange* const one = pending_.end_silence();
    if (one == nullptr) continue;
    replies_.take_silence(*one);
    if (one->progress().note_answer()) end(*one, {});
  }
}

void session::wrote(std::size_t bytes) noexcept {
  if (!writer_.take_written(bytes)) return;
  queues_.end_held();
  end_silences();
}

}  // namespace beck::redis::detail
