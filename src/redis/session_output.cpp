// SPDX-License-Identifier: BSL-1.0
// The writes of a session: each takes the commands that have gathered since the last one. Short
// ones are copied one behind the other, long ones are lent.
#include "redis/session.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace beck::redis::detail {

std::array<char, 16> guard_text(std::uint64_t seed, std::uint64_t number) noexcept {
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

/// Adds bytes to the write: copied, or lent by an exchange. Returns false if there is no room for a
/// further buffer.
bool session::add_bytes(std::string_view wire, exchange* lender) {
  const bool is_lent = lender != nullptr;
  const bool goes_on =
      !is_lent && segment_count_ != 0 && segments_[segment_count_ - 1].lent == nullptr;
  if (!goes_on) {
    if (segment_count_ == parts_max) return false;
    segments_[segment_count_] = {is_lent ? wire.data() : nullptr, is_lent ? 0 : copied_.size(), 0};
  }
  if (is_lent) {
    lender->lent_to_ = write_number_;
  } else {
    copied_.append(wire);
  }
  if (!goes_on) ++segment_count_;
  segments_[segment_count_ - 1].bytes += wire.size();
  return true;
}

/// Notes the effect of a lane's command on the connection.
void session::note_state(std::string_view wire, pending_entry& entry) noexcept {
  const arguments command(wire);
  entry.is_behind_silence = was_silent_;
  entry.is_silent = was_silent_ = !mode_.take(command);
  if (entry.is_silent || entry.of->is_whole_) return;
  blocked_for_ = blocking_time(command);
  is_blocked_ = blocked_for_ != 0;
  blocked_at_ = now_;
}

std::int64_t session::blocked_until() const noexcept {
  if (!is_blocked_) return INT64_MIN;
  const std::int64_t since = std::max(blocked_at_, heard_at_);
  return blocked_for_ < INT64_MAX - since ? since + blocked_for_ : INT64_MAX;
}

/// Notes commands that were added to the write: they wait for their replies.
void session::note_formatted(const pending_entry& entry) noexcept {
  exchange& one = *entry.of;
  if (one.formatted_ == one.answered_) one.first_ticket_ = pending_.next_ticket();
  one.last_ticket_ = pending_.next_ticket();
  one.formatted_ += entry.commands;
  pending_.push(entry);
  in_flight_ += entry.commands;
  if (!one.is_greeting_) unguarded_ += entry.commands;
  formatted_bytes_ = entry.end;
}

/// Adds the next commands of an exchange to the write: at most one slice. Returns whether the write
/// has room for more.
bool session::format(exchange& one) {
  pending_.reserve();
  const std::uint64_t begin = formatted_bytes_;
  const std::string_view first = one.parts_->wire;
  if (one.commands_ == 1 && one.parts_->commands == 1 && first.size() < limits_.gather_bytes &&
      !limits_.is_lane) {  // a short command alone: by far the most frequent exchange
    if (!add_bytes(first, nullptr)) return false;
    note_formatted({&one, 0, 1, 1, false, false, false, begin, begin + first.size()});
    return true;
  }
  command_cursor at = one.at_;
  pending_entry entry{&one, one.formatted_, 0, 0, false, false, false, begin, begin};
  std::uint32_t left = one.commands_ - one.formatted_;
  std::uint32_t slice = std::min(limits_.slice_commands, limits_.in_flight - in_flight_);
  if (limits_.guard != 0 && !one.is_greeting_)
    slice = std::min(slice, limits_.guard - unguarded_);  // not 0: no guard is due
  std::size_t slice_bytes = limits_.slice_bytes;
  if (one.is_whole_) {  // copied, so that there is always room
    slice = left;
    slice_bytes = static_cast<std::size_t>(-1);
  }
  if (limits_.is_lane) slice = 1;
  bool has_room = true;
  while (left != 0 && entry.commands < slice) {
    const std::size_t bytes = entry.end - entry.begin;
    if (entry.commands != 0 && bytes >= slice_bytes) break;
    const command_bytes next = at.peek(slice - entry.commands, slice_bytes - bytes);
    const bool is_lent = next.wire.size() >= limits_.gather_bytes && !one.is_whole_;
    has_room = add_bytes(next.wire, is_lent ? &one : nullptr);
    if (!has_room) break;
    if (limits_.is_lane) note_state(next.wire, entry);
    at.pass(next);
    left -= next.commands;
    entry.commands += next.commands;
    entry.end += next.wire.size();
  }
  if (entry.commands == 0) return false;
  entry.left = entry.commands;
  one.at_ = at;
  note_formatted(entry);
  return has_room;
}

bool session::is_guard_due() const noexcept {
  return limits_.guard != 0 && unguarded_ >= limits_.guard;
}

/// Adds an ECHO of a text that only its own reply has. Returns false if the write has no room.
bool session::add_guard() {
  pending_.reserve();
  const auto text = guard_text(limits_.guard_seed, guards_);
  char wire[] = "*2\r\n$4\r\nECHO\r\n$16\r\n................\r\n";
  std::memcpy(std::end(wire) - 1 - 2 - text.size(), text.data(), text.size());
  const std::string_view bytes(wire, sizeof wire - 1);
  if (!add_bytes(bytes, nullptr)) return false;
  const std::uint64_t begin = std::exchange(formatted_bytes_, formatted_bytes_ + bytes.size());
  pending_.push({nullptr, 0, 1, 1, false, false, true, begin, formatted_bytes_});
  ++in_flight_;
  ++guards_;
  unguarded_ = 0;
  return true;
}

void session::fill() {
  ++write_number_;
  const std::uint64_t begin = formatted_bytes_;
  bool has_room = true;
  while (has_room && !is_blocked_ && in_flight_ < limits_.in_flight &&
         formatted_bytes_ - begin < limits_.write_bytes) {
    if (is_guard_due()) {
      has_room = add_guard();
      continue;
    }
    exchange* one = greeting_.front();
    if (one == nullptr && is_ready_) one = queue_.front();
    if (one == nullptr) return;
    do {
      has_room = format(*one);
    } while (has_room && one->is_whole_ && one->formatted_ != one->commands_);
    if (one->formatted_ == one->commands_) {
      take_out(*one);
    } else if (has_room && !one->is_greeting_ && !limits_.is_lane) {  // the others' turn
      one->hook_.unlink();
      queue_.push_back(*one);
    }
  }
}

bool session::has_output() noexcept {
  if (segment_count_ != 0) return true;
  if (in_flight_ >= limits_.in_flight || is_blocked_) return false;
  return !greeting_.empty() || is_guard_due() || (is_ready_ && !queue_.empty());
}

std::size_t session::gather(const_buffer (&to)[parts_max]) {
  if (segment_count_ == 0) fill();
  std::size_t count = 0;
  for (std::size_t i = segment_; i < segment_count_; ++i) {
    const segment& part = segments_[i];
    const char* const begin = part.lent != nullptr ? part.lent : copied_.view().data();
    to[count++] = const_buffer(begin + part.offset, part.bytes);
  }
  return count;
}

void session::wrote(std::size_t bytes) noexcept {
  written_bytes_ += bytes;
  for (; segment_ < segment_count_; ++segment_) {
    segment& part = segments_[segment_];
    if (bytes < part.bytes) {
      part.offset += bytes;
      part.bytes -= bytes;
      return;
    }
    bytes -= part.bytes;
  }
  segment_ = 0;
  segment_count_ = 0;
  copied_.clear();
  end_held();
  end_silent();
}

}  // namespace beck::redis::detail
