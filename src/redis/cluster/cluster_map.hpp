// SPDX-License-Identifier: BSL-1.0
// The map of a cluster: the nodes that a command may go to, and the questions for it: when one is
// due, which node is asked, and how its answer is taken. Without I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <beck/redis/cluster.hpp>
#include <beck/redis/value.hpp>

#include "redis/cluster/node_table.hpp"
#include "redis/protocol/slot_map.hpp"

namespace beck::redis::detail {

/// The nodes of the slots. Thread: that of the context.
class cluster_map {
 public:
  /// `nodes` and `how` must outlive the object.
  cluster_map(node_table& nodes, const cluster_options& how)
      : nodes_(nodes), how_(how), slots_(how.nodes) {}

  /// Replaces the map, or throws std::bad_alloc and keeps the one before. Commands that wait for a
  /// connection to a node which is no primary any more end: they go to where the map says now.
  void use(slot_map&& made);
  /// Moves a slot to a node. Returns false if that would be one node too many. Throws
  /// std::bad_alloc.
  bool patch(std::uint16_t slot, const node_address& at);

  /// Returns whether a slot has an owner.
  bool is_known() const noexcept { return slots_.is_known(); }
  /// Returns the node that takes writes to a slot; nullptr: there is none, or it is not permitted.
  cluster_node* primary_of(std::uint16_t slot) const noexcept;
  /// Returns a replica of that node which is not known to be unreachable; nullptr: there is none.
  /// Requires a primary.
  cluster_node* replica_of(std::uint16_t slot) noexcept;
  /// Returns a primary for a command without a slot, or for a slot that the map does not assign:
  /// the server says what is wrong then.
  cluster_node& any_node() noexcept;

 private:
  node_table& nodes_;
  const cluster_options& how_;
  slot_map slots_;
  // By the numbers of the map; nullptr: the node is none of these, or is not permitted.
  std::vector<cluster_node*> owners_;     // of slots
  std::vector<cluster_node*> readers_;    // replicas that are read from
  std::vector<cluster_node*> primaries_;  // the owners, each once
  std::size_t turn_ = 0;                  // of nodes that any command may go to
};

/// The end of a question.
enum class map_answer : std::uint8_t {
  taken,     ///< it is the map now
  failed,    ///< another question follows
  hopeless,  ///< calls that wait for the first map need not wait longer
};

/// One question at a time. Thread: that of the context.
class map_refresh {
 public:
  /// The arguments must outlive the object.
  map_refresh(cluster_map& map, node_table& nodes, const cluster_options& how) noexcept
      : map_(map), nodes_(nodes), how_(how) {}

  /// Lets the map be asked for, first from the node with this number, if it is not 0.
  void want(std::uint32_t from) noexcept;
  /// Returns whether there is no map, or one that is too old.
  bool is_stale(std::int64_t now) const noexcept { return !map_.is_known() || now >= until_; }
  /// Returns when the next question is due; INT64_MAX: none is.
  std::int64_t due_at() const noexcept { return is_wanted_ && !is_asking_ ? from_at_ : INT64_MAX; }

  /// Returns the node to ask: the one that has redirected a command, or another one by turns. The
  /// question after this one has to wait.
  cluster_node& next_to_ask(std::int64_t now) noexcept;
  /// Notes that a node is asked: it stays until end().
  void begin(cluster_node& node) noexcept;
  /// Takes the answer of a node. Throws std::bad_alloc; fail() follows then.
  map_answer take(reply<value>& got, cluster_node& from, std::int64_t now);
  /// Notes that there is no answer. `is_lasting`: the next question will have none either.
  map_answer fail(const error_code& ec, std::string_view text, bool is_lasting);
  /// Notes that the question has ended.
  void end(cluster_node& node) noexcept;

  /// Returns why there is no new map; no error: none was missed.
  const error_code& error() const noexcept { return error_; }
  std::string_view text() const noexcept { return text_; }

 private:
  cluster_map& map_;
  node_table& nodes_;
  const cluster_options& how_;
  std::int64_t from_at_ = 0;  // when the map may be asked for again
  std::int64_t until_ = 0;    // when the map is too old
  std::uint32_t source_ = 0;  // the node to ask first
  std::size_t failures_ = 0;  // since the last map, or since calls were ended without one
  error_code error_;
  std::string text_;
  // Independent: the map may be wanted anew while the answer is on its way.
  bool is_wanted_ = false;
  bool is_asking_ = false;
};

}  // namespace beck::redis::detail
