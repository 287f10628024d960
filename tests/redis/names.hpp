// SPDX-License-Identifier: BSL-1.0
// The names that nearly every test of a Redis client uses, for
// `using namespace beck::redis::test`.
#pragma once

#include <beck/coro/task.hpp>
#include <beck/redis/client.hpp>

#include <chrono>

namespace beck::redis::test {

namespace redis = beck::redis;
using beck::task;
using redis::cmd;
using redis::outcome;
using namespace std::chrono_literals;

}  // namespace beck::redis::test
