// SPDX-License-Identifier: BSL-1.0
//
// One or more commands under way, with the places of their replies: the unit that a connection
// sends, answers, repeats or cancels. The operations of clients derive from it.
#pragma once

#include <beck/base/assert.hpp>
#include <beck/detail/intrusive_list.hpp>
#include <beck/redis/arguments.hpp>
#include <beck/redis/reader.hpp>
#include <beck/redis/value.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::redis::detail {

class cluster_call;

/// A place between two commands of several parts.
class command_cursor {
 public:
  /// Stands nowhere.
  command_cursor() noexcept = default;
  /// Stands before the first command of `parts`.
  explicit command_cursor(const command_bytes* parts) noexcept : part_(parts) {}

  /// Returns the commands that follow in one part: as many as are within both bounds, but at least
  /// one. Requires that a command follows. Costs a walk through them, unless the whole part is
  /// within the bounds.
  command_bytes peek(std::uint32_t commands_max, std::size_t bytes_max) noexcept;
  /// Goes behind commands that peek() has returned.
  void pass(const command_bytes& commands) noexcept {
    offset_ += commands.wire.size();
    passed_ += commands.commands;
  }
  /// Goes behind `commands` commands, which must follow. Costs a walk through them.
  void pass(std::uint32_t commands) noexcept;

 private:
  const command_bytes* part_ = nullptr;
  std::size_t offset_ = 0;    // in the part
  std::uint32_t passed_ = 0;  // commands of the part
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

  /// Sets the commands, one at least; those before are forgotten. `parts` must live until done().
  /// Requires that no session has the exchange.
  void set_commands(const command_bytes* parts, std::size_t count) noexcept {
    BECK_ASSERT(!is_under_way_, "commands were changed while they were under way");
    parts_ = parts;
    at_ = command_cursor(parts);
    commands_ = answered_ = formatted_ = sent_ = attempts_ = 0;
    for (std::size_t i = 0; i < count; ++i) commands_ += parts[i].commands;
  }
  /// Sets that commands of which it is not known whether they have run are sent again although they
  /// may write.
  void set_retryable(bool is_retryable) noexcept { is_retryable_ = is_retryable; }
  /// Sets that the commands are one unit, such as a transaction from MULTI to EXEC: they are sent
  /// without others between them, begin again together, and have no effect unless the last one was
  /// sent.
  void set_whole() noexcept { is_whole_ = true; }
  /// Returns whether they are one unit.
  bool is_whole() const noexcept { return is_whole_; }
  /// Sets that each command but the last is answered by one push, or by an error: SUBSCRIBE and the
  /// like with one name, and PING behind them. Requires that it is not cancelled once it was
  /// written.
  void set_push_answers() noexcept { has_push_answers_ = true; }
  /// Sets that see() is called with each token.
  void set_sees_tokens() noexcept { sees_tokens_ = true; }
  /// Sets the bounds of each reply.
  void set_limits(const reply_limits& most) noexcept { limits_ = most; }
  /// Returns the number of commands.
  std::uint32_t commands() const noexcept { return commands_; }
  /// Returns how many replies have come.
  std::uint32_t answered() const noexcept { return answered_; }
  /// Returns whether a session has it.
  bool is_under_way() const noexcept { return is_under_way_; }

 protected:
  exchange() noexcept = default;
  exchange(exchange&& inert) noexcept
      : limits_(inert.limits_), is_retryable_(inert.is_retryable_), is_whole_(inert.is_whole_) {}
  virtual ~exchange() = default;

 private:
  friend class session;
  friend class cluster_call;

  beck::detail::list_hook hook_;  // of the queue
  const command_bytes* parts_ = nullptr;
  command_cursor at_;  // behind the formatted commands
  reply_limits limits_;
  std::uint32_t commands_ = 0;
  std::uint32_t answered_ = 0;   // commands whose reply has come
  std::uint32_t formatted_ = 0;  // commands that were put into a write of this connection
  std::uint32_t sent_ = 0;       // commands that were sent whole on a connection that was lost
  std::uint32_t attempts_ = 0;   // connections that were lost with commands of it
  std::int64_t begun_at_ = 0;
  std::uint64_t first_ticket_ = 0;  // of its entries among those that wait for replies
  std::uint64_t last_ticket_ = 0;
  std::uint64_t lent_to_ = 0;     // the write that refers to its bytes
  error_code held_end_;           // how it ends with that write
  cluster_call* call_ = nullptr;  // of a cluster that has the commands
  bool is_retryable_ = false;
  bool is_whole_ = false;
  bool has_push_answers_ = false;
  bool sees_tokens_ = false;
  bool is_greeting_ = false;
  bool is_held_ = false;
  bool is_under_way_ = false;
};

}  // namespace beck::redis::detail
