// SPDX-License-Identifier: BSL-1.0
// Reads until a delimiter: searches the data, grows the buffer, receives, and searches again from
// the position at which the last search ended.
#include <beck/io/read_until.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include "io/loop/io_loop.hpp"

namespace beck::detail {
namespace {

constexpr std::size_t receive_bytes_min = 512;
constexpr std::size_t receive_bytes_max = 65536;

/// Number of bytes that are compared one by one before memchr(3) is worth its call.
constexpr std::size_t near_bytes = 16;

/// Searches the first positions for a delimiter of one or two characters, without any call. Returns
/// the number of bytes up to and including it; 0 if it is not there.
std::size_t find_near(const char* data, std::size_t size, std::size_t from, const char* delimiter,
                      std::size_t bytes) noexcept {
  if (bytes - 1 > 1 || size < from + bytes) return 0;
  const char first = delimiter[0];
  const char last = delimiter[bytes - 1];
  const std::size_t places = size - from - bytes + 1;
  const char* at = data + from;
  const char* const end = at + (places < near_bytes ? places : near_bytes);
  for (; at != end; ++at) {
    if (*at == first && at[bytes - 1] == last) return static_cast<std::size_t>(at - data) + bytes;
  }
  return 0;
}

/// Returns the first position at or after `from` where the delimiter starts; data.size() if there
/// is none. Requires that `bytes` is not 0.
std::size_t find(std::string_view data, std::size_t from, const char* delimiter,
                 std::size_t bytes) noexcept {
  if (data.size() < from + bytes) return data.size();
  // One past the last position at which the delimiter can begin.
  const char* const end = data.data() + (data.size() - bytes + 1);
  for (const char* at = data.data() + from; at != end; ++at) {
    at =
        static_cast<const char*>(std::memchr(at, delimiter[0], static_cast<std::size_t>(end - at)));
    if (at == nullptr) break;
    if (std::memcmp(at + 1, delimiter + 1, bytes - 1) == 0)
      return static_cast<std::size_t>(at - data.data());
  }
  return data.size();
}

}  // namespace

match_outcome find_delimiter(std::string_view data, std::size_t from,
                             std::string_view delimiter) noexcept {
  if (delimiter.empty()) return match_outcome::found(0);
  const std::size_t at = find(data, from, delimiter.data(), delimiter.size());
  if (at != data.size()) return match_outcome::found(at + delimiter.size());
  // The data may end with the first part of a delimiter: the next search starts at the last bytes
  // of the data, one fewer than the delimiter has.
  return match_outcome::more(data.size() < delimiter.size() ? 0
                                                            : data.size() - delimiter.size() + 1);
}

int make_receive_room(const dynamic_buffer_ref& buffer, mutable_buffer& space,
                      std::size_t bytes_max) noexcept {
  const std::size_t before = buffer.size();
  const std::size_t room_max = buffer.max_size() - before;
  if (room_max == 0) return delimiter_not_found_result;
  const std::size_t spare = buffer.capacity() - std::min(before, buffer.capacity());
  const std::size_t room =
      std::min({std::max(receive_bytes_min, spare), receive_bytes_max, room_max, bytes_max});
  try {
    buffer.grow(room);
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  } catch (const std::length_error&) {
    return delimiter_not_found_result;
  }
  space = buffer.data() + before;
  return 0;
}

void read_until_operation::refuse_delimiter(std::size_t bytes) {
  throw std::length_error("beck::async_read_until: a delimiter of " + std::to_string(bytes) +
                          " bytes; at most " + std::to_string(delimiter_bytes_max));
}

bool read_until_operation::search() noexcept {
  const std::string_view data = buffer_.view();
  const match_outcome outcome =
      match_ != nullptr
          ? match_(*this, data, from_)
          : find_delimiter(data, from_, std::string_view(delimiter_, delimiter_bytes_));
  (outcome.matched() ? late_.found : from_) = outcome.position();
  return outcome.matched();
}

/// Completes at once if the delimiter is in the data already and the budget allows it. A short
/// delimiter nearby, the common case, is found without a call.
bool read_until_operation::await_ready() noexcept {
  runner* const where = runner::current();
  if (where == nullptr || !where->spend(runner::memory_weight)) return false;
  if (match_ == nullptr) {
    const mutable_buffer data = buffer_.data();
    late_.found = find_near(static_cast<const char*>(data.data()), data.size(), from_, delimiter_,
                            delimiter_bytes_);
    if (late_.found != 0) {
      result = 0;
      ++where->counters.inline_completions;
      return true;
    }
  }
  return await_ready_far();
}

bool read_until_operation::await_ready_far() noexcept {
  if (!search()) return false;
  result = 0;
  ++runner::current()->counters.inline_completions;
  return true;
}

/// Makes room behind the data for a receive. Returns 0, or a negative result if there is no room.
int read_until_operation::grow() noexcept {
  mutable_buffer space;
  const int refused = make_receive_room(buffer_, space);
  address = space.data();
  length = space.size();
  transferred = 0;
  return refused;
}

/// Copies the delimiter into the operation, because the caller's text may end before the operation
/// does.
void read_until_operation::keep_delimiter() noexcept {
  if (match_ != nullptr || delimiter_ == late_.kept) return;
  std::memcpy(late_.kept, delimiter_, delimiter_bytes_);
  delimiter_ = late_.kept;
}

void read_until_operation::begin() noexcept {
  const bool found = search();
  const int refused = found ? 0 : grow();
  if (found || refused != 0) {
    complete_later(*this, refused);
    return;
  }
  keep_delimiter();
  late_.outer = complete;
  complete = &step;
  flags |= flag_steps;
  start_operation(*this);
}

bool read_until_operation::begin_immediate() noexcept {
  if (search()) {
    runner* const where = runner::current();
    where->charge(runner::memory_weight);
    result = 0;
    return true;
  }
  begin();
  return false;
}

/// Handles the completion of one receive: searches, and starts the next receive unless the
/// delimiter was found or an error occurred.
void read_until_operation::step(queue_entry* entry, runner* where) {
  auto* self = static_cast<read_until_operation*>(static_cast<io_op*>(entry));
  if (where != nullptr) {
    io_loop& loop = io_loop::of(*where);
    for (;;) {
      self->buffer_.shrink(self->length - self->transferred);
      if (self->result != 0 || self->search()) break;
      self->result = self->grow();
      if (self->result != 0) break;
      if (!loop.engine().step_again(*self)) return;
    }
    loop.engine().end_steps(*self);
  }
  self->complete = self->late_.outer;
  self->complete(entry, where);
}

match_outcome read_until_char_operation::match(read_until_operation& base, std::string_view data,
                                               std::size_t from) {
  const char wanted = static_cast<read_until_char_operation&>(base).character_;
  const void* at =
      data.size() == from ? nullptr : std::memchr(data.data() + from, wanted, data.size() - from);
  if (at == nullptr) return match_outcome::more(data.size());
  return match_outcome::found(static_cast<std::size_t>(static_cast<const char*>(at) - data.data()) +
                              1);
}

}  // namespace beck::detail
