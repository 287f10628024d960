// SPDX-License-Identifier: BSL-1.0
// Tokens of replies.
#include "redis/session/reply_side.hpp"

#include <beck/redis/error.hpp>

namespace beck::redis::detail {
namespace {

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

error_code reply_side::take(const token& next, const pending_entry& entry) {
  exchange* const one = entry.of;
  if (!is_reading_) {
    is_reading_ = true;
    if (one != nullptr) {
      const reply_place place = one->place_of(one->answered());
      status_ = &place.status();
      reader_.begin(place, one->limits());
    }
  }
  if (entry.is_guard && !guard_.is_answer(next)) return protocol_error::failed_guard;
  if (one != nullptr) {
    reader_.feed(next);
    if (one->watch() == reply_watch::tokens) one->see(one->answered(), next);
  }
  if (!next.is_last) return {};
  if (is_out_of_step(entry, next)) return protocol_error::unexpected_reply;
  if (one != nullptr && one->watch() == reply_watch::pushes && !one->is_in_step(one->answered()))
    return protocol_error::unexpected_reply;
  return {};
}

void reply_side::take_silence(exchange& one) noexcept {
  token none;
  none.is_last = true;
  const reply_place place = one.place_of(one.answered());
  reader_.begin(place, one.limits());
  reader_.feed(none);
  reader_.leave();
  place.status().set(outcome::maybe_executed);
}

}  // namespace beck::redis::detail
