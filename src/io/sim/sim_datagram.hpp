// SPDX-License-Identifier: BSL-1.0
// One simulated datagram, on its way or in the queue of a socket. Plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "io/sim/sim_name.hpp"

namespace beck::detail {

class sim_host;
struct sim_socket;

struct sim_datagram {
  sim_name from;
  sim_name to;
  std::vector<char> bytes;
  // Of what travels between hosts:
  sim_host* source = nullptr;
  sim_host* target = nullptr;
  sim_socket* sender = nullptr;
  std::uint32_t sender_generation = 0;
};

}  // namespace beck::detail
