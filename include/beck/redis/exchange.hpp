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

/// What an exchange sees of the replies besides their values.
enum class reply_watch : std::uint8_t {
  none,
  pushes,  ///< see exchange::set_push_answers()
  tokens,  ///< see exchange::set_sees_tokens()
};

/// The entries of an exchange among those that wait for replies: others may be between them.
struct ticket_range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
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
  /// Returns whether a push answers the command `i`. Called only after set_push_answers().
  virtual bool is_answer(std::uint32_t i, const value& push) noexcept {
    static_cast<void>(i);
    static_cast<void>(push);
    return false;
  }
  /// Returns whether the reply that has come can be that of the command `i`; if not, the connection
  /// ends with unexpected_reply. Called only after set_push_answers().
  virtual bool is_in_step(std::uint32_t i) noexcept {
    static_cast<void>(i);
    return true;
  }
  /// Takes a token of the reply to the command `i`, which the reader has taken before. Called only
  /// after set_sees_tokens(). An exception ends the connection.
  virtual void see(std::uint32_t i, const token& next) {
    static_cast<void>(i);
    static_cast<void>(next);
  }
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
  /// Sets that commands of which it is not known whether they have run are sent again although they
  /// may write.
  void set_retryable(bool is_retryable) noexcept { is_retryable_ = is_retryable; }
  bool is_retryable() const noexcept { return is_retryable_; }
  /// Sets that the commands are one unit, such as a transaction from MULTI to EXEC: they are sent
  /// without others between them, begin again together, and have no effect unless the last one was
  /// sent.
  void set_whole() noexcept {
    BECK_ASSERT(!is_under_way(), "commands became one unit while they were under way");
    is_whole_ = true;
  }
  /// Returns whether they are one unit.
  bool is_whole() const noexcept { return is_whole_; }
  /// Sets that each command but the last is answered by one push, or by an error: SUBSCRIBE and the
  /// like with one name, and PING behind them. Requires that it is not cancelled once it was
  /// written.
  void set_push_answers() noexcept {
    BECK_ASSERT(watch_ == reply_watch::none, "an exchange watches replies in one way");
    watch_ = reply_watch::pushes;
  }
  /// Sets that see() is called with each token.
  void set_sees_tokens() noexcept {
    BECK_ASSERT(watch_ == reply_watch::none, "an exchange watches replies in one way");
    watch_ = reply_watch::tokens;
  }
  reply_watch watch() const noexcept { return watch_; }
  /// Sets the bounds of each reply.
  void set_limits(const reply_limits& most) noexcept { limits_ = most; }
  const reply_limits& limits() const noexcept { return limits_; }

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
  const command_progress& progress() const noexcept { return progress_; }
  ticket_range& tickets() noexcept { return tickets_; }
  /// Notes that a write refers to its bytes.
  void lend_to(std::uint64_t write) noexcept { lent_to_ = write; }
  bool is_lent_to(std::uint64_t write) const noexcept { return lent_to_ == write; }
  /// Returns the call of a cluster that has taken the commands.
  cluster_call* taken_by() const noexcept { return taken_by_; }
  void set_taken_by(cluster_call* call) noexcept { taken_by_ = call; }

 protected:
  exchange() noexcept = default;
  exchange(exchange&& inert) noexcept
      : limits_(inert.limits_), is_retryable_(inert.is_retryable_), is_whole_(inert.is_whole_) {}
  virtual ~exchange() = default;

 private:
  friend class exchange_queues;

  beck::detail::list_hook hook_;
  command_progress progress_;
  reply_limits limits_;
  std::int64_t begun_at_ = 0;
  ticket_range tickets_;
  std::uint64_t lent_to_ = 0;         // the write that refers to its bytes
  error_code held_end_;               // how it ends with that write
  cluster_call* taken_by_ = nullptr;  // of a cluster
  exchange_state state_ = exchange_state::idle;
  reply_watch watch_ = reply_watch::none;
  bool is_retryable_ = false;
  bool is_whole_ = false;

 public:
  /// A list of exchanges. Stands behind its hook, which it names.
  using list = beck::detail::intrusive_list<exchange, &exchange::hook_>;
};

}  // namespace beck::redis::detail
