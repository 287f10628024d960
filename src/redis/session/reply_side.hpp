// SPDX-License-Identifier: BSL-1.0
// The reply that comes next: its tokens are read into the place of its command, and are checked to
// be the reply to that command.
#pragma once

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
  /// belongs to no reply of that command: the server is out of step. Throws as exchange::see().
  /// Behind the last token comes end().
  error_code take(const token& next, const pending_entry& entry);
  /// Takes a push as the whole reply to the next command of `one`. Then comes end().
  void take_push(exchange& one) noexcept { status_ = &one.place_of(one.answered()).status(); }
  /// Takes the end of the reply to the next command of `of`, and sets its outcome. Returns its
  /// error. `of`: nullptr: the reply is dropped.
  error_code end(const exchange* of) noexcept;
  /// Takes a null as the whole reply to the next command of `one`, which the server does not
  /// answer. It is not known whether the command has run.
  void take_silence(exchange& one) noexcept;
  /// Drops the rest of the reply: its exchange, or its connection, is gone.
  void leave() noexcept { reader_.leave(); }
  /// Takes the end of the connection.
  void lose() noexcept {
    leave();
    is_reading_ = false;
  }
  /// Returns whether a part of a reply has come.
  bool is_reading() const noexcept { return is_reading_; }

 private:
  const command_guard& guard_;
  reply_reader reader_;
  reply_status* status_ = nullptr;  // of the reply, if it is not dropped
  bool is_reading_ = false;
};

inline error_code reply_side::end(const exchange* of) noexcept {
  is_reading_ = false;
  if (of == nullptr) return {};
  const error_code ec = status_->error();
  const bool may_have_run = of->progress().was_sent_before() && is_refusal(ec);
  status_->set(may_have_run ? outcome::maybe_executed : outcome::executed);
  return ec;
}

}  // namespace beck::redis::detail
