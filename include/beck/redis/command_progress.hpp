// SPDX-License-Identifier: BSL-1.0
//
// The commands of an exchange, and how far they have come: formatted into writes, answered, or
// begun again behind a loss or a refusal.
#pragma once

#include <beck/base/assert.hpp>
#include <beck/redis/arguments.hpp>
#include <cstddef>
#include <cstdint>

namespace beck::redis::detail {

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

/// Commands in order: the first ones are answered, the next ones formatted, the last ones neither.
/// Thread: one at a time.
class command_progress {
 public:
  /// Takes commands, none of which has begun. `parts` must live as long as they are used.
  void set(const command_bytes* parts, std::size_t count) noexcept {
    parts_ = parts;
    next_ = command_cursor(parts);
    commands_ = answered_ = formatted_ = sent_ = attempts_ = 0;
    for (std::size_t i = 0; i < count; ++i) commands_ += parts[i].commands;
  }

  // --- on a connection

  /// Notes that `commands` more were put into a write; `next`: the place behind them.
  void note_formatted(std::uint32_t commands, const command_cursor& next) noexcept {
    BECK_ASSERT(commands <= commands_ - formatted_, "more commands were written than there are");
    formatted_ += commands;
    next_ = next;
  }
  /// Takes the last `commands` back: they were formatted, and the kernel has not taken them whole.
  void take_back(std::uint32_t commands) noexcept {
    BECK_ASSERT(commands <= formatted_ - answered_, "commands were taken back that are answered");
    formatted_ -= commands;
  }
  /// Notes the next reply. Returns whether it is the last one.
  bool note_answer() noexcept {
    BECK_ASSERT(answered_ < formatted_, "a reply to a command that was not sent");
    return ++answered_ == commands_;
  }
  /// Sets how many replies have come, where several connections bring them.
  void set_answered(std::uint32_t replies) noexcept {
    BECK_ASSERT(replies <= commands_, "more replies came than there are commands");
    answered_ = replies;
  }

  // --- again

  /// Notes that the connection is lost. Those of a unit, `is_whole`, begin again with the first
  /// one; without the last one nothing of it has run.
  void note_loss(bool is_whole) noexcept;
  /// Begins again with the command `first`; those before it stay answered.
  void begin_at(std::uint32_t first) noexcept;

  std::uint32_t commands() const noexcept { return commands_; }
  /// Returns how many replies have come.
  std::uint32_t answered() const noexcept { return answered_; }
  /// Returns how many commands were put into writes of this connection.
  std::uint32_t formatted() const noexcept { return formatted_; }
  std::uint32_t unformatted() const noexcept { return commands_ - formatted_; }
  bool is_formatted() const noexcept { return formatted_ == commands_; }
  /// Returns how many commands may have run: they were sent on this connection or an earlier one.
  std::uint32_t sent() const noexcept { return formatted_ > sent_ ? formatted_ : sent_; }
  /// Returns whether the command whose reply comes next was sent on an earlier connection, too.
  bool was_sent_before() const noexcept { return answered_ < sent_; }
  /// Returns whether all commands were sent on an earlier connection.
  bool was_sent_whole() const noexcept { return sent_ == commands_; }
  /// Returns how many connections were lost with commands of it.
  std::uint32_t attempts() const noexcept { return attempts_; }
  /// Returns whether each command that was formatted and not answered only reads.
  bool only_reads_unanswered() const noexcept;
  /// Returns the place behind the formatted commands. If there is one command alone, before it.
  const command_cursor& next() const noexcept { return next_; }
  /// Returns the place before the command `i`. Costs a walk to it.
  command_cursor place_of(std::uint32_t i) const noexcept {
    command_cursor at(parts_);
    at.pass(i);
    return at;
  }
  /// Returns the first part.
  const command_bytes& first_part() const noexcept { return *parts_; }

 private:
  const command_bytes* parts_ = nullptr;
  command_cursor next_;
  std::uint32_t commands_ = 0;
  std::uint32_t answered_ = 0;
  std::uint32_t formatted_ = 0;
  std::uint32_t sent_ = 0;  // whole, on connections that were lost
  std::uint32_t attempts_ = 0;
};

}  // namespace beck::redis::detail
