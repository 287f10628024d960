// SPDX-License-Identifier: BSL-1.0
// Decides whether a command of a cluster ends with its reply, follows a redirect, or is sent again
// because it was refused for now or was lost with its connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <beck/redis/cluster.hpp>

#include "redis/cluster/cluster_call.hpp"
#include "redis/cluster/cluster_map.hpp"
#include "redis/cluster/cluster_unit.hpp"
#include "redis/cluster/node_table.hpp"

namespace beck::redis::detail {

/// The commands behind the one that is judged.
class steps_behind;

/// Changes the states of steps, and takes the redirects of replies into the map. Thread: that of
/// the context.
class step_judge {
 public:
  /// The arguments must outlive the object.
  step_judge(node_table& nodes, cluster_map& map, map_refresh& refresh,
             const cluster_options& how) noexcept
      : nodes_(nodes), map_(map), refresh_(refresh), how_(how) {}

  /// Takes the replies to a unit, or the reason why the others have not come. `is_over`: nothing is
  /// sent again. Returns whether the call is to be judged.
  bool take_end(cluster_unit& one, const error_code& ec, bool is_over, std::int64_t now) noexcept;
  /// Decides which commands of the units that have ended are sent again. Commands of one slot keep
  /// their order: none is sent behind a later one that has run, or may. Returns whether the next
  /// pause is to be longer: a command with a slot rests, or a transaction begins again.
  bool judge(cluster_call& call, std::int64_t now) noexcept;
  /// Returns until when the commands of a call may be sent later.
  std::int64_t end_of(const cluster_call& call) const noexcept;
  /// Adds the counters of redirects, refusals and commands that were sent again.
  void count(cluster_stats& to) const noexcept;

 private:
  step_state next_state(cluster_call& call, std::size_t i, steps_behind& behind,
                        std::int64_t now) noexcept;
  bool begin_again(cluster_call& call, std::int64_t now) noexcept;
  bool follow(cluster_step& step, std::string_view text) noexcept;
  bool may_repeat(const cluster_unit& one, const error_code& why, std::int64_t now) const noexcept;

  node_table& nodes_;
  cluster_map& map_;
  map_refresh& refresh_;
  const cluster_options& how_;
  std::uint64_t moved_ = 0;
  std::uint64_t asked_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t resent_ = 0;
};

}  // namespace beck::redis::detail
