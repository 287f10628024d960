// SPDX-License-Identifier: BSL-1.0
// One redis-server that writes every command to its log before it answers, behind a rough relay:
// pipelines, transactions, lanes, subscriptions and a cache, while connections are cut at any byte,
// and the server is silent, stopped, or killed and started again.
#pragma once

#include "redis/chaos/round.hpp"

namespace beck::redis::test {

/// Runs a round of the scene.
void run_single_scene(round& of);

}  // namespace beck::redis::test
