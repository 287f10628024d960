// SPDX-License-Identifier: BSL-1.0
// Datagrams. Between hosts, and over loopback, each datagram travels alone and may meet faults. The
// socket that has the port when it arrives receives it, if there is room. A UNIX datagram is in the
// queue of its receiver at once, in order, or is not sent at all (net/unix/af_unix.c).
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <netinet/in.h>
#include <sys/socket.h>

#include <beck/detail/message_operation.hpp>

#include "io/sim/sim_network.hpp"
#include "io/sim/sim_world.hpp"
#include "io/system/system.hpp"

namespace beck::detail {
namespace {

constexpr std::size_t v4_bytes_max = 65'507;
constexpr std::size_t v6_bytes_max = 65'527;
constexpr std::size_t unix_bytes_min = 2304;   // always fits (net.core.wmem_min)
constexpr std::size_t queued_bytes_more = 64;  // what an empty datagram takes of a buffer

bool is_broadcast(const sim_address& address) noexcept {
  return address == mapped_v4(255, 255, 255, 255);
}

std::vector<char> gathered(const message_header& message) {
  std::vector<char> bytes;
  for (std::size_t i = 0; i < message.part_count; ++i) {
    const char* const data = static_cast<const char*>(message.parts[i].data);
    bytes.insert(bytes.end(), data, data + message.parts[i].bytes);
  }
  return bytes;
}

std::size_t scatter(const std::vector<char>& bytes, message_header& message) noexcept {
  std::size_t done = 0;
  for (std::size_t i = 0; i < message.part_count && done != bytes.size(); ++i) {
    const std::size_t part = std::min(message.parts[i].bytes, bytes.size() - done);
    std::memcpy(message.parts[i].data, bytes.data() + done, part);
    done += part;
  }
  return done;
}

int option_of(const sim_socket& s, int level, int name) noexcept {
  int value = 0;
  std::size_t bytes = sizeof value;
  return s.options.get(s.family, level, name, &value, bytes) == 0 ? value : 0;
}

/// Writes one control message, or sets MSG_CTRUNC if it does not fit.
template <class Info>
void put_info(message_header& message, int level, int type, const Info& info) noexcept {
  std::size_t& room = message.control_bytes;
  if (message.control == nullptr || room < CMSG_SPACE(sizeof info)) {
    room = 0;
    message.flags |= MSG_CTRUNC;
    return;
  }
  auto* const at = static_cast<char*>(message.control);
  cmsghdr entry{};
  entry.cmsg_len = CMSG_LEN(sizeof info);
  entry.cmsg_level = level;
  entry.cmsg_type = type;
  std::memcpy(at, &entry, sizeof entry);
  std::memcpy(at + CMSG_LEN(0), &info, sizeof info);
  room = CMSG_SPACE(sizeof info);
}

/// Adds the destination address and interface, if the program asked for them. Interface 1 is the
/// loopback, 2 the only other one.
void put_packet_info(const sim_socket& s, const sim_datagram& d, message_header& message) noexcept {
  const int interface = is_loopback(d.to.address) ? 1 : 2;
  if (s.family == AF_INET && option_of(s, IPPROTO_IP, IP_PKTINFO) != 0) {
    in_pktinfo info{};
    std::memcpy(&info.ipi_addr, &d.to.address[12], 4);
    info.ipi_spec_dst = info.ipi_addr;
    info.ipi_ifindex = interface;
    put_info(message, IPPROTO_IP, IP_PKTINFO, info);
  } else if (s.family == AF_INET6 && option_of(s, IPPROTO_IPV6, IPV6_RECVPKTINFO) != 0) {
    in6_pktinfo info{};
    std::memcpy(&info.ipi6_addr, d.to.address.data(), d.to.address.size());
    info.ipi6_ifindex = static_cast<unsigned>(interface);
    put_info(message, IPPROTO_IPV6, IPV6_PKTINFO, info);
  } else {
    message.control_bytes = 0;
  }
}

}  // namespace

// --- sending -----------------------------------------------------------------------------------

std::ptrdiff_t sim_network::send_datagram(sim_socket& s, const message_header& message) {
  if (s.send_ended) return -EPIPE;
  if (s.family == AF_UNIX) return send_unix(s, message);
  sim_name to = s.remote;
  if (message.address_bytes != 0) {
    const int refused = parse_name(s.family, message.address, message.address_bytes, to);
    if (refused != 0) return refused;
    if (to.port == 0) return -EINVAL;
  } else if (s.phase != sim_phase::connected) {
    return -EDESTADDRREQ;
  }
  if (const int error = take_error(s); error != 0) return -error;
  std::vector<char> bytes = gathered(message);
  const std::size_t size = bytes.size();
  if (size > (is_v4(to.address) ? v4_bytes_max : v6_bytes_max)) return -EMSGSIZE;
  const bool group = is_multicast(to.address) || is_broadcast(to.address);
  if (is_broadcast(to.address) && option_of(s, SOL_SOCKET, SO_BROADCAST) == 0) return -EACCES;
  if (int r = group ? 0 : choose_way(s, to); r != 0) return r;
  if (!s.bound) {
    s.local.port = free_port(s, s.local.address);
    if (s.local.port == 0) return -EAGAIN;
    enter_port(s);
  }
  sim_datagram d;
  d.from = s.local;
  if (is_any(d.from.address)) d.from.address = source_for(s, to.address);
  d.to = to;
  d.bytes = std::move(bytes);
  d.source = s.host;
  d.sender = &s;
  d.sender_generation = s.generation;
  if (!group) {
    d.target = world_.host_at(to.address, *s.host);
    launch_datagram(s, std::move(d));
    return static_cast<std::ptrdiff_t>(size);
  }
  const bool v4 = is_v4(to.address);
  const bool own = is_broadcast(to.address) ? true
                   : v4                     ? option_of(s, IPPROTO_IP, IP_MULTICAST_LOOP) != 0
                                            : option_of(s, IPPROTO_IPV6, IPV6_MULTICAST_LOOP) != 0;
  for (sim_host& host : world_.hosts()) {
    if (&host == s.host && !own) continue;
    sim_datagram copy = d;
    copy.target = &host;
    launch_datagram(s, std::move(copy));
  }
  return static_cast<std::ptrdiff_t>(size);
}

sim_address sim_network::source_for(const sim_socket& s, const sim_address& to) const noexcept {
  if (is_loopback(to)) return is_v4(to) ? mapped_v4(127, 0, 0, 1) : to;
  return is_v4(to) ? s.host->address_v4() : s.host->address_v6();
}

/// Replaces the destination "any" by this host. Returns 0, or a negative errno if there is no
/// route.
int sim_network::choose_way(const sim_socket& s, sim_name& to) noexcept {
  if (is_any(to.address)) {
    to.address = is_v4(to.address) || s.family == AF_INET ? mapped_v4(127, 0, 0, 1) : sim_address{};
    if (!is_v4(to.address)) to.address[15] = 1;
  }
  const bool v4 = is_v4(to.address);
  if (v4 && s.options.v6_only()) return -ENETUNREACH;
  return world_.host_at(to.address, *s.host) == nullptr ? -ENETUNREACH : 0;
}

/// Sends a datagram to a host. Faults may lose, duplicate or reorder it.
void sim_network::launch_datagram(sim_socket& s, sim_datagram d) {
  sim_faults& faults = world_.faults();
  if (faults.strikes(sim_fault::loss, s.host)) return;
  sim_path* const path = disturbed_ ? links_.find(s.host->number(), d.target->number()) : nullptr;
  const bool twice = faults.strikes(sim_fault::duplication, s.host);
  for (int copies = twice ? 2 : 1; copies != 0; --copies) {
    std::int64_t time = world_.clock().now();
    // NOLINTNEXTLINE(bugprone-use-after-move): the last round moves it
    if (path != nullptr) time = sim_links::departure(*path, time, d.bytes.size());
    time = sim_clock::later(time, path != nullptr ? drawn_delay(*path) : drawn_delay());
    if (faults.strikes(sim_fault::reordering, s.host)) {
      const std::int64_t most = world_.profile().delay_ns_max;
      time =
          sim_clock::later(time, faults.random().between(0, most > INT64_MAX / reordering_delays_max
                                                                ? most
                                                                : most * reordering_delays_max));
    } else {  // datagrams of one socket stay in order
      time = std::max(time, sim_clock::later(s.last_arrival_ns, 1));
      s.last_arrival_ns = time;
    }
    fly(copies == 1 ? std::move(d) : d, time);
  }
}

/// Stores a datagram in flight and schedules its arrival.
void sim_network::fly(sim_datagram d, std::int64_t time) {
  std::uint64_t number = flying_.size();
  if (free_flights_.empty()) {
    free_flights_.reserve(flying_.size() + 1);  // land() does not allocate
    flying_.push_back(std::move(d));
  } else {
    number = free_flights_.back();
    free_flights_.pop_back();
    flying_[number] = std::move(d);
  }
  schedule(event_kind::datagram, nowhere_, number, time);
}

/// Puts a UNIX datagram into the queue of its receiver; fails with -EAGAIN if that is full.
std::ptrdiff_t sim_network::send_unix(sim_socket& s, const message_header& message) {
  sim_socket* to = target_of(s);
  if (message.address_bytes != 0) {
    sim_name name;
    const int refused = parse_name(s.family, message.address, message.address_bytes, name);
    if (refused != 0) return refused;
    if (const int error = find_unix(s, name, to); error != 0) return error;
  } else if (to == nullptr) {
    const bool was_connected = s.target != nullptr;
    s.target = nullptr;  // reported once
    return was_connected ? -ECONNREFUSED : -ENOTCONN;
  }
  std::vector<char> bytes = gathered(message);
  const std::size_t size = bytes.size();
  if (size > std::max<std::size_t>(unix_bytes_min, s.options.send_buffer())) return -EMSGSIZE;
  if (to->target != nullptr && target_of(*to) != &s) return -EPERM;
  if (to->receive_ended) return -EPIPE;
  if (is_full(*to)) {
    to->awaited = true;
    return -EAGAIN;
  }
  sim_datagram d;
  d.from = s.local;
  d.bytes = std::move(bytes);
  to->inbox.push_back(std::move(d));
  transmit(event_kind::news, *to);
  return static_cast<std::ptrdiff_t>(size);
}

/// Finds the UNIX datagram socket of that name. Returns 0, or the negative errno of sendto(2).
int sim_network::find_unix(const sim_socket& s, const sim_name& name, sim_socket*& to) const {
  if (name.path.empty()) return -EINVAL;
  const auto found = s.host->paths.find(name.path);
  if (found == s.host->paths.end()) return name.path.front() == '\0' ? -ECONNREFUSED : -ENOENT;
  if (found->second == nullptr) return -ECONNREFUSED;
  if (!found->second->datagram) return -EPROTOTYPE;
  to = found->second;
  return 0;
}

// --- landing -----------------------------------------------------------------------------------

/// Delivers the datagram that has arrived, or answers that no socket has the port.
void sim_network::land(std::uint64_t number) {
  sim_datagram d = std::move(flying_[number]);
  free_flights_.push_back(number);
  if (!d.target->is_up()) return;
  if (disturbed_) {
    const sim_path* const path = links_.find(d.source->number(), d.target->number());
    if (path != nullptr && path->cut) return;
    if (path != nullptr && path->clogged) {
      held_.push_back(std::move(d));
      return;
    }
  }
  if (is_multicast(d.to.address) || is_broadcast(d.to.address)) return land_in_group(d);
  sim_socket* const s = find_receiver(d);
  if (s != nullptr) return queue_datagram(*s, std::move(d));
  if (d.source->is_up() && d.sender->generation == d.sender_generation) {  // port unreachable
    schedule(event_kind::unreachable, *d.sender, d.to.port,
             sim_clock::later(world_.clock().now(), drawn_delay()));
  }
}

/// Delivers a multicast or broadcast datagram to the sockets of one host.
void sim_network::land_in_group(const sim_datagram& d) {
  const auto [first, last] = d.target->ports.equal_range(d.to.port);
  for (auto at = first; at != last; ++at) {
    sim_socket& s = *at->second;
    const bool member = std::find(s.groups.begin(), s.groups.end(), d.to.address) != s.groups.end();
    const bool all =
        is_broadcast(d.to.address) && is_any(s.local.address) && covers(s, d.to.address);
    if (s.datagram && (member || all)) queue_datagram(s, d);
  }
}

/// Returns the socket that receives `d`: with its port, preferring a socket that is connected to
/// the sender, then one that is bound to the address; nullptr if there is none.
sim_socket* sim_network::find_receiver(const sim_datagram& d) const noexcept {
  sim_socket* best = nullptr;
  int best_score = -1;
  const auto [first, last] = d.target->ports.equal_range(d.to.port);
  for (auto at = first; at != last; ++at) {
    sim_socket& s = *at->second;
    if (!s.datagram || !covers(s, d.to.address)) continue;
    const bool connected = s.phase == sim_phase::connected;
    if (connected && (s.remote.address != d.from.address || s.remote.port != d.from.port)) continue;
    const int score = (connected ? 2 : 0) + (is_any(s.local.address) ? 0 : 1);
    if (score <= best_score) continue;
    best = &s;
    best_score = score;
  }
  return best;
}

void sim_network::queue_datagram(sim_socket& s, sim_datagram d) {
  if (s.inbox_bytes > s.options.receive_buffer()) return;  // udp(7): it is lost
  s.inbox_bytes += d.bytes.size() + queued_bytes_more;
  s.inbox.push_back(std::move(d));
  wake(s);
}

void sim_network::unreachable(sim_socket& s, std::uint64_t port) {
  if (s.phase != sim_phase::connected || s.remote.port != port) return;
  s.error = ECONNREFUSED;
  wake(s);
}

/// Sends the datagrams on that clogged links have held back.
void sim_network::release_held() {
  std::vector<sim_datagram> all;
  all.swap(held_);
  for (sim_datagram& d : all) {
    fly(std::move(d), sim_clock::later(world_.clock().now(), drawn_delay()));
  }
}

// --- receiving ---------------------------------------------------------------------------------

std::ptrdiff_t sim_network::receive_datagram(sim_socket& s, message_header& message, int flags) {
  if (const int error = take_error(s); error != 0) return -error;
  if (s.inbox.empty()) return -EAGAIN;
  const sim_datagram& d = s.inbox.front();
  const std::size_t taken = scatter(d.bytes, message);
  message.flags = taken < d.bytes.size() ? MSG_TRUNC : 0;
  if (message.address != nullptr) {
    std::size_t bytes = message.address_bytes;
    write_name(s.family, d.from, message.address, bytes);
    message.address_bytes = static_cast<std::uint32_t>(bytes);
  }
  put_packet_info(s, d, message);
  if ((flags & MSG_PEEK) == 0) drop_first(s);
  return static_cast<std::ptrdiff_t>(taken);
}

/// Removes the first datagram of the queue.
void sim_network::drop_first(sim_socket& s) {
  if (s.family != AF_UNIX) s.inbox_bytes -= s.inbox.front().bytes.size() + queued_bytes_more;
  const bool was_full = is_full(s);
  s.inbox.pop_front();
  if (s.family == AF_UNIX && was_full) tell_room(s);
}

/// Notifies all sockets that are connected to `s`: they may send again, or find that it was closed.
void sim_network::tell_room(sim_socket& s) {
  if (!s.awaited) return;
  s.awaited = false;
  for (sim_socket& other : sockets_) {
    if (!other.gone && other.target == &s && other.target_generation == s.generation) {
      transmit(event_kind::news, other);
    }
  }
}

}  // namespace beck::detail
