// SPDX-License-Identifier: BSL-1.0
// One simulated cluster: three clients ask a server over a network that loses, parts and heals, and
// the server's machine may crash. Whoever retries gets its answer in the end.
#pragma once

#include <cstdint>

namespace beck::test {

struct cluster_result {
  static constexpr unsigned clients = 3;
  static constexpr unsigned questions_each = 4;

  std::uint64_t hash = 0;
  unsigned answers = 0;
  unsigned wrong_answers = 0;
  unsigned retries = 0;
  unsigned crashes = 0;
  unsigned partitions = 0;
  std::uint64_t outstanding = 0;  ///< operations left on the clients
};

/// Everything about it follows from the seed.
cluster_result run_cluster(std::uint64_t seed);

}  // namespace beck::test
