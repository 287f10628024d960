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

/// An engine that auto tried, and the reason for which the kernel refused it.
struct refused_engine {
  std::string name;
  std::string reason;
};

/// The outcome of a copy; if copy() throws, filled as far as it is known.
struct outcome {
  std::string engine;  // the engine that copied; may be reflink
  std::vector<refused_engine> refused;
  std::vector<std::string> notes;  // a source that changed meanwhile
  std::uint64_t bytes = 0;         // size of the copy with holes; bytes written if it failed
  std::uint64_t holes = 0;         // those of them that are in holes and were not written
  std::size_t block = 0;           // 0: the engine had none
  std::size_t depth = 0;
  double seconds = 0;  // of the copying alone
  bool reflink = false;
  bool verified = false;
  bool synced = false;
};

/// Copies as `asked`, and fills `done`. Throws failure.
void copy(const settings& asked, outcome& done);

}  // namespace beck_copy
