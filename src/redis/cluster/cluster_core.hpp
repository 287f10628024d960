// SPDX-License-Identifier: BSL-1.0
// A cluster at work: calls come, wait for the map, for units on their way to nodes or for a pause,
// and end. cluster_core.cpp has the calls, cluster_core_tend.cpp the coroutines.
#pragma once

#include <cstdint>
#include <vector>

#include <beck/coro/task.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/redis/cluster.hpp>

#include "redis/cluster/call_lists.hpp"
#include "redis/cluster/cluster_map.hpp"
#include "redis/cluster/cluster_unit.hpp"
#include "redis/cluster/node_table.hpp"
#include "redis/cluster/step_judge.hpp"

namespace beck::redis::detail {

/// The course of the calls of a cluster. Shared by the cluster, its operations, units and
/// coroutines. Thread: that of the context.
class cluster_core final : public sender {
 public:
  cluster_core(const any_io_executor& executor, std::vector<server_url> seeds,
               const cluster_options& how);

  void secure(stream_layer& with) noexcept { nodes_.secure(with); }
  void login_with(credentials& from) noexcept { nodes_.login_with(from); }
  void close() noexcept;
  cluster_stats stats() const noexcept;

  error_code check(const arguments& command, bool is_whole) noexcept override;
  error_code start(exchange& one) noexcept override;
  void cancel(exchange& one) noexcept override;
  void forget(exchange& one) noexcept override;

  /// Takes the replies to a unit, or the reason why the others will not come; it is destroyed.
  void end(cluster_unit& one, const error_code& ec) noexcept;
  /// Drops the call of a unit: the context is being destroyed.
  void drop(cluster_call& call) noexcept;

 private:
  ~cluster_core();
  void destroy() noexcept override { delete this; }

  /// A share of a coroutine. If it is destroyed before its end, with the context, it drops the
  /// calls.
  class life {
   public:
    explicit life(cluster_core& of) noexcept : of_(of) {}
    life(life&&) noexcept = default;
    life& operator=(life&&) = delete;
    ~life() {
      if (of_ && of_->is_living_) of_->drop_all();
    }
    cluster_core& operator*() const noexcept { return *of_; }

   private:
    shared<cluster_core> of_;
  };

  std::int64_t now() const noexcept { return time_of(executor()); }
  // calls
  error_code begin_living() noexcept;
  void settle(cluster_call& call) noexcept;
  exchange& release(cluster_call& call) noexcept;
  void drop_all() noexcept;
  // time (cluster_core_tend.cpp)
  static task<> tend(life self);
  std::int64_t look(std::int64_t now) noexcept;
  std::int64_t end_late(std::int64_t now) noexcept;
  void wake_up() noexcept;
  // the map (cluster_core_tend.cpp)
  void want_map(std::uint32_t from) noexcept;
  void ask_for_map(std::int64_t now) noexcept;
  static task<> wait_for_map(shared<cluster_core> self, cluster_node& node);
  void take_end(map_answer answer) noexcept;

  const cluster_options how_;
  node_table nodes_;
  cluster_map map_;
  map_refresh refresh_;
  call_lists calls_;
  unit_sender units_;
  step_judge judge_;
  steady_timer timer_;   // of tend()
  cluster_stats stats_;  // calls that were divided, and maps
  bool is_due_ = false;  // tend() has to look again
  bool is_living_ = false;
  bool is_closed_ = false;
};

}  // namespace beck::redis::detail
