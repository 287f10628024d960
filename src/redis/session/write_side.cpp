// SPDX-License-Identifier: BSL-1.0
// The writes of a session: short commands are copied one behind the other, long ones are lent. Then
// the way of the commands to their replies, or to the loss of the connection.
#include "redis/session/write_side.hpp"

#include <algorithm>

#include <beck/base/assert.hpp>
#include <beck/redis/arguments.hpp>
#include <beck/redis/reader.hpp>

namespace beck::redis::detail {

void write_side::begin() noexcept {
  BECK_ASSERT(ring_.empty() && write_.empty(), "a connection begins before the last has ended");
  formatted_bytes_ = 0;
  written_bytes_ = 0;
}

void write_side::lose() noexcept {
  ring_.clear();
  in_flight_ = 0;
  write_.clear();
  guard_.lose();
  mode_ = reply_mode();
}

void write_side::trim() noexcept {
  write_.trim();
  if (ring_.empty()) ring_.release();
}

// --- commands become a write

/// Returns an entry for the next commands of an exchange, without any yet.
pending_entry write_side::next_entry(exchange& one) const noexcept {
  const std::uint32_t first = one.progress().formatted();
  return {&one, first, 0, 0, false, false, false, formatted_bytes_, formatted_bytes_};
}

/// Adds such an entry, whose commands and end are set, to those without reply. `behind`: the place
/// behind its commands. Requires room in the ring.
void write_side::add(pending_entry& entry, const command_cursor& behind) noexcept {
  BECK_ASSERT(entry.begin == formatted_bytes_ && entry.commands != 0,
              "commands must follow those before them, one at least");
  exchange& one = *entry.of;
  exchange_marks& marks = one.marks();
  if (one.progress().formatted() == one.answered()) marks.first_ticket = ring_.next_ticket();
  marks.last_ticket = ring_.next_ticket();
  entry.left = entry.commands;
  ring_.push(entry);
  in_flight_ += entry.commands;
  formatted_bytes_ = entry.end;
  one.progress().note_formatted(entry.commands, behind);
  if (!one.is_greeting()) guard_.note_commands(entry.commands);
}

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
  pending_entry entry = next_entry(one);
  if (!write_.add(wire, nullptr)) return false;
  entry.commands = 1;
  entry.end += wire.size();
  add(entry, one.progress().next());
  return true;
}

/// Adds the next commands of an exchange to the write: at most one slice. Returns whether the write
/// has room for more.
bool write_side::format(exchange& one, std::int64_t now) {
  ring_.reserve();
  const command_bytes& first = one.progress().first_part();
  const bool is_alone = one.commands() == 1 && first.commands == 1;
  if (is_alone && first.wire.size() < limits_.gather_bytes && !limits_.is_lane)
    return format_alone(one, first.wire);
  return format_slice(one, now);
}

bool write_side::format_slice(exchange& one, std::int64_t now) {
  command_cursor at = one.progress().next();
  pending_entry entry = next_entry(one);
  std::uint32_t left = one.progress().unformatted();
  std::uint32_t slice = std::min(limits_.slice_commands, limits_.in_flight - in_flight_);
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
  add(entry, at);
  return has_room;
}

/// Adds a guard. Returns false if the write has no room.
bool write_side::add_guard() {
  ring_.reserve();
  const command_guard::echo bytes = guard_.next();
  if (!write_.add({bytes.data(), bytes.size()}, nullptr)) return false;
  const std::uint64_t begin = formatted_bytes_;
  formatted_bytes_ += bytes.size();
  ring_.push({nullptr, 0, 1, 1, false, false, true, begin, formatted_bytes_});
  ++in_flight_;
  guard_.note_added();
  return true;
}

