// SPDX-License-Identifier: BSL-1.0
// The life of sockets, the queue of events, the queues in front of slow paths, and readiness.
// Events are ordered by time, then by a drawn number: never by an address.
#include "io/sim/sim_network.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/sim/sim_world.hpp"
#include "io/system/system.hpp"

namespace beck::detail {
namespace {}

sim_path* sim_links::find(std::uint32_t from, std::uint32_t to) const noexcept {
  return from < rows_.size() && to < rows_[from].size() ? rows_[from][to] : nullptr;
}

sim_path& sim_links::path(std::uint32_t from, std::uint32_t to, const sim_path& ordinary) {
  if (sim_path* known = find(from, to); known != nullptr) return *known;
  if (from >= rows_.size()) rows_.resize(from + 1);
  if (to >= rows_[from].size()) rows_[from].resize(to + 1);
  return *(rows_[from][to] = &paths_.emplace_back(ordinary));
}

std::int64_t sim_links::departure(sim_path& path, std::int64_t now, std::uint64_t bytes) noexcept {
  const std::int64_t begin = std::max(now, path.busy_until_ns);
  if (path.bytes_per_second == 0) return begin;
  const std::uint64_t rate = path.bytes_per_second;
  const std::uint64_t rest = bytes % rate * sim_clock::second_ns;  // both factors are below 2^33
  const std::uint64_t time = bytes / rate * sim_clock::second_ns + (rest + rate - 1) / rate;
  path.busy_until_ns = sim_clock::later(begin, static_cast<std::int64_t>(time));
  return path.busy_until_ns;
}

namespace {

// The streams of random numbers that belong to the network.
enum : std::uint64_t { delay_stream = 1, split_stream, order_stream, port_stream };

/// Returns 0, or the errno of socket(2) for a combination that is not supported, negative.
int check_kind(int family, int type, int protocol) noexcept {
  if (family != AF_INET && family != AF_INET6 && family != AF_UNIX) return -EAFNOSUPPORT;
  if (type != SOCK_STREAM && type != SOCK_DGRAM) return -ESOCKTNOSUPPORT;
  const int own = type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
  const bool known = protocol == 0 || (family != AF_UNIX && protocol == own);
  return known ? 0 : -EPROTONOSUPPORT;
}

}  // namespace

sim_network::sim_network(sim_world& world, sim_draws& draws) noexcept
    : world_(world),
      delay_(draws, delay_stream),
      split_(draws, split_stream),
      order_(draws, order_stream),
      port_(draws, port_stream) {}

// --- sockets -----------------------------------------------------------------------------------

/// Returns a fresh socket, in a free slot if there is one.
sim_socket& sim_network::make(sim_host& host, int family, int type) {
  const sim_profile& profile = world_.profile();
  sim_socket* s = nullptr;
  if (free_.empty()) {
    s = &sockets_.emplace_back(static_cast<std::uint32_t>(sockets_.size()),
                               profile.send_buffer_bytes, profile.receive_buffer_bytes);
    free_.reserve(sockets_.size());  // recycle() never allocates
  } else {
    s = free_.back();
    free_.pop_back();
    s->options.resize_buffers(profile.send_buffer_bytes, profile.receive_buffer_bytes);
  }
  s->host = &host;
  s->family = family;
  s->datagram = type == SOCK_DGRAM;
  s->local.address = any_address(family);
  return *s;
}

/// Resets a socket, with a new generation, and puts its slot on the free list.
void sim_network::recycle(sim_socket& s) noexcept {
  const sim_profile& profile = world_.profile();
  const std::uint32_t generation = s.generation + 1;
  s = sim_socket(s.slot, profile.send_buffer_bytes, profile.receive_buffer_bytes);
  s.generation = generation;
  free_.push_back(&s);
}

void sim_network::release(sim_socket& s) noexcept {
  if (!s.gone || (s.peer != nullptr && !s.peer->gone)) return;
  if (s.peer != nullptr) recycle(*s.peer);
  recycle(s);
}

void sim_network::join(sim_socket& a, sim_socket& b) noexcept {
  a.peer = &b;
  b.peer = &a;
}

int sim_network::open(sim_host& host, int family, int type, int protocol) {
  if (const int refused = check_kind(family, type, protocol); refused != 0) return refused;
  sim_socket& s = make(host, family, type);
  const int fd = host.install(s);
  if (fd < 0) {
    recycle(s);
  } else if (strikes(sim_fault::tiny_buffers, s)) {
    shrink_buffers(s);
  }
  return fd;
}

int sim_network::open_pair(sim_host& host, int family, int type, int protocol, int (&pair)[2]) {
  if (const int refused = check_kind(family, type, protocol); refused != 0) return refused;
  if (family != AF_UNIX) return -EOPNOTSUPP;
  const int first = open(host, family, type, protocol);
  if (first < 0) return first;
  const int second = open(host, family, type, protocol);
  if (second < 0) {
    close(*host.find(first));
    return second;
  }
  sim_socket& a = *host.find(first);
  sim_socket& b = *host.find(second);
  if (a.datagram) {
    a.target = &b;
    b.target = &a;
    a.target_generation = b.generation;
    b.target_generation = a.generation;
  } else {
    join(a, b);
  }
  a.phase = b.phase = sim_phase::connected;
  pair[0] = first;
  pair[1] = second;
  return 0;
}

int sim_network::open_pipe(sim_host& host, int (&ends)[2]) {
  const int result = open_pair(host, AF_UNIX, SOCK_STREAM, 0, ends);
  if (result < 0) return result;
  for (const int fd : ends) {
    sim_socket& s = *host.find(fd);
    s.options.resize_buffers(pipe_bytes / 2, pipe_bytes / 2);
    s.pipe_end = fd == ends[0] ? sim_pipe_end::reading : sim_pipe_end::writing;
  }
  return 0;
}

void sim_network::close(sim_socket& s) {
  if (s.fd >= 0) s.host->remove(s);
  unwatch(s);
  leave_names(s);
  if (s.phase == sim_phase::listening) abort_backlog(s);
  close_stream(s);
  if (s.datagram) tell_room(s);
  s.gone = true;
  release(s);
}

int sim_network::local_name(const sim_socket& s, void* address, std::size_t& bytes) const noexcept {
  write_name(s.family, s.local, address, bytes);
  return 0;
}

int sim_network::remote_name(const sim_socket& s, void* address,
                             std::size_t& bytes) const noexcept {
  if (s.phase != sim_phase::connected) return -ENOTCONN;
  write_name(s.family, s.remote, address, bytes);
  return 0;
}

int sim_network::set_option(sim_socket& s, int level, int name, const void* value,
                            std::size_t bytes) {
  if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY && s.bound) return -EINVAL;
  const bool group =
      (level == IPPROTO_IP && (name == IP_ADD_MEMBERSHIP || name == IP_DROP_MEMBERSHIP)) ||
      (level == IPPROTO_IPV6 && (name == IPV6_JOIN_GROUP || name == IPV6_LEAVE_GROUP));
  if (group && s.datagram) return change_group(s, level, name, value, bytes);
  return s.options.set(s.family, level, name, value, bytes);
}

