// SPDX-License-Identifier: BSL-1.0
// A cluster at work: units of commands on their way to nodes, the map of the slots, and the calls
// that wait for one of the two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <beck/coro/task.hpp>
#include <beck/detail/intrusive_list.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/redis/cluster.hpp>
#include <beck/redis/exchange.hpp>

#include "redis/cluster_call.hpp"
#include "redis/handshake.hpp"
#include "redis/link.hpp"
#include "redis/slot_map.hpp"

namespace beck::redis::detail {

class cluster_core;
class steps_behind;

/// A server of the cluster, and the connection to it. A server that is read from as a replica is a
/// node of its own: only its connection has READONLY, behind which a former primary would answer
/// reads itself instead of redirecting them. Owned by the core.
struct cluster_node {
  cluster_node(const node_address& place, bool reads) : at(place), is_reader(reads) {}

  const node_address at;
  const bool is_reader;  ///< it is read from as a replica
  std::uint32_t id = 0;
  std::uint64_t turn = 0;             ///< when it was made, or last returned by next_by_turns()
  link_ref connection{nullptr};       ///< none: it was not needed yet
  std::size_t units = 0;              ///< that are under way there
  cluster_unit* gathering = nullptr;  ///< of the call that is being sent
  bool is_named = false;              ///< by the map
  bool is_primary = false;            ///< in the map
  bool is_doubtful = false;           ///< it has not answered the last question for the map
  bool is_seed = false;
};

/// Commands of one call on their way to one node. Used again for other calls, unless it is_whole().
class cluster_unit final : public exchange {
 public:
  cluster_unit() noexcept = default;

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

 private:
  friend class cluster_call;

  shared<cluster_core> core_{nullptr};
  cluster_call* call_ = nullptr;
  cluster_node* node_ = nullptr;
  std::vector<std::uint32_t> steps_;
  std::vector<command_bytes> parts_;
  reply<void> allowed_;    // of ASKING
  std::size_t place_ = 0;  // among the units of the call
  bool asks_ = false;
};

/// The parts of a cluster. Shared by the cluster, its operations, units and coroutines. Thread:
/// that of the context.
class cluster_core final : public sender {
 public:
  cluster_core(const any_io_executor& executor, std::vector<server_url> seeds,
               const cluster_options& how);

  void secure(stream_layer& with) noexcept;
  void login_with(credentials& from) noexcept;
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

  // calls
  error_code begin_living() noexcept;
  void settle(cluster_call& call) noexcept;
  exchange& release(cluster_call& call) noexcept;
  void recycle(cluster_unit& one) noexcept;
  exchange& recycle(cluster_call& call) noexcept;
  void drop_all() noexcept;
  // sending
  void route(cluster_call& call) noexcept;
  void gather(cluster_call& call, std::uint32_t step);
  void send(cluster_unit& one) noexcept;
  cluster_node& node_for(const cluster_call& call, const cluster_step& step) noexcept;
  cluster_node* replica_for(std::uint16_t owner) noexcept;
  cluster_node& any_node() noexcept;
  // replies
  void judge(cluster_call& call) noexcept;
  step_state next_state(cluster_call& call, std::size_t i, steps_behind& behind) noexcept;
  bool follow(cluster_step& step, std::string_view text) noexcept;
  bool begin_again(cluster_call& call) noexcept;
  bool may_rest(const cluster_call& call) const noexcept;
  bool may_repeat(const cluster_unit& one, const error_code& why) const noexcept;
  // time
  static task<> tend(life self);
  std::int64_t look(std::int64_t now) noexcept;
  void wake_up() noexcept;
  std::int64_t end_late() noexcept;
  // nodes
  cluster_node* find(const node_address& at, bool is_reader = false);
  cluster_node* find(std::uint32_t id) noexcept;
  cluster_node& get(const node_address& at, bool is_reader = false);
  link& connection_to(cluster_node& node);
  bool is_permitted(const node_address& at) const noexcept;
  void sweep() noexcept;
  // the map
  void want_map(std::uint32_t from) noexcept;
  void begin_asking() noexcept;
  cluster_node& next_to_ask() noexcept;
  cluster_node& next_by_turns() noexcept;
  static task<> ask_for_map(shared<cluster_core> self, cluster_node& node);
  void take_map(reply<value>& got, cluster_node& from);
  void use(slot_map&& made);
  bool patch(std::uint16_t slot, const node_address& at);
  void fail_map(const error_code& ec, std::string_view text, bool is_lasting);

  const cluster_options how_;
  const std::vector<server_url> seeds_;
  stream_layer* layer_ = nullptr;
  credentials* credentials_ = nullptr;
  std::map<std::pair<node_address, bool>, cluster_node> nodes_;  // by at and is_reader
  std::uint32_t last_id_ = 0;
  std::uint64_t last_turn_ = 0;
  slot_map map_;
  // By the numbers of the map; nullptr: the node is none of these, or is not permitted.
  std::vector<cluster_node*> owners_;     // of slots
  std::vector<cluster_node*> readers_;    // replicas that are read from
  std::vector<cluster_node*> primaries_;  // the owners, each once
  std::size_t turn_ = 0;                  // of nodes that any command may go to
  beck::detail::intrusive_list<cluster_call, &cluster_call::in_calls> calls_;
  beck::detail::intrusive_list<cluster_call, &cluster_call::in_judged> judged_;
  beck::detail::intrusive_list<cluster_call, &cluster_call::in_ready> ready_;
  beck::detail::intrusive_list<cluster_call, &cluster_call::in_resting> resting_;
  std::vector<cluster_unit*> made_;  // of the call that is being sent
  std::vector<std::unique_ptr<cluster_call>> spare_calls_;
  std::vector<std::unique_ptr<cluster_unit>> spare_units_;
  steady_timer timer_;  // of tend()
  std::int64_t wake_at_ = 0;
  std::int64_t wake_pause_ = 0;
  std::int64_t map_from_at_ = 0;      // when the map may be asked for again
  std::int64_t map_until_ = 0;        // when it is too old
  std::uint32_t map_source_ = 0;      // the node to ask first
  std::size_t failed_questions_ = 0;  // since the last map, or since calls were ended without one
  error_code map_error_;              // why there is none
  std::string map_error_text_;
  bool is_map_wanted_ = false;
  bool is_asking_ = false;
  bool is_due_ = false;  // tend() has to look again
  bool is_living_ = false;
  bool is_closed_ = false;
  cluster_stats stats_;
};

}  // namespace beck::redis::detail
