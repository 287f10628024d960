// SPDX-License-Identifier: BSL-1.0
// The commands of a connection that were put into writes and have no reply, with their places in
// the stream of bytes. The two directions of a session share them.
#pragma once

#include <cstddef>
#include <cstdint>

#include <beck/base/assert.hpp>
#include <beck/redis/exchange.hpp>

#include "redis/session/pending_ring.hpp"

namespace beck::redis::detail {

/// The commands of one connection after the other. Thread: that of the session.
class pending_commands {
 public:
  /// Begins a connection. Requires that it is empty.
  void begin() noexcept;
  /// Drops the entries: the connection is lost.
  void clear() noexcept {
    ring_.clear();
    in_flight_ = 0;
  }
  /// Frees memory that an idle connection does not need.
  void trim() noexcept {
    if (ring_.empty()) ring_.release();
  }

  // --- the direction out

  /// Makes room for one more entry. Throws std::bad_alloc.
  void reserve() { ring_.reserve(); }
  /// Returns an entry for the next commands of an exchange, without any yet.
  pending_entry next_of(exchange& one) const noexcept {
    const std::uint32_t first = one.progress().formatted();
    return {&one, first, 0, 0, false, false, false, formatted_bytes_, formatted_bytes_};
  }
  /// Adds such an entry, whose commands and end are set. Requires room.
  void add(pending_entry& entry) noexcept;
  /// Adds a guard of so many bytes. Requires room.
  void add_guard(std::size_t bytes) noexcept;
  /// Returns the place in the stream behind all commands.
  std::uint64_t formatted_bytes() const noexcept { return formatted_bytes_; }
  void note_written(std::size_t bytes) noexcept {
    written_bytes_ += bytes;
    BECK_ASSERT(written_bytes_ <= formatted_bytes_, "more bytes were written than there were");
  }

  // --- the direction in

  bool empty() const noexcept { return ring_.empty(); }
  /// Returns the entry of the commands whose replies come next.
  const pending_entry& front() noexcept { return ring_.front(); }
  /// Returns the exchange of these commands; nullptr: there is none, or the reply is dropped.
  exchange* first() noexcept { return empty() ? nullptr : ring_.front().of; }
  /// Takes the end of the next reply.
  void end_reply() noexcept;
  /// Returns whether the next command is not answered and was written whole.
  bool is_silence_due() noexcept {
    return !empty() && front().is_silent && front().end <= written_bytes_;
  }
  /// Takes that command. Returns its exchange, if it has one.
  exchange* end_silence() noexcept;

  // --- ends

  /// Takes an exchange away from its replies: they are dropped.
  void detach(exchange& one) noexcept;
  /// Takes the commands back that the kernel has not taken whole, but for those that the server has
  /// answered too early.
  void take_back_unsent() noexcept;
  /// Takes the first exchange with all its entries; nullptr: there is none.
  exchange* take_exchange() noexcept;

  // --- observers

  /// Returns how many commands have no reply.
  std::uint32_t in_flight() const noexcept { return in_flight_; }
  /// Returns whether the last commands are those of `one`.
  bool is_last(const exchange& one) noexcept {
    return !empty() && ring_.at(ring_.next_ticket() - 1).of == &one;
  }
  /// Returns whether a reply is awaited by an exchange.
  bool has_exchanges() noexcept;
  /// Returns whether all commands that were sent whole are answered.
  bool is_answered() noexcept;

 private:
  std::uint32_t unsent_commands(const pending_entry& entry) const noexcept;

  pending_ring ring_;
  std::uint32_t in_flight_ = 0;
  std::uint64_t formatted_bytes_ = 0;  // of this connection
  std::uint64_t written_bytes_ = 0;
};

inline void pending_commands::add(pending_entry& entry) noexcept {
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
}

inline void pending_commands::end_reply() noexcept {
  BECK_ASSERT(in_flight_ != 0, "the end of a reply that was not awaited");
  --in_flight_;
  if (--ring_.front().left == 0) ring_.pop();
}

}  // namespace beck::redis::detail