int sim_network::get_option(sim_socket& s, int level, int name, void* value,
                            std::size_t& bytes) noexcept {
  int number = 0;
  if (level == SOL_SOCKET && name == SO_ERROR) {
    number = take_error(s);
  } else if (level == SOL_SOCKET && name == SO_TYPE) {
    number = s.datagram ? SOCK_DGRAM : SOCK_STREAM;
  } else if (level == SOL_SOCKET && name == SO_DOMAIN) {
    number = s.family;
  } else if (level == SOL_SOCKET && name == SO_PROTOCOL) {
    number = s.family == AF_UNIX ? 0 : s.datagram ? IPPROTO_UDP : IPPROTO_TCP;
  } else if (level == SOL_SOCKET && name == SO_ACCEPTCONN) {
    number = s.phase == sim_phase::listening ? 1 : 0;
  } else {
    return s.options.get(s.family, level, name, value, bytes);
  }
  bytes = std::min(bytes, sizeof number);
  std::memcpy(value, &number, bytes);
  return 0;
}

int sim_network::take_error(sim_socket& s) noexcept {
  const int error = s.error;
  s.error = 0;
  return error;
}

// --- faults ------------------------------------------------------------------------------------

bool sim_network::strikes(sim_fault which, const sim_socket& s) noexcept {
  return world_.faults().strikes(which, s.host);
}

/// Draws buffers of 1 to tiny_bytes_max bytes, for the fault tiny_buffers.
void sim_network::shrink_buffers(sim_socket& s) {
  sim_random& random = world_.faults().random();
  const auto send = static_cast<std::uint32_t>(tiny_bytes_max - random.below(tiny_bytes_max));
  const auto receive = static_cast<std::uint32_t>(tiny_bytes_max - random.below(tiny_bytes_max));
  s.options.resize_buffers(send, receive);
}

