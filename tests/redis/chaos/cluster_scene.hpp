// SPDX-License-Identifier: BSL-1.0
// A cluster of six redis-servers: pipelines and divided reads, while connections are closed, nodes
// are stopped or killed and started again, replicas take over, and slots move.
#pragma once

#include "redis/chaos/round.hpp"

namespace beck::redis::test {

/// Runs a round of the scene.
void run_cluster_scene(round& of);

}  // namespace beck::redis::test
