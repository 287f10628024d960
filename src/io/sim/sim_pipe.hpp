// SPDX-License-Identifier: BSL-1.0
// The contents of simulated sockets: datagrams with their senders, and the bytes of a pipe or
// stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/sim/sim_name.hpp"

namespace beck::detail {

class sim_host;
struct sim_socket;

/// A datagram in flight, or in the queue of a socket. Plain data.
struct sim_datagram {
  sim_name from;
  sim_name to;
  std::vector<char> bytes;
  // Only for datagrams between hosts:
  sim_host* source = nullptr;
  sim_host* target = nullptr;
  sim_socket* sender = nullptr;
  std::uint32_t sender_generation = 0;
};

/// One direction of a connection: a ring of bytes that are in flight or wait to be read. Four
/// positions in the stream tell them apart: acknowledged <= read <= arrived <= sent.
class sim_pipe {
 public:
  std::uint64_t sent() const noexcept { return sent_; }
  std::uint64_t arrived() const noexcept { return arrived_; }
  std::uint64_t read() const noexcept { return read_; }
  std::size_t readable() const noexcept { return static_cast<std::size_t>(arrived_ - read_); }
  /// Returns the number of bytes that, as far as the sender knows, are in flight or unread.
  std::uint64_t unacknowledged() const noexcept { return sent_ - acknowledged_; }

  /// Appends bytes that are in flight. Throws std::bad_alloc; then nothing has changed.
  void send(const char* data, std::size_t bytes);
  /// Advances the sender's position only: the receiver is closed, and the bytes will never be read.
  void discard(std::size_t bytes) noexcept { sent_ += bytes; }
  void arrive(std::uint64_t position) noexcept {
    if (position > arrived_) arrived_ = position;
  }
  /// Drops the bytes that have not arrived.
  void cut() noexcept { sent_ = arrived_; }
  /// Reads bytes that have arrived. Requires bytes <= readable().
  void receive(char* data, std::size_t bytes) noexcept;
  /// Copies bytes that have arrived, from `from` bytes behind the next one that is read. Requires
  /// from + bytes <= readable().
  void copy(std::size_t from, char* data, std::size_t bytes) const noexcept;
  void acknowledge() noexcept { acknowledged_ = read_; }

 private:
  void reserve(std::size_t bytes);
  std::size_t at(std::uint64_t position) const noexcept {
    return static_cast<std::size_t>(position) & (ring_.size() - 1);
  }

  std::vector<char> ring_;  // a power of two, or empty
  std::uint64_t acknowledged_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t arrived_ = 0;
  std::uint64_t sent_ = 0;
};

}  // namespace beck::detail