bool sim_network::sever(sim_socket& s, sim_fault how) {
  if (s.family == AF_UNIX || s.phase != sim_phase::connected || s.peer == nullptr) return false;
  sim_socket& to = *s.peer;
  if (how == sim_fault::silence) {
    s.silent = to.silent = disturbed_ = true;
    return true;
  }
  transmit(how == sim_fault::end ? event_kind::fin : event_kind::reset, to);
  transmit(event_kind::reset, s);
  s.forgotten = true;  // its later messages are dropped, and messages to it are answered by a reset
  return true;
}

// --- readiness (net/ipv4/tcp.c: tcp_poll; net/unix/af_unix.c: unix_poll) -----------------------

namespace {

/// Returns the events of a pipe end, as pipe_poll() of fs/pipe.c.
unsigned pipe_levels(const sim_socket& s) noexcept {
  if (s.pipe_end == sim_pipe_end::reading) {
    return (s.in.readable() != 0 ? poll_in : 0u) | (s.receive_ended ? poll_hang_up : 0u);
  }
  if (s.send_ended) return poll_out | poll_error;
  return s.blocked ? 0u : poll_out;
}

}  // namespace

unsigned sim_network::levels(const sim_socket& s) noexcept {
  if (s.pipe_end != sim_pipe_end::none) return pipe_levels(s);
  if (s.datagram) return datagram_levels(s);
  if (s.phase == sim_phase::listening) return s.backlog.empty() ? 0u : poll_in;
  if (s.phase == sim_phase::connecting) return 0;
  unsigned seen = s.error != 0 ? poll_error : 0u;
  const bool closed = s.phase == sim_phase::fresh || s.phase == sim_phase::ended;
  if (closed || (s.receive_ended && s.send_ended)) seen |= poll_hang_up;
  if (s.receive_ended) seen |= poll_in | poll_read_hang_up;
  if (s.in.readable() != 0) seen |= poll_in;
  // An urgent mark counts once the byte behind it has arrived.
  const bool urgent = s.family != AF_UNIX && !s.boundaries.empty();
  if (urgent && s.boundaries.front() < s.in.arrived()) seen |= poll_priority;
  if (s.send_ended || !s.blocked) seen |= poll_out;
  return seen;
}

/// Lists a socket for the driver that watches it.
void sim_network::wake(sim_socket& s) {
  if (s.watcher == nullptr || s.listed) return;
  s.watcher->entries.push_back({&s, s.generation});
  s.listed = true;
}

void sim_network::watch(sim_socket& s, sim_ready_list& list, std::uint64_t token) {
  s.watcher = &list;
  s.token = token;
  s.listed = false;
  if (levels(s) != 0) wake(s);
}

// --- events ------------------------------------------------------------------------------------

/// Adds an event at `time`, and draws its order among the events of that time.
void sim_network::schedule(event_kind kind, sim_socket& s, std::uint64_t value, std::int64_t time) {
  const std::uint64_t place = order_.below(std::uint64_t{1} << order_bits);
  const std::uint64_t tie = place << (64 - order_bits) | scheduled_++;
  events_.push_back({time, tie, value, &s, s.generation, kind});
  std::push_heap(events_.begin(), events_.end());
  if (!is_timer(kind)) ++travelling_;
}

std::int64_t sim_network::next_event_ns() const noexcept {
  return events_.empty() ? INT64_MAX : events_.front().time;
}

void sim_network::deliver_due() {
  const std::int64_t now = world_.clock().now();
  while (next_event_ns() <= now) {
    const event e = events_.front();
    std::pop_heap(events_.begin(), events_.end());
    events_.pop_back();
    if (!is_timer(e.kind)) --travelling_;
    if (e.generation == e.socket->generation) happen(e);
  }
}

/// Applies an event to its socket.
void sim_network::happen(const event& e) {
  sim_socket& s = *e.socket;
  if (world_.trace().is_on() && !is_timer(e.kind)) trace(e);
  switch (e.kind) {
    case event_kind::syn:
      return syn(s, e.value);
    case event_kind::syn_answer:
      return syn_answer(s, e.value);
    case event_kind::arrival:
      return arrival(s, e.value);
    case event_kind::fin:
      return fin(s);
    case event_kind::reset:
      return reset(s);
    case event_kind::window:
      return window(s);
    case event_kind::news:
      return wake(s);
    case event_kind::datagram:
      return land(e.value);
    case event_kind::unreachable:
      return unreachable(s, e.value);
    case event_kind::syn_again:
      if (is_current(s, e.value)) transmit(event_kind::syn, s, e.value);
      return;
    case event_kind::connect_timeout:
      return connect_timeout(s, e.value);
    case event_kind::send_timeout:
      return send_timeout(s, e.value);
  }
}

}  // namespace beck::detail
