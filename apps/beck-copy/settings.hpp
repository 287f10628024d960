// SPDX-License-Identifier: BSL-1.0
//
// The settings of the command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace beck_copy {

/// The most memory that depth times block may take.
inline constexpr std::uint64_t memory_max = std::uint64_t{1} << 30;
inline constexpr std::size_t depth_max = 1024;
inline constexpr std::size_t block_min = 512;

struct settings {
  std::string source;
  std::string target;
  std::string engine = "auto";
  std::optional<std::size_t> depth;   // nothing: the engine's default
  std::optional<std::size_t> block;   // nothing: the engine's default
  std::optional<std::uint64_t> size;  // nothing: the whole source
  bool direct = false;
  bool sync = false;
  bool verify = false;
  bool json = false;
  bool in_place = false;
  bool verbose = false;
};

}  // namespace beck_copy
