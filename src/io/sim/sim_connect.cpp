// SPDX-License-Identifier: BSL-1.0
// Names and connections: bind(2), listen(2), connect(2), accept(2). A TCP handshake takes one drawn
// delay to the listener and one back; UNIX sockets connect at once or not at all, as on Linux.
#include <algorithm>
#include <cerrno>
#include <cstdio>

#include <sys/socket.h>

#include "io/sim/sim_network.hpp"
#include "io/sim/sim_world.hpp"

namespace beck::detail {

bool covers(const sim_socket& s, const sim_address& address) noexcept {
  if (!is_any(s.local.address)) return s.local.address == address;
  if (is_v4(s.local.address)) return is_v4(address);
  return !is_v4(address) || !s.options.v6_only();
}

namespace {

constexpr std::uint16_t ephemeral_first = 32'768;  // net.ipv4.ip_local_port_range
constexpr std::uint16_t ephemeral_count = 28'232;

/// Returns whether some address belongs to both `a` and a socket like `b` at `b_address`.
bool overlaps(const sim_socket& a, const sim_socket& b, const sim_address& b_address) noexcept {
  if (!is_any(b_address)) return covers(a, b_address);
  if (is_any(a.local.address)) {
    if (is_v4(a.local.address) == is_v4(b_address)) return true;
    return !(is_v4(a.local.address) ? b : a).options.v6_only();
  }
  if (is_v4(b_address)) return is_v4(a.local.address);
  return !is_v4(a.local.address) || !b.options.v6_only();
}

}  // namespace

// --- names -------------------------------------------------------------------------------------

/// Returns whether another socket prevents `s` from taking `port`, after SO_REUSEADDR and
/// SO_REUSEPORT.
bool sim_network::port_taken(const sim_socket& s, const sim_address& address,
                             std::uint16_t port) noexcept {
  const auto [first, last] = s.host->ports.equal_range(port);
  return std::any_of(first, last, [&](const auto& entry) {
    const sim_socket& other = *entry.second;
    if (&other == &s || other.datagram != s.datagram || !overlaps(other, s, address)) return false;
    const bool shared = s.options.reuse_port() && other.options.reuse_port();
    const bool reused = s.options.reuse_address() && other.options.reuse_address() &&
                        other.phase != sim_phase::listening;
    return !shared && !reused;
  });
}

/// Returns an ephemeral port that `s` may take, searching from a drawn one; 0 if there is none.
std::uint16_t sim_network::free_port(const sim_socket& s, const sim_address& address) noexcept {
  const std::uint64_t start = port_.below(ephemeral_count);
  for (std::uint64_t i = 0; i < ephemeral_count; ++i) {
    const auto port = static_cast<std::uint16_t>(ephemeral_first + (start + i) % ephemeral_count);
    if (s.host->ports.find(port) == s.host->ports.end()) return port;
  }
  // All ports are in use: search for one that may be shared.
  for (std::uint64_t i = 0; i < ephemeral_count; ++i) {
    const auto port = static_cast<std::uint16_t>(ephemeral_first + (start + i) % ephemeral_count);
    if (!port_taken(s, address, port)) return port;
  }
  return 0;
}

void sim_network::enter_port(sim_socket& s) {
  s.host->ports.emplace(s.local.port, &s);
  world_.digest().fold(s.local.port);
  s.bound = true;
}

/// Removes a socket from the table of ports or paths.
void sim_network::leave_names(sim_socket& s) noexcept {
  if (!s.bound) return;
  if (s.family == AF_UNIX) {
    const auto found = s.host->paths.find(s.local.path);
    if (found == s.host->paths.end() || found->second != &s)
      return;  // an accepted socket: the name is its listener's
    if (s.local.path.front() == '\0') {
      s.host->paths.erase(found);
    } else {
      found->second = nullptr;  // the file stays
    }
    return;
  }
  const auto [first, last] = s.host->ports.equal_range(s.local.port);
  const auto found =
      std::find_if(first, last, [&s](const auto& entry) { return entry.second == &s; });
  if (found != last) s.host->ports.erase(found);
}

int sim_network::bind(sim_socket& s, const void* address, std::size_t bytes) {
  sim_name name;
  if (const int refused = parse_name(s.family, address, bytes, name); refused != 0) return refused;
  if (s.family == AF_UNIX) return bind_path(s, name);
  return bind_ip(s, name);
}

int sim_network::bind_ip(sim_socket& s, const sim_name& name) {
  if (s.family == AF_INET6 && is_v4(name.address) && s.options.v6_only()) return -EINVAL;
  if (!is_any(name.address) && !s.host->owns(name.address)) return -EADDRNOTAVAIL;
  if (s.bound || s.phase != sim_phase::fresh) return -EINVAL;
  const std::uint16_t port = name.port != 0 ? name.port : free_port(s, name.address);
  if (port == 0 || (name.port != 0 && port_taken(s, name.address, port))) return -EADDRINUSE;
  s.local.address = name.address;
  s.local.port = port;
  enter_port(s);
  return 0;
}

int sim_network::bind_path(sim_socket& s, const sim_name& name) {
  if (s.bound) return -EINVAL;
  sim_name chosen = name;
  if (chosen.path.empty()) {  // unix(7), autobind: NUL and five hexadecimal digits
    char digits[8];
    do {
      std::snprintf(digits, sizeof digits, "%05x", static_cast<unsigned>(port_.below(0x100000)));
      chosen.path.assign(1, '\0').append(digits);
    } while (s.host->paths.count(chosen.path) != 0);
  }
  if (!s.host->paths.emplace(chosen.path, &s).second) return -EADDRINUSE;
  s.local = chosen;
  s.bound = true;
  return 0;
}

// --- connections -------------------------------------------------------------------------------

int sim_network::listen(sim_socket& s, int backlog) {
  if (s.datagram) return -EOPNOTSUPP;
  if (s.phase != sim_phase::fresh && s.phase != sim_phase::listening) return -EINVAL;
  if (!s.bound) {
    if (s.family == AF_UNIX) return -EINVAL;
    s.local.port = free_port(s, s.local.address);
    if (s.local.port == 0) return -EADDRINUSE;
    enter_port(s);
  }
  if (s.family != AF_UNIX && s.phase == sim_phase::fresh) {
    // SO_REUSEADDR lets two sockets have a port, but only one of them listen.
    const auto [first, last] = s.host->ports.equal_range(s.local.port);
    const bool taken = std::any_of(first, last, [&s](const auto& entry) {
      const sim_socket& other = *entry.second;
      return other.phase == sim_phase::listening && overlaps(other, s, s.local.address) &&
             !(s.options.reuse_port() && other.options.reuse_port());
    });
    if (taken) return -EADDRINUSE;
  }
  s.phase = sim_phase::listening;
  s.backlog_max =
      backlog < 0 ? backlog_limit : std::min(static_cast<std::size_t>(backlog), backlog_limit);
  return 0;
}

/// Starts a TCP connect, or reports the outcome of the last one, as repeated calls of connect(2)
/// do.
int sim_network::connect(sim_socket& s, const void* address, std::size_t bytes) {
  sim_name name;
  if (const int refused = parse_name(s.family, address, bytes, name); refused != 0) return refused;
  if (s.datagram) return connect_datagram(s, name);
  if (s.family == AF_UNIX) return connect_path(s, name);
  if (s.connect_failed) {  // the failure must be reported before the next connect may start
    s.connect_failed = false;
    s.receive_ended = s.send_ended = false;
    s.phase = sim_phase::fresh;
    const int error = take_error(s);
    return error != 0 ? -error : -ECONNABORTED;
  }
  if (s.phase == sim_phase::connecting) return -EALREADY;
  if (s.connect_untold) {  // for any address
    s.connect_untold = false;
    return 0;
  }
  if (s.phase != sim_phase::fresh) return -EISCONN;
  if (is_any(name.address)) {
    name.address =
        is_v4(name.address) || s.family == AF_INET ? mapped_v4(127, 0, 0, 1) : sim_address{};
    if (!is_v4(name.address)) name.address[15] = 1;
  }
  const bool v4 = is_v4(name.address);
  if ((v4 && s.options.v6_only()) || world_.host_at(name.address, *s.host) == nullptr)
    return -ENETUNREACH;
  if (is_any(s.local.address)) {
    if (is_loopback(name.address)) {
      s.local.address = name.address;
      if (v4) s.local.address = mapped_v4(127, 0, 0, 1);
    } else {
      s.local.address = v4 ? s.host->address_v4() : s.host->address_v6();
    }
  }
  if (!s.bound) {
    s.local.port = free_port(s, s.local.address);
    if (s.local.port == 0) return -EADDRNOTAVAIL;
    enter_port(s);
  }
  s.remote = name;
  s.phase = sim_phase::connecting;
  s.connect_began_ns = world_.clock().now();
  ++s.connects;
  if (strikes(sim_fault::connect_timed_out, s)) {
    limit_connect(s);
  } else {
    transmit(event_kind::syn, s, syn_value(s, 0));
  }
  return -EINPROGRESS;
}

/// Connects a UNIX socket at once, or fails.
int sim_network::connect_path(sim_socket& s, const sim_name& name) {
  if (name.path.empty()) return -EINVAL;
  const auto found = s.host->paths.find(name.path);
  if (found == s.host->paths.end()) return name.path.front() == '\0' ? -ECONNREFUSED : -ENOENT;
  sim_socket* listener = found->second;
  if (listener != nullptr && listener->datagram) return -EPROTOTYPE;
  if (listener == nullptr || listener->phase != sim_phase::listening) return -ECONNREFUSED;
  if (strikes(sim_fault::connect_refused, s)) return -ECONNREFUSED;
  if (listener->backlog.size() > listener->backlog_max || strikes(sim_fault::backlog_full, s)) {
    return -EAGAIN;
  }
  if (s.phase == sim_phase::listening) return -EINVAL;
  if (s.phase != sim_phase::fresh) return -EISCONN;
  s.remote = name;
  make_child(*listener, s);
  s.phase = sim_phase::connected;
  wake(s);
  return 0;
}

/// Returns the listener for the connect of `from`, one at that address before one at any; nullptr
/// if there is none.
sim_socket* sim_network::find_listener(sim_host& host, const sim_socket& from) const noexcept {
  sim_socket* best = nullptr;
  const auto [first, last] = host.ports.equal_range(from.remote.port);
  for (auto at = first; at != last; ++at) {
    sim_socket& s = *at->second;
    if (s.phase != sim_phase::listening || !covers(s, from.remote.address)) continue;
    if (best == nullptr || is_any(best->local.address)) best = &s;  // the most specific address
  }
  return best;
}

/// Makes the listener's side of a connection and puts it into the backlog.
sim_socket& sim_network::make_child(sim_socket& listener, sim_socket& client) {
  sim_socket& child = make(*listener.host, listener.family, SOCK_STREAM);
  listener.backlog.push_back(&child);
  child.phase = sim_phase::connected;
  child.options = listener.options;
  if (strikes(sim_fault::tiny_buffers, child)) shrink_buffers(child);
  child.local = client.remote;
  child.remote = client.local;
  join(child, client);
  if (child.family == AF_UNIX) {
    transmit(event_kind::news, listener);
  } else {
    enter_port(child);
    wake(listener);
  }
  return child;
}

/// Returns an event's value: the number of the connect in the upper half, `number` in the lower
/// one.
std::uint64_t sim_network::syn_value(const sim_socket& client, unsigned number) noexcept {
  return std::uint64_t{client.connects} << 32 | number;
}

/// Returns whether the client still waits for the connect that `value` names.
bool sim_network::is_current(const sim_socket& client, std::uint64_t value) noexcept {
  return !client.gone && client.phase == sim_phase::connecting && client.connects == value >> 32;
}

/// Handles a SYN that arrives at the listener's host.
void sim_network::syn(sim_socket& client, std::uint64_t value) {
  if (!is_current(client, value) || client.peer != nullptr) return;
  sim_socket* listener = nullptr;
  if (sim_host* host = world_.host_at(client.remote.address, *client.host); host != nullptr) {
    listener = find_listener(*host, client);
  }
  unsigned error = 0;
  if (listener == nullptr || strikes(sim_fault::connect_refused, client)) {
    error = ECONNREFUSED;
  } else if (listener->backlog.size() > listener->backlog_max ||
             strikes(sim_fault::backlog_full, client)) {
    return repeat_syn(client, static_cast<unsigned>(value));
  } else {
    make_child(*listener, client);
  }
  transmit(event_kind::syn_answer, client, syn_value(client, error));
}

/// Schedules the next SYN after one that the listener has dropped, or else the end of the connect.
void sim_network::repeat_syn(sim_socket& client, unsigned attempt) {
  const std::int64_t now = world_.clock().now();
  if (attempt < syn_retries_max) {
    schedule(event_kind::syn_again, client, syn_value(client, attempt + 1),
             sim_clock::later(now, syn_retry_ns << attempt));
  } else {
    limit_connect(client);
  }
}

/// Schedules the end of a connect that is not answered.
void sim_network::limit_connect(sim_socket& client) {
  const std::int64_t end = sim_clock::later(client.connect_began_ns, connect_timeout_ns);
  schedule(event_kind::connect_timeout, client, syn_value(client, 0), end);
}

/// Handles the answer to a SYN, which ends the connect.
void sim_network::syn_answer(sim_socket& client, std::uint64_t value) {
  if (!is_current(client, value)) return;
  if (const auto error = static_cast<std::uint32_t>(value); error != 0) {
    return fail_connect(client, static_cast<int>(error));
  }
  client.phase = sim_phase::connected;
  client.connect_untold = true;
  wake(client);
}

void sim_network::fail_connect(sim_socket& client, int error) {
  end(client, error);
  client.connect_failed = true;
  wake(client);
}

void sim_network::connect_timeout(sim_socket& client, std::uint64_t value) {
  if (!is_current(client, value)) return;
  std::erase_if(parked_, [&client](const parked& p) { return p.what.socket == &client; });
  if (client.peer != nullptr) {  // the answer was lost: the listener's side gets a closed peer
    sim_socket& nobody = make(*client.host, client.family, SOCK_STREAM);
    nobody.gone = nobody.forgotten = true;
    join(nobody, *client.peer);
    client.peer = nullptr;
  }
  fail_connect(client, ETIMEDOUT);
}

int sim_network::accept(sim_socket& listener, void* address, std::size_t& bytes) {
  if (listener.phase != sim_phase::listening) return -EINVAL;
  if (listener.backlog.empty()) return -EAGAIN;
  if (strikes(sim_fault::accept_exhausted, listener)) {
    return world_.faults().random().below(2) == 0 ? -EMFILE : -ENFILE;
  }
  if (strikes(sim_fault::accept_aborted, listener)) return abort_first(listener);
  sim_socket& child = *listener.backlog.front();
  const int fd = listener.host->install(child);
  if (fd < 0) return fd;
  listener.backlog.erase(listener.backlog.begin());
  if (address != nullptr) write_name(child.family, child.remote, address, bytes);
  return fd;
}

/// Aborts the first connection of the backlog, for the fault accept_aborted.
int sim_network::abort_first(sim_socket& listener) {
  sim_socket& child = *listener.backlog.front();
  listener.backlog.erase(listener.backlog.begin());
  abort_child(child);
  return -ECONNABORTED;
}

void sim_network::abort_backlog(sim_socket& listener) {
  std::vector<sim_socket*> left;
  left.swap(listener.backlog);
  for (sim_socket* child : left) abort_child(*child);
}

/// Resets a connection that was not accepted.
void sim_network::abort_child(sim_socket& child) {
  leave_names(child);
  child.gone = true;
  if (!child.peer->gone) {
    if (child.family == AF_UNIX) {
      tell(*child.peer, true, true, ECONNRESET);
    } else {
      transmit(event_kind::reset, *child.peer);
    }
  }
  release(child);
}

}  // namespace beck::detail
