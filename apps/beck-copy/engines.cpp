// SPDX-License-Identifier: BSL-1.0
//
// The table of engines, with the block that each is best with (docs/copy.md says how it was found).
#include "engine.hpp"

#include <algorithm>

namespace beck_copy {
namespace {

constexpr std::size_t KiB = 1024;
constexpr std::size_t MiB = 1024 * KiB;

constexpr engine table[] = {
    {"sync", &copy_sync, 256 * KiB, true, 1},
    {"posix-aio", &copy_posix_aio, 128 * KiB, true, 8},
    {"uring", &copy_uring, 128 * KiB, true, 4},
    {"uring-splice", &copy_uring_splice, 512 * KiB, false, 4},
    {"sendfile", &copy_sendfile, 16 * MiB, false, 1},
    {"copy-range", &copy_copy_range, 16 * MiB, false, 1},
};

}  // namespace

std::span<const engine> engines() { return table; }

const engine& find_engine(std::string_view name) {
  return *std::find_if(std::begin(table), std::end(table),
                       [name](const engine& one) { return one.name == name; });
}

}  // namespace beck_copy
