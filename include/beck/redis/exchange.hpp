// SPDX-License-Identifier: BSL-1.0
//
// One or more commands under way, with the places of their replies: the unit that a connection
// sends, answers, repeats or cancels. The operations of clients derive from it.
#pragma once

#include <beck/base/assert.hpp>
#include <beck/detail/intrusive_list.hpp>
#include <beck/redis/arguments.hpp>
#include <beck/redis/command_progress.hpp>
#include <beck/redis/reader.hpp>
#include <beck/redis/value.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::redis::detail {

class cluster_call;

/// The place of an exchange in a session.
enum class exchange_state : std::uint8_t {
  idle,      ///< no session has it
  greeting,  ///< it begins a connection, and is to be sent
  greeted,   ///< it began a connection, and is sent
  waiting,   ///< it is to be sent, or a part of it
  sent,
  refused,  ///< for now: it is to be sent again
  held,     ///< it has ended, but a write refers to its bytes
};

/// Knows the pushes that answer commands.
class push_answers {
 public:
  /// Returns whether a push answers the command `i`.
  virtual bool is_answer(std::uint32_t i, const value& push) noexcept = 0;
  /// Returns whether the reply that has come can be that of the command `i`; if not, the connection
  /// ends with unexpected_reply.
  virtual bool is_in_step(std::uint32_t i) noexcept = 0;

 protected:
  ~push_answers() = default;
};

/// Sees the tokens of replies.
class token_watch {
 public:
  /// Takes a token of the reply to the command `i`, which the reader has taken before. An exception
  /// ends the connection.
  virtual void see(std::uint32_t i, const token& next) = 0;

 protected:
  ~token_watch() = default;
};

/// The parts of the replies that are seen besides their values.
struct reply_watch {
  /// If set, each command but the last is answered by one push, or by an error: SUBSCRIBE and the
  /// like with one name, and PING behind them. The commands must not be cancelled once they were
  /// written.
  push_answers* pushes = nullptr;
  /// If set, it sees each token.
  token_watch* tokens = nullptr;
};

/// How commands may be sent, and their replies be read.
struct exchange_terms {
  reply_limits limits;  ///< of each reply
  /// Commands of which it is not known whether they have run are sent again although they may
  /// write.
  bool is_retryable = false;
  /// The commands are one unit, such as a transaction from MULTI to EXEC: they are sent without
  /// others between them, begin again together, and have no effect unless the last one was sent.
  bool is_whole = false;
};

/// The marks of a session on an exchange.
struct exchange_marks {
  /// Its entries among those that wait for replies: others may be between them.
  std::uint64_t first_ticket = 0;
  std::uint64_t last_ticket = 0;
  std::uint64_t lent_to = 0;  ///< the last write that refers to its bytes
};

/// Commands under way. Made by an operation, which keeps the bytes of the commands and the places
/// of the replies until done() is called. Thread: that of the session.
class exchange {
 public:
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;

  /// Returns the place of the reply to the command `i`.
  virtual reply_place place_of(std::uint32_t i) noexcept = 0;
  /// Called once, when all replies have come, or with the reason why the others will not. Each
  /// reply has its own error and outcome then. The exchange may be destroyed inside; the session
  /// must not be called.
  virtual void done(const error_code& ec) noexcept = 0;
  /// Called instead of done() when the context is destroyed: drops the handler. The exchange may be
  /// destroyed inside.
  virtual void drop() noexcept {}

  // --- the owner's description

  /// Sets the commands, one at least; those before are forgotten. `parts` must live until done().
  /// Requires that no session has the exchange.
  void set_commands(const command_bytes* parts, std::size_t count) noexcept {
    BECK_ASSERT(!is_under_way(), "commands were changed while they were under way");
    progress_.set(parts, count);
  }
  /// Returns the terms, which do not change while the commands are under way.
  exchange_terms& terms() noexcept { return terms_; }
  const exchange_terms& terms() const noexcept { return terms_; }
  /// Sets the objects that see the replies. They must live until done().
  void set_watch(const reply_watch& watch) noexcept {
    BECK_ASSERT(!is_under_way(), "the watch was changed while the commands were under way");
    watch_ = watch;
  }
  const reply_watch& watch() const noexcept { return watch_; }

  // --- its course

  /// Returns the number of commands.
  std::uint32_t commands() const noexcept { return progress_.commands(); }
  /// Returns how many replies have come.
  std::uint32_t answered() const noexcept { return progress_.answered(); }
  /// Returns whether a session or a cluster has it.
  bool is_under_way() const noexcept {
    return state_ != exchange_state::idle || taken_by_ != nullptr;
  }
  bool is_held() const noexcept { return state_ == exchange_state::held; }
  /// Returns whether it begins a connection, and ends with it.
  bool is_greeting() const noexcept {
    return state_ == exchange_state::greeting || state_ == exchange_state::greeted;
  }
  /// Returns when a session has taken it.
  std::int64_t begun_at() const noexcept { return begun_at_; }

  // --- for the parts of a session, and of a cluster

  command_progress& progress() noexcept { return progress_; }
  exchange_marks& marks() noexcept { return marks_; }
  /// Returns the call of a cluster that has taken the commands.
  cluster_call* taken_by() const noexcept { return taken_by_; }
  void set_taken_by(cluster_call* call) noexcept { taken_by_ = call; }

 protected:
  exchange() noexcept = default;
  exchange(exchange&& inert) noexcept : terms_(inert.terms_) {}
  virtual ~exchange() {
    BECK_ASSERT(!is_under_way(), "an exchange was destroyed while it was under way");
  }

 private:
  friend class exchange_queues;

  beck::detail::list_hook hook_;
  command_progress progress_;
  exchange_terms terms_;
  reply_watch watch_;
  std::int64_t begun_at_ = 0;
  exchange_marks marks_;
  error_code held_end_;               // how it ends with that write
  cluster_call* taken_by_ = nullptr;  // of a cluster
  exchange_state state_ = exchange_state::idle;

 public:
  /// A list of exchanges. Stands behind its hook, which it names.
  using list = beck::detail::intrusive_list<exchange, &exchange::hook_>;
};

}  // namespace beck::redis::detail
