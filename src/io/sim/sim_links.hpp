// SPDX-License-Identifier: BSL-1.0
// The paths between the hosts of a simulated world: one for each direction, made at the first
// request. Without one, messages travel as the world's profile says.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace beck::detail {

/// A path from one host to another. Plain data.
struct sim_path {
  std::int64_t delay_ns_min;
  std::int64_t delay_ns_max;
  std::uint64_t bytes_per_second = 0;  ///< 0: no limit
  std::int64_t busy_until_ns = 0;      ///< when the last byte that was sent has left
  bool cut = false;                    ///< messages are lost
  bool clogged = false;                ///< messages wait
};

/// The paths of a world that have settings of their own.
class sim_links {
 public:
  /// Returns the path between two hosts, by their numbers; nullptr if it has no settings of its
  /// own.
  sim_path* find(std::uint32_t from, std::uint32_t to) const noexcept;
  /// Returns the path between two hosts; makes it as a copy of `ordinary` at the first call.
  sim_path& path(std::uint32_t from, std::uint32_t to, const sim_path& ordinary);

  void heal() noexcept {
    for (sim_path& path : paths_) path.cut = false;
  }

  /// Returns when the last of `bytes` bytes that are sent at `now` has left, and reserves the path
  /// until then.
  static std::int64_t departure(sim_path& path, std::int64_t now, std::uint64_t bytes) noexcept;

 private:
  std::deque<sim_path> paths_;
  std::vector<std::vector<sim_path*>> rows_;  // by sender, then by receiver
};

}  // namespace beck::detail
