// SPDX-License-Identifier: BSL-1.0
// Commands without reply: which of them the kernel has taken, and which exchange waits for them.
#include "redis/session/pending_commands.hpp"

#include <algorithm>
#include <utility>

namespace beck::redis::detail {

void pending_commands::begin() noexcept {
  BECK_ASSERT(empty(), "a connection begins before the last ends");
  formatted_bytes_ = 0;
  written_bytes_ = 0;
}

// --- the direction out

void pending_commands::add_guard(std::size_t bytes) noexcept {
  const std::uint64_t begin = std::exchange(formatted_bytes_, formatted_bytes_ + bytes);
  ring_.push({nullptr, 0, 1, 1, false, false, true, begin, formatted_bytes_});
  ++in_flight_;
}

// --- the direction in

exchange* pending_commands::end_silence() noexcept {
  BECK_ASSERT(front().is_silent && front().left == 1,
              "commands without replies are counted one by one");
  exchange* const one = front().of;
  ring_.pop();
  --in_flight_;
  return one;
}

// --- ends

void pending_commands::detach(exchange& one) noexcept {
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
std::uint32_t pending_commands::unsent_commands(const pending_entry& entry) const noexcept {
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

void pending_commands::take_back_unsent() noexcept {
  for (std::uint64_t t = ring_.first_ticket(); t != ring_.next_ticket(); ++t) {
    const pending_entry& entry = ring_.at(t);
    if (entry.of == nullptr) continue;
    const std::uint32_t unsent = unsent_commands(entry);
    entry.of->progress().take_back(std::min(unsent, entry.left));
  }
}

exchange* pending_commands::take_exchange() noexcept {
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

bool pending_commands::has_exchanges() noexcept {
  for (std::uint64_t t = ring_.first_ticket(); t != ring_.next_ticket(); ++t) {
    if (ring_.at(t).of != nullptr) return true;
  }
  return false;
}

bool pending_commands::is_answered() noexcept {
  if (empty()) return true;
  const pending_entry& next = front();
  return next.of == nullptr ? next.end > written_bytes_ : next.left <= unsent_commands(next);
}

}  // namespace beck::redis::detail
