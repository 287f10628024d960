// SPDX-License-Identifier: BSL-1.0
// The questions for the map of a cluster: when one is due, which node is asked, what its answer
// means, and why there is no map. Without I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <beck/redis/cluster.hpp>
#include <beck/redis/value.hpp>

#include "redis/cluster/cluster_map.hpp"
#include "redis/cluster/node_table.hpp"

namespace beck::redis::detail {

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
