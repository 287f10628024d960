// SPDX-License-Identifier: BSL-1.0
// A table of paths by the numbers of their ends, and the queue in front of a slow one.
#include "io/sim/sim_links.hpp"

#include <algorithm>

#include "io/sim/sim_clock.hpp"

namespace beck::detail {
namespace {
constexpr std::uint64_t ns_per_second = 1'000'000'000;
}

sim_path* sim_links::find(std::uint32_t from, std::uint32_t to) const noexcept {
  return from < rows_.size() && to < rows_[from].size() ? rows_[from][to] : nullptr;
}

sim_path& sim_links::path(std::uint32_t from, std::uint32_t to, const sim_path& ordinary) {
  if (sim_path* known = find(from, to); known != nullptr) return *known;
  if (from >= rows_.size()) rows_.resize(from + 1);
  if (to >= rows_[from].size()) rows_[from].resize(to + 1);
  return *(rows_[from][to] = &paths_.emplace_back(ordinary));
}

std::int64_t sim_links::departure(sim_path& path, std::int64_t now, std::uint64_t bytes) noexcept {
  const std::int64_t begin = std::max(now, path.busy_until_ns);
  if (path.bytes_per_second == 0) return begin;
  const std::uint64_t rate = path.bytes_per_second;
  const std::uint64_t rest = bytes % rate * ns_per_second;  // both are below 2^33
  const std::uint64_t time = bytes / rate * ns_per_second + (rest + rate - 1) / rate;
  path.busy_until_ns = sim_clock::later(begin, static_cast<std::int64_t>(time));
  return path.busy_until_ns;
}

}  // namespace beck::detail
