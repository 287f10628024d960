// SPDX-License-Identifier: BSL-1.0
// Addresses of simulated sockets, and the simulated name resolver.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "io/system/requests.hpp"

namespace beck::detail {

/// A v6 address; v4 addresses are mapped ones (::ffff:a.b.c.d), whatever the socket's family.
using sim_address = std::array<std::uint8_t, 16>;

/// The name of an IP socket (address and port) or of a UNIX socket (path; an abstract one begins
/// with NUL).
struct sim_name {
  sim_address address{};
  std::uint16_t port = 0;
  std::string path;
};

sim_address mapped_v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) noexcept;
bool is_v4(const sim_address& address) noexcept;
bool is_any(const sim_address& address) noexcept;
bool is_loopback(const sim_address& address) noexcept;
/// Returns the address of a socket of `family` before it is bound.
sim_address any_address(int family) noexcept;

/// Reads a sockaddr for a socket of `family`. Returns 0, or the negative errno of bind(2) and
/// connect(2).
int parse_name(int family, const void* data, std::size_t bytes, sim_name& name);
/// Writes the sockaddr, cut to `bytes`, and sets `bytes` to its whole size.
void write_name(int family, const sim_name& name, void* data, std::size_t& bytes) noexcept;

class sim_host;

/// Answer as system::look_up() and system::name_of() do, on the host `asking`. Each host knows all
/// hosts of its world by name, and is itself localhost. A few services have their usual ports.
int sim_look_up(sim_host& asking, const name_question& question, name_sink& sink) noexcept;
int sim_name_of(sim_host& asking, const void* address, std::size_t bytes,
                name_texts& names) noexcept;

inline bool is_multicast(const sim_address& address) noexcept {
  return is_v4(address) ? (address[12] & 0xf0) == 0xe0 : address[0] == 0xff;
}

}  // namespace beck::detail
