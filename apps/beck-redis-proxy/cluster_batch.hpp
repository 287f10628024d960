// SPDX-License-Identifier: BSL-1.0
//
// Commands of one client that go to the cluster as one call, between those that the proxy answers
// itself, and their replies in the order of the commands.
#pragma once

#include <beck/redis/arguments.hpp>
#include <beck/redis/exec.hpp>
#include <beck/redis/raw_reply.hpp>
#include <beck/redis/request.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "counters.hpp"

namespace beck_redis_proxy {

/// How the replies to a batch have come.
struct batch_end {
  bool is_lost = false;      ///< a command may have run, and has no reply
  bool has_reached = false;  ///< a node has answered
  std::string unreached;     ///< why a command was not sent; empty: all were
};

/// The commands of a batch. Thread: one at a time.
class cluster_batch {
 public:
  using replies = beck::redis::reply_list<beck::redis::raw_reply>;

  /// Removes all commands.
  void clear() noexcept;
  /// Frees the memory of an empty batch.
  void release() noexcept;
  /// Adds a command that goes to the cluster. Throws std::bad_alloc, as the next one.
  void add_command(const beck::redis::arguments& command);
  /// Adds EVALSHA or EVALSHA_RO as EVAL or EVAL_RO with this text.
  void add_script(const beck::redis::arguments& command, std::string_view text);
  /// Returns the last command for the cluster. Requires that there is one; valid until the next.
  beck::redis::arguments last_command() const noexcept {
    return beck::redis::arguments(request_.bytes().substr(last_begin_));
  }
  /// Adds the reply to a command that does not.
  void add_answer(std::string_view bytes);

  bool empty() const noexcept { return places_.empty(); }
  std::size_t size() const noexcept { return places_.size(); }
  /// Returns the commands for the cluster.
  const beck::redis::request& request() const noexcept { return request_; }
  /// Adds the replies to all commands to `out`, in their order, up to the first one that does not
  /// come. `got`: those of the cluster to request().
  batch_end compose(replies& got, std::string& out, cluster_counters& counts) const;

 private:
  void add(std::string_view name);

  static constexpr std::size_t at_cluster = static_cast<std::size_t>(-1);

  beck::redis::request request_;
  std::size_t last_begin_ = 0;  // of the last command, among its bytes
  std::string answers_;
  std::vector<std::size_t> places_;  // for each command the bytes of its answer, or at_cluster
  std::vector<std::string_view> texts_;
};

}  // namespace beck_redis_proxy
