// SPDX-License-Identifier: BSL-1.0
// The rules for commands on a connection of its own: which are refused, which are answered, and how
// long they block.
#pragma once

#include <cstdint>
#include <utility>

#include <beck/redis/arguments.hpp>

namespace beck::redis::detail {

/// Whether a lane sends a command.
enum class lane_rule : std::uint8_t {
  allowed,
  lasting,  ///< its effect stays behind RESET: the lane is not used again
  refused,  ///< the connection would no longer be the one that the client has made
};

/// Returns the rule for a command; `is_whole`: it is part of a transaction.
lane_rule lane_rule_of(const arguments& command, bool is_whole) noexcept;

/// Returns for how many nanoseconds a command waits for other clients by its own argument: 0: it
/// does not wait; INT64_MAX: for ever, or the argument is none.
std::int64_t blocking_time(const arguments& command) noexcept;

/// The effect of CLIENT REPLY on the commands behind it. Thread: one at a time.
class reply_mode {
 public:
  /// Takes the next command that is sent. Returns whether the server answers it.
  bool take(const arguments& command) noexcept;
  /// Returns whether the server answers the next command, whatever it is.
  bool is_on() const noexcept { return mode_ == mode::on; }
  /// Returns whether the server does not answer the last command that was sent.
  bool was_silent() const noexcept { return was_silent_; }

 private:
  enum class mode : std::uint8_t { on, off, skip };

  bool is_answered(const arguments& command) noexcept;

  mode mode_ = mode::on;
  bool was_silent_ = false;
};

}  // namespace beck::redis::detail
