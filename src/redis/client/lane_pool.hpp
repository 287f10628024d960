// SPDX-License-Identifier: BSL-1.0
// The lanes of a client: a bound on their number, and the idle connections.
#pragma once

#include <cstddef>
#include <cstdint>

#include <beck/coro/semaphore.hpp>
#include <beck/coro/task.hpp>
#include <beck/detail/intrusive_list.hpp>
#include <beck/redis/lane.hpp>

#include "redis/client/lane_part.hpp"

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
  void put(lane_part& fresh) noexcept;
  /// Takes the end of a connection. That of a lane keeps its place until it is given back.
  void take_end(lane_part& gone) noexcept;
  /// Ends the idle connections.
  void drop_idle() noexcept;
  /// Leaves the server: ends the idle connections. Those in use end when they are given back.
  void leave() noexcept {
    ++turn_;
    drop_idle();
  }
  /// Returns how often the server was left.
  std::uint32_t turn() const noexcept { return turn_; }
  /// Ends all: the client is gone.
  void close() noexcept;

 private:
  link_ref next(link& home);

  semaphore slots_;  // of lanes, and of connections that are being made new or closed
  beck::detail::intrusive_list<lane_part, &lane_part::in_pool> used_;
  beck::detail::intrusive_list<lane_part, &lane_part::in_pool> idle_;  // each has a share
  std::size_t waiting_ = 0;
  std::uint32_t turn_ = 0;
  bool is_closed_ = false;
};

}  // namespace beck::redis::detail
