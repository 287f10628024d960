// SPDX-License-Identifier: BSL-1.0
// The lanes of a client: a bound on their number, and the idle connections.
#pragma once

#include <cstddef>

#include <beck/coro/semaphore.hpp>
#include <beck/coro/task.hpp>
#include <beck/redis/lane.hpp>

#include "redis/client/link.hpp"

namespace beck::redis::detail {

/// Owned by the client's link. Thread: that of the context.
class lane_pool {
 public:
  explicit lane_pool(std::size_t most) noexcept : slots_(most) {}

  lane_pool(const lane_pool&) = delete;
  lane_pool& operator=(const lane_pool&) = delete;

  /// Waits for a place, and takes an idle connection or makes one.
  static task<io_result<lane>> take(link_ref home);
  /// Keeps a connection that was reset.
  void put(link& fresh) noexcept;
  /// Takes the end of an idle connection.
  void ended(link& gone) noexcept;
  /// Ends the idle connections.
  void drop_idle() noexcept;
  /// Ends all: the client is gone.
  void close() noexcept;

 private:
  link_ref next(link& home);

  semaphore slots_;  // of lanes, and of connections that are being made new or closed
  beck::detail::intrusive_list<link, &link::lane_hook_> used_;
  beck::detail::intrusive_list<link, &link::lane_hook_> idle_;  // each has a share
  std::size_t waiting_ = 0;
  bool is_closed_ = false;
};

}  // namespace beck::redis::detail
