// SPDX-License-Identifier: BSL-1.0
// A simulated socket, as the kernel keeps it: it lives after its close until its peer is closed
// too. Plain data; sim_network owns all sockets, and only it changes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "io/sim/sim_name.hpp"
#include "io/sim/sim_pipe.hpp"

namespace beck::detail {

class sim_host;
struct sim_socket;

/// The options of one socket: those that the network obeys are checked as in the kernel, all others
/// are kept as bytes. Thread: one.
class sim_options {
 public:
  sim_options(std::uint32_t send_buffer, std::uint32_t receive_buffer) noexcept
      : send_buffer_(send_buffer), receive_buffer_(receive_buffer) {}

  /// Set and get an option as setsockopt(2) and getsockopt(2) do; return 0 or -errno. SO_ERROR and
  /// the options that describe the socket itself (SO_TYPE, SO_DOMAIN, ...) belong to sim_network.
  int set(int family, int level, int name, const void* value, std::size_t bytes);
  int get(int family, int level, int name, void* value, std::size_t& bytes) const noexcept;

  /// Sets the sizes of the buffers, which may be smaller than a program can set.
  void resize_buffers(std::uint32_t send_buffer, std::uint32_t receive_buffer) noexcept {
    send_buffer_ = send_buffer;
    receive_buffer_ = receive_buffer;
  }

  bool reuse_address() const noexcept;
  bool reuse_port() const noexcept;
  bool v6_only() const noexcept;
  /// Returns whether SO_LINGER is on with a time of 0: then close() sends a reset.
  bool resets_on_close() const noexcept;
  std::uint32_t send_buffer() const noexcept { return send_buffer_; }
  std::uint32_t receive_buffer() const noexcept { return receive_buffer_; }

 private:
  static constexpr std::size_t value_bytes_max = 32;
  struct stored {
    int level;
    int name;
    std::size_t bytes;
    unsigned char value[value_bytes_max];
  };

  const stored* find(int level, int name) const noexcept;
  int integer(int level, int name) const noexcept;
  void store(int level, int name, const void* value, std::size_t bytes);

  std::uint32_t send_buffer_;  // bytes of payload; the option shows the double (socket(7))
  std::uint32_t receive_buffer_;
  std::vector<stored> values_;
};

/// The sockets with changed readiness for one driver, each at most once.
struct sim_ready_list {
  struct entry {
    sim_socket* socket;
    std::uint32_t generation;
  };
  std::vector<entry> entries;
};

enum class sim_phase : std::uint8_t {
  fresh,  ///< made, perhaps bound
  listening,
  connecting,  ///< connect(2) has not been answered
  connected,   ///< also if one direction is closed
  ended,       ///< refused, reset, or closed in both directions
};

/// A pipe is a UNIX pair of which each end has one direction.
enum class sim_pipe_end : std::uint8_t { none, reading, writing };

/// The most bytes that one write to a pipe transfers completely or not at all (pipe(7), PIPE_BUF).
inline constexpr std::size_t pipe_atomic_bytes = 4096;
/// The capacity of a pipe (pipe(7)).
inline constexpr std::uint32_t pipe_bytes = 65'536;

struct sim_socket {
  sim_socket(std::uint32_t index, std::uint32_t send_buffer, std::uint32_t receive_buffer)
      : slot(index), options(send_buffer, receive_buffer) {}

  std::uint32_t slot;
  std::uint32_t generation = 0;  ///< counts the sockets that have used the slot
  sim_host* host = nullptr;
  int family = 0;
  int fd = -1;        ///< -1: closed, or not accepted yet
  bool gone = false;  ///< closed: no program has it any more
  sim_phase phase = sim_phase::fresh;
  sim_pipe_end pipe_end = sim_pipe_end::none;

  int error = 0;                ///< pending (SO_ERROR), positive
  bool receive_ended = false;   ///< after the bytes in `in`, a read returns the end
  bool send_ended = false;      ///< nothing more can be sent
  bool fin_received = false;    ///< the peer has ended the stream
  bool connect_failed = false;  ///< the next connect(2) only reports the failure
  bool connect_untold = false;  ///< the next connect(2) only reports the success
  bool reset_answered = false;  ///< closed, and the peer has been told so
  bool silent = false;          ///< nothing arrives here any more
  bool forgotten = false;       ///< over without the peer's knowledge: it is answered by a reset

  sim_socket* peer = nullptr;
  sim_pipe in;                       ///< bytes from the peer
  std::int64_t last_arrival_ns = 0;  ///< when the last message to it arrives: keeps the order
  std::int64_t lost_since_ns = 0;    ///< since when segments to it have been lost; 0: none are lost
  std::int64_t connect_began_ns = 0;
  std::uint32_t connects = 0;  ///< number of connects that were started
  /// Positions in `in` at which a read stops, in ascending order. The first may be the position at
  /// which the last read has stopped.
  std::deque<std::uint64_t> boundaries;
  bool blocked = false;     ///< a send found no room and waits for the peer to read
  bool window_due = false;  ///< a notification of room is in flight to it

  std::vector<sim_socket*> backlog;  ///< connections that wait to be accepted
  std::size_t backlog_max = 0;

  // Only for datagram sockets:
  bool datagram = false;
  std::deque<sim_datagram> inbox;
  std::size_t inbox_bytes = 0;
  std::vector<sim_address> groups;  ///< the groups that it has joined
  sim_socket* target = nullptr;  ///< UNIX: the socket that it is connected to, if that still exists
  std::uint32_t target_generation = 0;
  bool awaited = false;  ///< UNIX: a sender has found its queue full

  bool bound = false;
  sim_name local;
  sim_name remote;
  sim_options options;

  sim_ready_list* watcher = nullptr;
  std::uint64_t token = 0;  ///< the driver's name for it
  bool listed = false;      ///< in the watcher's list
};

/// Returns the socket that a datagram socket is connected to; nullptr if that was closed.
inline sim_socket* target_of(const sim_socket& s) noexcept {
  const bool there = s.target != nullptr && s.target->generation == s.target_generation;
  return there && !s.target->gone ? s.target : nullptr;
}

/// Returns whether the queue of a UNIX datagram socket is full (net.unix.max_dgram_qlen).
inline bool is_full(const sim_socket& receiver) noexcept {
  constexpr std::size_t unix_queue_max = 10;
  return receiver.inbox.size() > unix_queue_max;
}

}  // namespace beck::detail
