// SPDX-License-Identifier: BSL-1.0
// Walks through the bytes of commands, and their beginning again.
#include <beck/redis/command_progress.hpp>

#include <beck/base/assert.hpp>
#include <beck/redis/command_table.hpp>

namespace beck::redis::detail {

command_bytes command_cursor::peek(std::uint32_t commands_max, std::size_t bytes_max) noexcept {
  while (passed_ == part_->commands) *this = command_cursor(part_ + 1);
  const std::string_view rest = part_->wire.substr(offset_);
  const std::uint32_t left = part_->commands - passed_;
  if (left <= commands_max && rest.size() <= bytes_max) return {rest, left};
  std::uint32_t commands = 0;
  std::size_t bytes = 0;
  while (commands < left && (commands == 0 || commands < commands_max)) {
    const std::size_t next = arguments(rest.substr(bytes)).wire().size();
    if (commands != 0 && bytes + next > bytes_max) break;
    bytes += next;
    ++commands;
  }
  return {rest.substr(0, bytes), commands};
}

void command_cursor::pass(std::uint32_t commands) noexcept {
  while (commands != 0) {
    const command_bytes some = peek(commands, static_cast<std::size_t>(-1));
    pass(some);
    commands -= some.commands;
  }
}

void command_progress::note_loss(bool is_whole) noexcept {
  if (is_whole) {
    answered_ = 0;
    if (formatted_ < commands_) formatted_ = 0;
  }
  sent_ = sent();
  ++attempts_;
}

void command_progress::begin_at(std::uint32_t first) noexcept {
  BECK_ASSERT(first < commands_, "an exchange begins again behind its last command");
  answered_ = formatted_ = first;
  next_ = place_of(first);
}

bool command_progress::only_reads_unanswered() const noexcept {
  command_cursor at = place_of(answered_);
  for (std::uint32_t i = answered_; i < formatted_; ++i) {
    const command_bytes next = at.peek(1, 0);
    if (!facts_of(arguments(next.wire)).is_read_only()) return false;
    at.pass(next);
  }
  return true;
}

}  // namespace beck::redis::detail
