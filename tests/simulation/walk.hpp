// SPDX-License-Identifier: BSL-1.0
// A random walk through what a program may do with streams, acceptors and timers: start, cancel,
// close, open again, in any state and from callbacks as from coroutines, judged by the oracles.
#pragma once

#include <beck/io/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "simulation/oracles.hpp"

namespace beck::test {

/// Where the walk's choices come from; 0 is the calmest.
class choices {
 public:
  choices() = default;
  choices(const choices&) = delete;
  choices& operator=(const choices&) = delete;
  virtual ~choices() = default;
  /// From 0 to bound - 1.
  virtual std::uint64_t below(std::uint64_t bound) = 0;
};

struct walk_options {
  unsigned steps = 60;
  /// Connections may be reset or lost from outside: bytes may be missing then.
  bool faults = false;
  /// Memory is refused now and then when an operation is started.
  bool out_of_memory = false;
};

/// Walks on `ctx` until everything has ended. Returns what was broken first, or "".
std::string walk(io_context& ctx, choices& from, const walk_options& how);

}  // namespace beck::test
