// SPDX-License-Identifier: BSL-1.0
// One simulated cluster: three clients ask a server over a network that loses, parts and heals, and
// the server's machine may crash. Whoever retries gets its answer in the end.
#pragma once

#include <beck/testing/sim.hpp>
#include <cstdint>
#include <string>

namespace beck::test {
using namespace detail;

struct cluster_result {
  static constexpr unsigned clients = 3;
  static constexpr unsigned questions_each = 4;

  unsigned answers = 0;
  unsigned wrong_answers = 0;
  unsigned retries = 0;
  unsigned crashes = 0;
  unsigned partitions = 0;
  std::uint64_t outstanding = 0;  ///< operations left on the clients
};

cluster_result run_cluster(testing::sim::world& world);

/// The same as a program to be checked.
std::string cluster_program(testing::sim::world& world);

}  // namespace beck::test
