// SPDX-License-Identifier: BSL-1.0
// The writes of a session. Short commands are copied one behind the other, long ones are lent.
#include "redis/session/write_side.hpp"

#include <algorithm>

#include <beck/base/assert.hpp>
#include <beck/redis/arguments.hpp>

namespace beck::redis::detail {

/// Notes the effect of a lane's command on the connection.
void write_side::note_state(std::string_view wire, pending_entry& entry,
                            std::int64_t now) noexcept {
  const arguments command(wire);
  entry.is_behind_silence = mode_.was_silent();
  entry.is_silent = !mode_.take(command);
  if (entry.is_silent || entry.of->terms().is_whole) return;
  const std::int64_t time = blocking_time(command);
  if (time != 0) blocking_.begin(time, now);
}

/// Adds a short command that is an exchange alone: by far the most frequent one. Returns whether
/// the write has room for more.
bool write_side::format_alone(exchange& one, std::string_view wire) {
  pending_entry entry = pending_.next_of(one);
  if (!write_.add(wire, nullptr)) return false;
  entry.commands = 1;
  entry.end += wire.size();
  pending_.add(entry);
  command_progress& progress = one.progress();
  progress.note_formatted(1, progress.next());
  if (!one.is_greeting()) guard_.note_commands(1);
  return true;
}

/// Adds the next commands of an exchange to the write: at most one slice. Returns whether the write
/// has room for more.
bool write_side::format(exchange& one, std::int64_t now) {
  pending_.reserve();
  const command_bytes& first = one.progress().first_part();
  const bool is_alone = one.commands() == 1 && first.commands == 1;
  if (is_alone && first.wire.size() < limits_.gather_bytes && !limits_.is_lane)
    return format_alone(one, first.wire);
  return format_slice(one, now);
}

bool write_side::format_slice(exchange& one, std::int64_t now) {
  command_progress& progress = one.progress();
  command_cursor at = progress.next();
  pending_entry entry = pending_.next_of(one);
  std::uint32_t left = progress.unformatted();
  std::uint32_t slice = std::min(limits_.slice_commands, limits_.in_flight - pending_.in_flight());
  if (!one.is_greeting()) slice = guard_.room(slice);  // not 0: no guard is due
  std::size_t slice_bytes = limits_.slice_bytes;
  if (one.terms().is_whole) {  // copied, so that there is always room
    slice = left;
    slice_bytes = static_cast<std::size_t>(-1);
  }
  if (limits_.is_lane) slice = 1;
  BECK_ASSERT(slice != 0 && left != 0, "a slice without commands would never end");
  bool has_room = true;
  while (left != 0 && entry.commands < slice) {
    const std::size_t bytes = entry.end - entry.begin;
    if (entry.commands != 0 && bytes >= slice_bytes) break;
    const command_bytes next = at.peek(slice - entry.commands, slice_bytes - bytes);
    const bool is_lent = next.wire.size() >= limits_.gather_bytes && !one.terms().is_whole;
    has_room = write_.add(next.wire, is_lent ? &one : nullptr);
    if (!has_room) break;
    if (limits_.is_lane) note_state(next.wire, entry, now);
    at.pass(next);
    left -= next.commands;
    entry.commands += next.commands;
    entry.end += next.wire.size();
  }
  if (entry.commands == 0) return false;
  pending_.add(entry);
  progress.note_formatted(entry.commands, at);
  if (!one.is_greeting()) guard_.note_commands(entry.commands);
  return has_room;
}

/// Adds a guard. Returns false if the write has no room.
bool write_side::add_guard() {
  pending_.reserve();
  const command_guard::echo bytes = guard_.next();
  if (!write_.add({bytes.data(), bytes.size()}, nullptr)) return false;
  pending_.add_guard(bytes.size());
  guard_.note_added();
  return true;
}

void write_side::fill(std::int64_t now) {
  write_.begin();
  const std::uint64_t begin = pending_.formatted_bytes();
  bool has_room = true;
  while (has_room && !blocking_.is_blocked() && pending_.in_flight() < limits_.in_flight &&
         pending_.formatted_bytes() - begin < limits_.write_bytes) {
    if (guard_.is_due()) {
      has_room = add_guard();
      continue;
    }
    exchange* const one = queues_.next();
    if (one == nullptr) return;
    do {
      has_room = format(*one, now);
    } while (has_room && one->terms().is_whole && !one->progress().is_formatted());
    if (one->progress().is_formatted()) {
      queues_.note_sent(*one);
    } else if (has_room && !one->is_greeting() && !limits_.is_lane) {
      queues_.give_way(*one);
    }
  }
}

bool write_side::has_output() const noexcept {
  if (!write_.empty()) return true;
  if (pending_.in_flight() >= limits_.in_flight || blocking_.is_blocked()) return false;
  return guard_.is_due() || queues_.has_next();
}

std::size_t write_side::gather(const_buffer (&to)[gathered_write::parts_max], std::int64_t now) {
  if (write_.empty()) fill(now);
  return write_.gather(to);
}

bool write_side::take_written(std::size_t bytes) noexcept {
  pending_.note_written(bytes);
  return write_.take_written(bytes);
}

void write_side::lose() noexcept {
  write_.clear();
  guard_.lose();
  mode_ = reply_mode();
}

}  // namespace beck::redis::detail
