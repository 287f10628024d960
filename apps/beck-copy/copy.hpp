// SPDX-License-Identifier: BSL-1.0
//
// One copy from beginning to end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "settings.hpp"

namespace beck_copy {

/// An engine that auto tried, and what the kernel said.
struct refused_engine {
  std::string name;
  std::string reason;
};

/// What has happened; filled as far as it came, also if copy() throws.
struct outcome {
  std::string engine;  // that copied; reflink too
  std::vector<refused_engine> refused;
  std::vector<std::string> notes;  // a source that changed meanwhile
  std::uint64_t bytes = 0;         // of the copy, with holes; of a failed one: written
  std::uint64_t holes = 0;         // of those, not written
  std::size_t block = 0;           // 0: the engine had none
  std::size_t depth = 0;
  double seconds = 0;  // of the copying alone
  bool reflink = false;
  bool verified = false;
  bool synced = false;
};

/// Copies. Throws failure.
void copy(const settings& asked, outcome& done);

}  // namespace beck_copy
