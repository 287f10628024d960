// SPDX-License-Identifier: BSL-1.0
// The ECHOs between commands, each of a text that no value has by chance: a server that answers
// with anything else is out of step, and its other replies may be those of other commands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <beck/base/assert.hpp>
#include <beck/redis/error.hpp>
#include <beck/redis/resp3.hpp>

#include "redis/session/repeat_rules.hpp"

namespace beck::redis::detail {

/// Returns the text of the ECHO with this number.
inline std::array<char, 16> guard_text(std::uint64_t seed, std::uint64_t number) noexcept {
  std::uint64_t mixed = seed + (number + 1) * 0x9e3779b97f4a7c15;  // splitmix64 of Steele et al.
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  mixed ^= mixed >> 31;
  std::array<char, 16> text;
  for (char& digit : text) {
    digit = "0123456789abcdef"[mixed & 15];
    mixed >>= 4;
  }
  return text;
}

/// The guards of all connections of a session. Thread: that of the session.
class command_guard {
 public:
  /// An ECHO with its text.
  using echo = std::array<char, 37>;

  /// `each`: a guard is due behind so many commands; 0: never.
  command_guard(std::uint32_t each, std::uint64_t seed) noexcept : each_(each), seed_(seed) {}

  // --- the direction out

  bool is_due() const noexcept { return each_ != 0 && unguarded_ >= each_; }
  /// Returns how many commands may be sent before the next guard; `most`: there are none.
  std::uint32_t room(std::uint32_t most) const noexcept {
    return each_ == 0 || each_ - unguarded_ > most ? most : each_ - unguarded_;
  }
  void note_commands(std::uint32_t commands) noexcept { unguarded_ += commands; }
  /// Returns the next guard.
  echo next() const noexcept;
  /// Notes that the next guard is in a write.
  void note_added() noexcept {
    ++added_;
    unguarded_ = 0;
  }

  // --- the direction in

  /// Returns whether a token belongs to the reply to the first guard without one. A server that
  /// refuses all commands for now refuses this one, too.
  bool is_answer(const token& next) const noexcept;
  void note_answer() noexcept {
    BECK_ASSERT(answered_ < added_, "an answer to a guard that was not sent");
    ++answered_;
  }
  /// Takes the end of the connection: no guard will be answered.
  void lose() noexcept {
    unguarded_ = 0;
    answered_ = added_;
  }

 private:
  const std::uint32_t each_;
  const std::uint64_t seed_;
  std::uint32_t unguarded_ = 0;  // commands behind the last guard
  std::uint64_t added_ = 0;
  std::uint64_t answered_ = 0;  // or lost
};

inline command_guard::echo command_guard::next() const noexcept {
  constexpr std::string_view head = "*2\r\n$4\r\nECHO\r\n$16\r\n";
  constexpr std::string_view end = "\r\n";
  const auto text = guard_text(seed_, added_);
  echo made;
  static_assert(head.size() + text.size() + end.size() == std::tuple_size_v<echo>);
  std::memcpy(made.data(), head.data(), head.size());
  std::memcpy(made.data() + head.size(), text.data(), text.size());
  std::memcpy(made.data() + head.size() + text.size(), end.data(), end.size());
  return made;
}

inline bool command_guard::is_answer(const token& next) const noexcept {
  if (next.type == data_type::attribute || next.depth != 0) return true;
  if (next.type == data_type::simple_error) return is_refused_for_now(error_of(next.text));
  const auto text = guard_text(seed_, answered_);
  return next.type == data_type::bulk_string &&
         next.text == std::string_view(text.data(), text.size());
}

}  // namespace beck::redis::detail