void write_side::fill(std::int64_t now) {
  write_.begin();
  const std::uint64_t begin = formatted_bytes_;
  bool has_room = true;
  while (has_room && !blocking_.is_blocked() && in_flight_ < limits_.in_flight &&
         formatted_bytes_ - begin < limits_.write_bytes) {
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
  if (in_flight_ >= limits_.in_flight || blocking_.is_blocked()) return false;
  return guard_.is_due() || queues_.has_next();
}

std::size_t write_side::gather(const_buffer (&to)[gathered_write::parts_max], std::int64_t now) {
  if (write_.empty()) fill(now);
  return write_.gather(to);
}

void write_side::wrote(std::size_t bytes) noexcept {
  written_bytes_ += bytes;
  BECK_ASSERT(written_bytes_ <= formatted_bytes_, "more bytes were written than there were");
  if (!write_.take_written(bytes)) return;
  queues_.end_held();
  end_silences();
}

// --- replies

/// Ends a command that the server does not answer: it is not known whether it has run.
void write_side::end_silence() noexcept {
  BECK_ASSERT(ring_.front().left == 1, "commands without replies are counted one by one");
  exchange* const one = end_reply();
  if (one == nullptr) return;
  const reply_place place = one->place_of(one->answered());
  reply_reader reader;
  token none;
  none.is_last = true;
  reader.begin(place, one->terms().limits);
  reader.feed(none);
  place.status().set(outcome::maybe_executed);
  if (one->progress().note_answer()) end(*one, {});
}

// --- ends

void write_side::end(exchange& one, const error_code& ec, std::string_view text) noexcept {
  const std::uint32_t sent = one.progress().sent();
  for (std::uint32_t i = one.answered(); i < one.commands(); ++i) {
    reply_status& status = one.place_of(i).status();
    status.set(ec, text);
    status.set(i < sent ? outcome::maybe_executed : outcome::not_sent);
  }
  if (write_.is_lent(one)) return queues_.hold(one, ec);
  queues_.end(one, ec);
}

void write_side::detach(exchange& one) noexcept {
  if (one.progress().formatted() == one.answered()) return;
  const exchange_marks& marks = one.marks();
  BECK_ASSERT(marks.last_ticket < ring_.next_ticket(), "an exchange waits behind the last entry");
  std::uint64_t ticket = std::max(marks.first_ticket, ring_.first_ticket());
  for (; ticket <= marks.last_ticket; ++ticket) {
    if (ring_.at(ticket).of == &one) ring_.at(ticket).of = nullptr;
  }
}

/// Returns how many commands of an entry the kernel has not taken whole. A server may have answered
/// some of them all the same.
std::uint32_t write_side::unsent_commands(const pending_entry& entry) const noexcept {
  if (entry.end <= written_bytes_) return 0;
  if (entry.begin >= written_bytes_) return entry.commands;
  command_cursor at = entry.of->progress().place_of(entry.first);
  std::uint64_t end = entry.begin;
  std::uint32_t sent = 0;
  for (;; ++sent) {  // ends: the last command is not sent
    const command_bytes next = at.peek(1, 0);
    end += next.wire.size();
    if (end > written_bytes_) return entry.commands - sent;
    at.pass(next);
  }
}

void write_side::take_back_unsent() noexcept {
  for (std::uint64_t t = ring_.first_ticket(); t != ring_.next_ticket(); ++t) {
    const pending_entry& entry = ring_.at(t);
    if (entry.of == nullptr) continue;
    const std::uint32_t unsent = unsent_commands(entry);
    entry.of->progress().take_back(std::min(unsent, entry.left));
  }
}

exchange* write_side::take_exchange() noexcept {
  for (; !ring_.empty(); ring_.pop()) {
    exchange* const one = ring_.front().of;
    if (one == nullptr) continue;
    for (std::uint64_t t = ring_.first_ticket(); t <= one->marks().last_ticket; ++t) {
      if (ring_.at(t).of == one) ring_.at(t).of = nullptr;
    }
    return one;
  }
  return nullptr;
}

// --- observers

bool write_side::has_exchanges() noexcept {
  for (std::uint64_t t = ring_.first_ticket(); t != ring_.next_ticket(); ++t) {
    if (ring_.at(t).of != nullptr) return true;
  }
  return false;
}

bool write_side::is_answered() noexcept {
  if (ring_.empty()) return true;
  const pending_entry& next = ring_.front();
  return next.of == nullptr ? next.end > written_bytes_ : next.left <= unsent_commands(next);
}

}  // namespace beck::redis::detail
