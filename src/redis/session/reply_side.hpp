// SPDX-License-Identifier: BSL-1.0
// The reply that comes next: its tokens are read into the place of its command, and are checked to
// be the reply to that command.
#pragma once

#include <beck/base/assert.hpp>
#include <beck/redis/error.hpp>
#include <beck/redis/exchange.hpp>
#include <beck/redis/reader.hpp>
#include <beck/redis/resp3.hpp>

#include "redis/session/command_guard.hpp"
#include "redis/session/pending_ring.hpp"
#include "redis/session/repeat_rules.hpp"

namespace beck::redis::detail {

/// One reply after the other. Thread: that of the session.
class reply_side {
 public:
  explicit reply_side(const command_guard& guard) noexcept : guard_(guard) {}

  /// Takes the next token of the reply to the first command of `entry`. Returns an error if it
  /// belongs to no reply of that command: the server is out of step. Throws as token_watch::see().
  /// Behind the last token comes end().
  error_code take(const token& next, const pending_entry& entry);
  /// Takes a push as the whole reply to the next command of `one`. Then comes end().
  void take_push(exchange& one) noexcept {
    BECK_ASSERT(!is_reading_, "a push answers a command whose reply has begun");
    status_ = &one.place_of(one.answered()).status();
  }
  /// Takes the end of the reply to the next command of `of`, and sets its outcome. Returns its
  /// error. `of`: nullptr: the reply is dropped.
  error_code end(exchange* of) noexcept;
  /// Takes a null as the whole reply to the next command of `one`, which the server does not
  /// answer. It is not known whether the command has run.
  void take_silence(exchange& one) noexcept;
  /// Drops the rest of the reply: its exchange, or its connection, is gone.
  void leave() noexcept {
    reader_.leave();
    status_ = nullptr;
  }
  /// Takes the end of the connection.
  void lose() noexcept {
    leave();
    is_reading_ = false;
  }
  /// Returns whether a part of a reply has come.
  bool is_reading() const noexcept { return is_reading_; }

 private:
  static bool is_out_of_step(const pending_entry& entry, const token& last) noexcept;

  const command_guard& guard_;
  reply_reader reader_;
  reply_status* status_ = nullptr;  // of the reply, if it is not dropped
  bool is_reading_ = false;
};

/// Returns whether the first reply behind commands without one may be that of CLIENT REPLY, which
/// the server has refused: then no later reply can be distinguished from unexpected ones.
/// `last` is the last token of the reply, and holds all of such an error.
inline bool reply_side::is_out_of_step(const pending_entry& entry, const token& last) noexcept {
  if (!entry.is_behind_silence || last.type != data_type::simple_error || last.depth != 0)
    return false;
  const error why = error_of(last.text);
  if (why == error::err) return last.text.find("nknown ") == 5;  // command, or subcommand
  return why == error::busy || why == error::noperm || why == error::noauth;
}

inline error_code reply_side::take(const token& next, const pending_entry& entry) {
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

inline void reply_side::take_silence(exchange& one) noexcept {
  BECK_ASSERT(!is_reading_, "a command ends without a reply while its reply is read");
  token none;
  none.is_last = true;
  const reply_place place = one.place_of(one.answered());
  reader_.begin(place, one.terms().limits);
  reader_.feed(none);
  reader_.leave();
  place.status().set(outcome::maybe_executed);
}

inline error_code reply_side::end(exchange* of) noexcept {
  is_reading_ = false;
  if (of == nullptr) return {};
  BECK_ASSERT(status_ != nullptr, "the end of a reply that has not begun");
  const error_code ec = status_->error();
  const bool may_have_run = of->progress().was_sent_before() && is_refusal(ec);
  status_->set(may_have_run ? outcome::maybe_executed : outcome::executed);
  status_ = nullptr;
  return ec;
}

}  // namespace beck::redis::detail
