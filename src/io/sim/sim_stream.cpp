// SPDX-License-Identifier: BSL-1.0
// Bytes, ends and resets of streams. TCP data travels in pieces to the peer's pipe. The end of a
// stream and a reset stay behind the bytes that were sent before, and a closed peer answers by a
// reset. Between UNIX sockets the bytes are there at once, as on Linux; only the notification
// travels.
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>

#include "io/sim/sim_network.hpp"
#include "io/sim/sim_world.hpp"

namespace beck::detail {
namespace {

constexpr std::size_t ring_bytes_min = 256;

/// Returns the most bytes that may be in flight from `s` or unread.
std::uint64_t capacity_of(const sim_socket& s) noexcept {
  return std::uint64_t{s.options.send_buffer()} + s.peer->options.receive_buffer();
}

}  // namespace

// --- sending -----------------------------------------------------------------------------------

/// Returns how many of `bytes` bytes may be sent now, or a negative errno. A pipe takes a small
/// write completely or not at all; a fault may shorten a write.
std::ptrdiff_t sim_network::room(sim_socket& s, std::size_t bytes) noexcept {
  const bool tcp = s.family != AF_UNIX;
  if (s.pipe_end == sim_pipe_end::reading) return -EBADF;
  if (tcp && s.phase == sim_phase::connecting) return -EAGAIN;
  if (!tcp && s.peer == nullptr) return -ENOTCONN;
  if (s.phase != sim_phase::connected || s.send_ended || (tcp && s.error != 0)) {
    const int error = tcp ? take_error(s) : 0;  // a reset is reported once
    return error != 0 ? -error : -EPIPE;
  }
  sim_pipe& out = s.peer->in;
  if (s.blocked) return -EAGAIN;
  out.acknowledge();
  const std::uint64_t capacity = capacity_of(s);
  const std::uint64_t used = std::min(out.unacknowledged(), capacity);
  const auto free = static_cast<std::size_t>(capacity - used);
  const bool whole = s.pipe_end != sim_pipe_end::none && bytes <= pipe_atomic_bytes;
  if ((free == 0 && bytes != 0) || (whole && bytes > free)) {
    s.blocked = true;
    return -EAGAIN;
  }
  const std::size_t taken = std::min(bytes, free);
  if (taken < 2 || whole || !strikes(sim_fault::short_write, s))
    return static_cast<std::ptrdiff_t>(taken);
  // A signal interrupts a write in the same way: there is room for more, and epoll(7) owes an
  // event.
  schedule(event_kind::news, s, 0, sim_clock::later(world_.clock().now(), drawn_delay()));
  return static_cast<std::ptrdiff_t>(taken - 1 - world_.faults().random().below(taken - 1));
}

void sim_network::put(sim_socket& s, const char* data, std::size_t bytes) {
  if (s.peer->gone) {
    s.peer->in.discard(bytes);
  } else {
    s.peer->in.send(data, bytes);
  }
}

/// Ends a send of `asked` bytes: puts the bytes from `first_byte` on into flight; a fault may set a
/// mark or break the connection.
void sim_network::put_done(sim_socket& s, std::uint64_t first_byte, std::size_t asked) {
  sim_socket& to = *s.peer;
  const std::uint64_t end = to.in.sent();
  if (end - first_byte < asked && to.in.unacknowledged() >= capacity_of(s)) s.blocked = true;
  if (end != first_byte && strikes(sim_fault::boundary, s)) {
    to.boundaries.push_back(end - world_.faults().random().below(end - first_byte));
  }
  if (to.family == AF_UNIX) {
    to.in.arrive(end);
  } else {
    for (const sim_fault how : {sim_fault::reset, sim_fault::end, sim_fault::silence}) {
      if (!strikes(how, s)) continue;
      const std::uint64_t left = world_.faults().random().below(end - first_byte + 1);
      send_pieces(to, first_byte, end - left);
      sever(s, how);
      return send_pieces(to, end - left, end);  // which is dropped
    }
  }
  send_pieces(to, first_byte, end);
}

/// Sends the bytes from `begin` to `end` of the pipe of `to`, in pieces that the seed decides.
void sim_network::send_pieces(sim_socket& to, std::uint64_t begin, std::uint64_t end) {
  std::uint64_t at = begin;
  for (unsigned piece = 1; piece < pieces_max && end - at > 1; ++piece) {
    if (!split_.chance(world_.profile().split)) break;
    const std::uint64_t bytes =
        split_.chance(sim_probability(0.5)) ? 1 : 1 + split_.below(end - at - 1);
    at += bytes;
    transmit(event_kind::arrival, to, at, bytes);
  }
  if (at != end) transmit(event_kind::arrival, to, end, end - at);
}

/// Ends the wait of `s` for room if a third of the capacity is free, as in the kernel, and not at
/// each byte. Called after the peer has read. Returns whether the wait has ended.
bool sim_network::unblock(sim_socket& s) noexcept {
  if (s.gone || !s.blocked || s.peer == nullptr) return false;
  s.peer->in.acknowledge();
  const std::uint64_t capacity = capacity_of(s);
  if (s.peer->in.unacknowledged() > capacity - (capacity + 2) / 3) return false;
  s.blocked = false;
  return true;
}

void sim_network::window(sim_socket& s) {
  s.window_due = false;
  if (unblock(s)) wake(s);
}

// --- receiving ---------------------------------------------------------------------------------

/// Returns how many of `bytes` bytes may be read now, at most up to the next boundary; 0 at the end
/// of the stream; a negative errno. A read may be shortened by chance or by a fault.
std::ptrdiff_t sim_network::waiting(sim_socket& s, std::size_t bytes) noexcept {
  const bool tcp = s.family != AF_UNIX;
  if (s.pipe_end == sim_pipe_end::writing) return -EBADF;
  if (!tcp && s.phase != sim_phase::connected) return -EINVAL;
  if (tcp && (s.phase == sim_phase::fresh || s.phase == sim_phase::listening)) return -ENOTCONN;
  if (std::size_t there = s.in.readable(); there != 0) {
    for (const std::uint64_t at : s.boundaries) {
      if (at == s.in.read()) continue;
      there = std::min(there, static_cast<std::size_t>(at - s.in.read()));
      break;
    }
    std::size_t taken = std::min(there, bytes);
    if (taken > 1 && strikes(sim_fault::short_read, s)) {
      taken -= 1 + world_.faults().random().below(taken - 1);
    } else if (taken > 1 && split_.chance(world_.profile().short_read)) {
      taken = static_cast<std::size_t>(1 + split_.below(taken - 1));
    }
    return static_cast<std::ptrdiff_t>(taken);
  }
  if (tcp && s.fin_received) return 0;  // before the error of a reset that came later
  if (const int error = take_error(s); error != 0) return -error;
  return s.receive_ended ? 0 : -EAGAIN;
}

bool sim_network::stands_at_boundary(const sim_socket& s) noexcept {
  return !s.boundaries.empty() && s.boundaries.front() == s.in.read();
}

/// Ends a receive: notifies the sender if there is room again.
void sim_network::take_done(sim_socket& s, std::size_t asked, std::size_t taken) {
  sim_socket* from = s.peer;
  if (s.family == AF_UNIX) {
    if (unblock(*from)) transmit(event_kind::news, *from);
  } else if (from->blocked && !from->window_due && !from->gone) {
    from->window_due = true;
    transmit(event_kind::window, *from);
  }
  while (!s.boundaries.empty() && s.boundaries.front() < s.in.read()) s.boundaries.pop_front();
  // After a short read, a program may wait for the next event (epoll(7)), so one has to follow.
  if (taken < asked && s.in.readable() != 0 && !stands_at_boundary(s)) {
    schedule(event_kind::news, s, 0, sim_clock::later(world_.clock().now(), drawn_delay()));
  }
}

// --- arriving ----------------------------------------------------------------------------------

void sim_network::arrival(sim_socket& s, std::uint64_t position) {
  if (s.gone || s.forgotten) return answer_reset(s);
  s.in.arrive(position);
  wake(s);
}

/// Answers by a reset, once, to a message for a socket that is closed.
void sim_network::answer_reset(sim_socket& s) {
  if (s.family == AF_UNIX || s.peer == nullptr || s.peer->gone || s.reset_answered) return;
  s.reset_answered = true;
  transmit(event_kind::reset, *s.peer);
}

void sim_network::fin(sim_socket& s) {
  if (s.forgotten) return answer_reset(s);
  if (s.phase == sim_phase::ended) return;
  s.fin_received = true;
  s.receive_ended = true;
  if (s.send_ended && s.peer->fin_received) {  // both FINs have arrived
    s.phase = sim_phase::ended;
    s.peer->phase = sim_phase::ended;
    wake(*s.peer);
  }
  wake(s);
}

void sim_network::reset(sim_socket& s) {
  if (s.gone || s.phase == sim_phase::ended) return;
  end(s, s.fin_received ? EPIPE : ECONNRESET);
  wake(s);
}

/// Ends both directions of a socket, with `error` pending.
void sim_network::end(sim_socket& s, int error) noexcept {
  s.error = error;
  s.phase = sim_phase::ended;
  s.receive_ended = s.send_ended = true;
  s.in.cut();
}

// --- ending ------------------------------------------------------------------------------------

/// Tells a UNIX socket, at once, that its peer sends (`receive_ended`) or reads (`send_ended`) no
/// more; the notification travels.
void sim_network::tell(sim_socket& to, bool receive_ended, bool send_ended, int error) {
  if (to.gone) return;
  to.receive_ended |= receive_ended;
  to.send_ended |= send_ended;
  if (error != 0) to.error = error;
  transmit(event_kind::news, to);
}

int sim_network::shutdown(sim_socket& s, int how) {
  if (how < SHUT_RD || how > SHUT_RDWR) return -EINVAL;
  if (s.datagram) return shutdown_datagram(s, how);
  const bool reading = how != SHUT_WR;
  const bool writing = how != SHUT_RD;
  if (s.family != AF_UNIX && s.phase != sim_phase::connected) return shutdown_early(s, reading);
  if (s.family == AF_UNIX) {
    if (s.peer != nullptr) tell(*s.peer, writing, reading, 0);
  } else if (writing && !s.send_ended && !s.peer->gone) {
    transmit(event_kind::fin, *s.peer);
  }
  s.receive_ended |= reading;
  s.send_ended |= writing;
  wake(s);
  return 0;
}

/// Shuts a socket down that is not connected, as inet_shutdown() does: a listener stops to listen,
/// a connect ends, and any other socket is refused.
int sim_network::shutdown_early(sim_socket& s, bool reading) {
  if (s.phase == sim_phase::listening) {
    if (!reading) return 0;
    abort_backlog(s);
    s.phase = sim_phase::fresh;
  } else if (s.phase == sim_phase::connecting) {
    close_stream(s);
    end(s, ECONNRESET);
  } else {
    return -ENOTCONN;
  }
  wake(s);
  return 0;
}

/// Ends the connection of a socket that is closed: unread data or SO_LINGER reset it, otherwise a
/// FIN ends it.
void sim_network::close_stream(sim_socket& s) {
  sim_socket* peer = s.peer;
  if (peer == nullptr || peer->gone) return;
  if (s.family == AF_UNIX) {
    return tell(*peer, true, true, s.in.readable() != 0 ? ECONNRESET : 0);
  }
  if (s.phase == sim_phase::connecting) {
    transmit(event_kind::reset, *peer);
  } else if (s.phase == sim_phase::connected) {
    if (s.in.readable() != 0 || s.options.resets_on_close()) {
      s.reset_answered = true;
      transmit(event_kind::reset, *peer);
    } else if (!s.send_ended) {
      transmit(event_kind::fin, *peer);
    }
    s.send_ended = true;
  }
}

// --- the ring of a pipe, of which a piece is copied in at most two parts -------------------------

void sim_pipe::reserve(std::size_t bytes) {
  if (bytes <= ring_.size()) return;
  std::vector<char> larger(std::max(std::bit_ceil(bytes), ring_bytes_min));
  for (std::uint64_t from = read_; from != sent_;) {
    const auto run = std::min(static_cast<std::size_t>(sent_ - from), ring_.size() - at(from));
    // At least twice as large, it has room for the piece without a second one.
    std::memcpy(&larger[static_cast<std::size_t>(from) & (larger.size() - 1)], &ring_[at(from)],
                run);
    from += run;
  }
  ring_.swap(larger);
}

void sim_pipe::send(const char* data, std::size_t bytes) {
  if (bytes == 0) return;
  reserve(static_cast<std::size_t>(sent_ - read_) + bytes);
  const std::size_t first = std::min(bytes, ring_.size() - at(sent_));
  std::memcpy(&ring_[at(sent_)], data, first);
  if (first < bytes) std::memcpy(ring_.data(), data + first, bytes - first);
  sent_ += bytes;
}

void sim_pipe::receive(char* data, std::size_t bytes) noexcept {
  copy(0, data, bytes);
  read_ += bytes;
}

void sim_pipe::copy(std::size_t from, char* data, std::size_t bytes) const noexcept {
  if (bytes == 0) return;
  const std::size_t begin = at(read_ + from);
  const std::size_t first = std::min(bytes, ring_.size() - begin);
  std::memcpy(data, &ring_[begin], first);
  if (first < bytes) std::memcpy(data + first, ring_.data(), bytes - first);
}

}  // namespace beck::detail
