// SPDX-License-Identifier: BSL-1.0
// The errors that are refusals, and the exchanges that begin again.
#include "redis/session/repeat_rules.hpp"

#include <beck/base/assert.hpp>

namespace beck::redis::detail {

bool is_limit(const error_code& ec) noexcept {
  return ec == protocol_error::line_too_long || ec == protocol_error::too_deep ||
         ec == protocol_error::too_many_elements || ec == protocol_error::reply_too_large ||
         ec == protocol_error::push_too_large;
}

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

bool repeat_rules::may_repeat(exchange& one, const error_code& cause) const noexcept {
  const command_progress& progress = one.progress();
  if (one.is_greeting() || progress.attempts() >= attempts_) return false;
  if (progress.formatted() <= progress.answered()) return true;
  // Any of the replies may provoke an error of the syntax again.
  if (cause.category() == protocol_category() && !is_limit(cause)) return false;
  return one.terms().is_retryable || progress.only_reads_unanswered();
}

/// Returns whether a command with this error has not run, and may do so soon, here or at the server
/// of the next connection.
bool repeat_rules::may_run_later(const error_code& ec) const noexcept {
  return is_refused_for_now(ec) || (leaves_replicas_ && ec == error::readonly);
}

/// Returns whether a transaction has ended with EXECABORT, and so has not run, because of a command
/// that may run later. One that was sent whole before, over a connection that was lost, may have.
bool repeat_rules::is_aborted_for_now(exchange& one) const noexcept {
  if (!one.terms().is_whole || one.progress().was_sent_whole()) return false;
  const std::uint32_t last = one.commands() - 1;
  if (one.place_of(last).status().error() != error::exec_abort) return false;
  for (std::uint32_t i = 0; i < last; ++i) {
    if (may_run_later(one.place_of(i).status().error())) return true;
  }
  return false;
}

std::uint32_t repeat_rules::refused_from(exchange& one) const noexcept {
  BECK_ASSERT(one.answered() == one.commands(), "refusals were looked for before the last reply");
  std::uint32_t first = one.commands();
  while (first != 0 && may_run_later(one.place_of(first - 1).status().error())) --first;
  if (!one.terms().is_whole) return first;
  return first != one.commands() || is_aborted_for_now(one) ? 0 : first;
}

bool repeat_rules::may_send_later(exchange& one, std::int64_t now) const noexcept {
  const bool may_begin =
      !one.terms().is_whole || one.terms().is_retryable || is_aborted_for_now(one);
  return !one.is_greeting() && may_begin && now - one.begun_at() < refused_for_;
}

}  // namespace beck::redis::detail
