// SPDX-License-Identifier: BSL-1.0
// What lies between the hosts of a simulated world: one path for each direction, made when somebody
// first asks for it. Without one, messages travel as the world's profile says.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace beck::detail {

/// From one host to another. Plain data.
struct sim_path {
  std::int64_t delay_ns_min;
  std::int64_t delay_ns_max;
  std::uint64_t bytes_per_second = 0;  ///< 0: no limit
  std::int64_t busy_until_ns = 0;      ///< when the last byte of what was sent has left
  bool cut = false;                    ///< what is sent gets lost
  bool clogged = false;                ///< what is sent waits
};

class sim_links {
 public:
  /// nullptr: nothing is special about that way. Hosts go by their numbers.
  sim_path* find(std::uint32_t from, std::uint32_t to) const noexcept;
  /// Made like `ordinary` when it is first asked for.
  sim_path& path(std::uint32_t from, std::uint32_t to, const sim_path& ordinary);

  void heal() noexcept {
    for (sim_path& path : paths_) path.cut = false;
  }

  /// When the last of `bytes` that are sent at `now` has left.
  static std::int64_t departure(sim_path& path, std::int64_t now, std::uint64_t bytes) noexcept;

 private:
  std::deque<sim_path> paths_;
  std::vector<std::vector<sim_path*>> rows_;  // by sender, then by receiver
};

}  // namespace beck::detail
