// SPDX-License-Identifier: BSL-1.0
// Units: the commands of one call that go to one node together.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <beck/detail/intrusive_list.hpp>
#include <beck/redis/exchange.hpp>
#include <beck/redis/exec.hpp>

#include "redis/cluster/node_table.hpp"

namespace beck::redis::detail {

class cluster_core;
class cluster_map;
struct cluster_step;

/// Commands of one call on their way to one node. Used again for other calls.
class cluster_unit final : public exchange {
 public:
  cluster_unit() noexcept;
  ~cluster_unit() override;

  void begin(cluster_core& core, cluster_call& call, cluster_node& to) noexcept;
  /// Leaves the call and the node. Drops a share of the core.
  void clear() noexcept;
  /// Adds a step of the call; `asks`: with ASKING before it, or before the first one of several.
  void add(std::uint32_t step, bool asks);
  /// Sets what the session has to know. Call it behind the last add().
  void close();
  /// Returns whether ASKING stands before the first command.
  bool asks() const noexcept { return asks_; }
  /// Returns the steps, by their places in the call.
  const std::vector<std::uint32_t>& steps() const noexcept { return steps_; }
  cluster_call& call() const noexcept { return *call_; }
  cluster_node& node() const noexcept { return *node_; }

  reply_place place_of(std::uint32_t i) noexcept override;
  void done(const error_code& ec) noexcept override;
  void drop() noexcept override;

  beck::detail::list_hook in_call;  ///< while it is under way

 private:
  shared<cluster_core> core_;
  cluster_call* call_ = nullptr;
  cluster_node* node_ = nullptr;
  std::vector<std::uint32_t> steps_;
  std::vector<command_bytes> parts_;
  reply<void> allowed_;  // of ASKING
  bool asks_ = false;
};

/// Divides the commands of calls into units, and sends them. Has the units that are not under way.
/// Thread: that of the context.
class unit_sender {
 public:
  /// The arguments must outlive the object.
  unit_sender(cluster_core& core, cluster_map& map, node_table& nodes);
  unit_sender(const unit_sender&) = delete;
  unit_sender& operator=(const unit_sender&) = delete;
  ~unit_sender();

  /// Sends the commands of a call that are ready, one unit to each node. Requires a map.
  void send(cluster_call& call) noexcept;
  /// Keeps a unit that has ended for later, or destroys it. It may have the last share of the core.
  void recycle(cluster_unit& one) noexcept;
  /// Returns how many commands were sent to replicas.
  std::uint64_t to_replicas() const noexcept { return to_replicas_; }

 private:
  void gather(cluster_call& call, std::uint32_t step);
  cluster_unit& unit_for(cluster_call& call, cluster_node& to, bool is_alone);
  cluster_node& node_for(const cluster_call& call, const cluster_step& step) noexcept;
  void start(cluster_unit& one) noexcept;

  cluster_core& core_;
  cluster_map& map_;
  node_table& nodes_;
  std::vector<cluster_unit*> made_;  // of the call that is being sent
  std::vector<std::unique_ptr<cluster_unit>> spare_;
  std::uint64_t to_replicas_ = 0;
};

}  // namespace beck::redis::detail
