// SPDX-License-Identifier: BSL-1.0
// A primary and two replicas behind three sentinels: pipelines, while connections are closed,
// primaries, replicas and sentinels are stopped or killed and started again, and other servers take
// over.
#pragma once

#include "redis/chaos/round.hpp"

namespace beck::redis::test {

/// Runs a round of the scene.
void run_sentinel_scene(round& of);

}  // namespace beck::redis::test
