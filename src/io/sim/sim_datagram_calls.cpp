// SPDX-License-Identifier: BSL-1.0
// Calls on datagram sockets that transfer no datagram: connect, shutdown, multicast groups, and
// readiness.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <netinet/in.h>
#include <sys/socket.h>

#include "io/sim/sim_network.hpp"
#include "io/system/system.hpp"

namespace beck::detail {

int sim_network::connect_datagram(sim_socket& s, const sim_name& name) {
  if (s.family == AF_UNIX) {
    sim_socket* to = nullptr;
    if (const int error = find_unix(s, name, to); error != 0) return error;
    if (to->target != nullptr && target_of(*to) != &s) return -EPERM;
    s.target = to;
    s.target_generation = to->generation;
    s.remote = name;
    s.phase = sim_phase::connected;
    return 0;
  }
  sim_name to = name;
  if (!is_multicast(to.address)) {
    if (const int error = choose_way(s, to); error != 0) return error;
  }
  if (is_any(s.local.address)) s.local.address = source_for(s, to.address);
  if (!s.bound) {
    s.local.port = free_port(s, s.local.address);
    if (s.local.port == 0) return -EAGAIN;
    enter_port(s);
  }
  s.remote = to;
  s.phase = sim_phase::connected;
  s.error = 0;
  return 0;
}

int sim_network::shutdown_datagram(sim_socket& s, int how) {
  if (s.phase != sim_phase::connected) return -ENOTCONN;
  s.receive_ended |= how != SHUT_WR;
  s.send_ended |= how != SHUT_RD;
  wake(s);
  return 0;
}

int sim_network::change_group(sim_socket& s, int level, int name, const void* value,
                              std::size_t bytes) {
  const bool v4 = level == IPPROTO_IP;
  if (bytes < (v4 ? sizeof(ip_mreq) : sizeof(ipv6_mreq))) return -EINVAL;
  unsigned char raw[16];
  std::memcpy(raw, value, v4 ? 4 : sizeof raw);
  sim_address group{};
  std::copy(raw, raw + sizeof raw, group.begin());
  if (v4) group = mapped_v4(raw[0], raw[1], raw[2], raw[3]);
  if (!is_multicast(group)) return -EINVAL;
  const auto found = std::find(s.groups.begin(), s.groups.end(), group);
  const bool joins = name == (v4 ? IP_ADD_MEMBERSHIP : IPV6_JOIN_GROUP);
  if (joins && found != s.groups.end()) return -EADDRINUSE;
  if (!joins && found == s.groups.end()) return -EADDRNOTAVAIL;
  if (joins) {
    s.groups.push_back(group);
  } else {
    s.groups.erase(found);
  }
  return 0;
}

unsigned sim_network::datagram_levels(const sim_socket& s) noexcept {
  unsigned seen = s.error != 0 ? poll_error : 0u;
  if (s.receive_ended && s.send_ended) seen |= poll_hang_up;
  if (s.receive_ended) seen |= poll_in | poll_read_hang_up;
  if (!s.inbox.empty()) seen |= poll_in;
  const sim_socket* const to = s.family == AF_UNIX ? target_of(s) : nullptr;
  if (to == nullptr || !is_full(*to)) seen |= poll_out;
  return seen;
}

}  // namespace beck::detail
