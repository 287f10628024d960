// SPDX-License-Identifier: BSL-1.0
// Bytes, ends and resets. What is sent travels in pieces to the peer's pipe; the end of a stream
// and a reset keep their place behind the bytes. TCP learns of a closed peer by an answer to what
// it sends, a UNIX socket at once, as on Linux.
#include <algorithm>
#include <cerrno>

#include <sys/socket.h>

#include "io/sim/sim_network.hpp"
#include "io/sim/sim_world.hpp"

namespace beck {

// --- sending -----------------------------------------------------------------------------------

std::ptrdiff_t sim_network::room(sim_socket& s, std::size_t bytes) noexcept {
  const bool tcp = s.family != AF_UNIX;
  if (tcp && s.phase == sim_phase::connecting) return -EAGAIN;
  if (!tcp && s.peer == nullptr) return -ENOTCONN;
  if (s.phase != sim_phase::connected || s.send_ended || (tcp && s.error != 0)) {
    const int error = tcp ? take_error(s) : 0;  // a reset is reported once
    return error != 0 ? -error : -EPIPE;
  }
  sim_pipe& out = s.peer->in;
  if (s.blocked) return -EAGAIN;
  out.acknowledge();
  const std::uint64_t capacity =
      std::uint64_t{s.options.send_buffer()} + s.peer->options.receive_buffer();
  const std::uint64_t used = std::min(out.unacknowledged(), capacity);
  const auto free = static_cast<std::size_t>(capacity - used);
  if (free == 0 && bytes != 0) {
    s.blocked = true;
    return -EAGAIN;
  }
  return static_cast<std::ptrdiff_t>(std::min(bytes, free));
}

void sim_network::put(sim_socket& s, const char* data, std::size_t bytes) {
  if (s.peer->gone) {
    s.peer->in.discard(bytes);
  } else {
    s.peer->in.send(data, bytes);
  }
}

void sim_network::put_done(sim_socket& s, std::uint64_t first_byte, std::size_t asked) {
  sim_socket& to = *s.peer;
  const std::uint64_t end = to.in.sent();
  if (end - first_byte < asked) s.blocked = true;
  std::uint64_t at = first_byte;
  for (unsigned piece = 1; piece < pieces_max && end - at > 1; ++piece) {
    if (!split_.chance(world_.profile().split)) break;
    at += split_.chance(sim_probability(0.5)) ? 1 : 1 + split_.below(end - at - 1);
    schedule(event_kind::arrival, to, at, drawn_arrival(to));
  }
  if (at != end) schedule(event_kind::arrival, to, end, drawn_arrival(to));
}

void sim_network::window(sim_socket& s) {
  s.window_due = false;
  if (s.gone || !s.blocked || s.peer == nullptr) return;
  sim_pipe& out = s.peer->in;
  out.acknowledge();
  const std::uint64_t capacity =
      std::uint64_t{s.options.send_buffer()} + s.peer->options.receive_buffer();
  if (out.unacknowledged() > capacity - (capacity + 2) / 3)
    return;  // the kernel's third: not for every byte
  s.blocked = false;
  wake(s);
}

// --- receiving ---------------------------------------------------------------------------------

std::ptrdiff_t sim_network::waiting(sim_socket& s, std::size_t bytes) noexcept {
  const bool tcp = s.family != AF_UNIX;
  if (!tcp && s.phase != sim_phase::connected) return -EINVAL;
  if (tcp && (s.phase == sim_phase::fresh || s.phase == sim_phase::listening)) return -ENOTCONN;
  if (const std::size_t there = s.in.readable(); there != 0) {
    std::size_t taken = std::min(there, bytes);
    if (taken > 1 && split_.chance(world_.profile().short_read)) {
      taken = static_cast<std::size_t>(1 + split_.below(taken - 1));
    }
    return static_cast<std::ptrdiff_t>(taken);
  }
  if (tcp && s.fin_received) return 0;  // before the error of a reset that came later
  if (const int error = take_error(s); error != 0) return -error;
  return s.receive_ended ? 0 : -EAGAIN;
}

void sim_network::take_done(sim_socket& s, std::size_t asked, std::size_t taken) {
  sim_socket* from = s.peer;
  if (from != nullptr && from->blocked && !from->window_due && !from->gone) {
    from->window_due = true;
    schedule(event_kind::window, *from, 0, world_.clock().now() + drawn_delay());
  }
  // After a short read nobody asks again before there is news (epoll(7)): so there has to be some.
  if (taken < asked && s.in.readable() != 0) {
    schedule(event_kind::news, s, 0, world_.clock().now() + drawn_delay());
  }
}

// --- arriving ----------------------------------------------------------------------------------

void sim_network::arrival(sim_socket& s, std::uint64_t position) {
  if (!s.gone) {
    s.in.arrive(position);
    wake(s);
  } else if (s.family != AF_UNIX && s.peer != nullptr && !s.peer->gone && !s.reset_answered) {
    s.reset_answered = true;
    schedule(event_kind::reset, *s.peer, 0, drawn_arrival(*s.peer));
  }
}

void sim_network::fin(sim_socket& s, int error) {
  if (s.phase == sim_phase::ended) return;
  s.fin_received = true;
  s.receive_ended = true;
  if (error != 0) s.error = error;
  if (s.family != AF_UNIX && s.send_ended && s.peer->fin_received) {  // both FINs are through
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

void sim_network::end(sim_socket& s, int error) noexcept {
  s.error = error;
  s.phase = sim_phase::ended;
  s.receive_ended = s.send_ended = true;
  s.in.cut();
}

// --- ending ------------------------------------------------------------------------------------

void sim_network::send_fin(sim_socket& to, int error) {
  schedule(event_kind::fin, to, static_cast<std::uint64_t>(error), drawn_arrival(to));
}

int sim_network::shutdown(sim_socket& s, int how) {
  if (how < SHUT_RD || how > SHUT_RDWR) return -EINVAL;
  const bool reading = how != SHUT_WR;
  const bool writing = how != SHUT_RD;
  if (s.family != AF_UNIX && s.phase != sim_phase::connected) return shutdown_early(s, reading);
  sim_socket* peer = s.peer != nullptr && !s.peer->gone ? s.peer : nullptr;
  if (reading) s.receive_ended = true;
  if (reading && s.family == AF_UNIX && peer != nullptr) {
    peer->send_ended = true;
    wake(*peer);
  }
  if (writing && !s.send_ended && peer != nullptr) send_fin(*peer, 0);
  if (writing) s.send_ended = true;
  wake(s);
  return 0;
}

/// inet_shutdown(): a listener stops to listen, a connect ends; nothing else can be shut down.
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

void sim_network::close_stream(sim_socket& s) {
  sim_socket* peer = s.peer;
  if (peer == nullptr || peer->gone) return;
  if (s.family == AF_UNIX) {
    peer->send_ended = true;
    send_fin(*peer, s.in.sent() != s.in.read() ? ECONNRESET : 0);
    wake(*peer);
    return;
  }
  if (s.phase == sim_phase::connecting) {
    schedule(event_kind::reset, *peer, 0, drawn_arrival(*peer));
  } else if (s.phase == sim_phase::connected) {
    if (s.in.readable() != 0 || s.options.resets_on_close()) {
      s.reset_answered = true;
      schedule(event_kind::reset, *peer, 0, drawn_arrival(*peer));
    } else if (!s.send_ended) {
      send_fin(*peer, 0);
    }
    s.send_ended = true;
  }
}

}  // namespace beck
