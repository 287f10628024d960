// SPDX-License-Identifier: BSL-1.0
// The room of a worker for connections: whether there may be one more, and which one is closed for
// it.
#pragma once

#include <cstddef>

#include <beck/coro/event.hpp>
#include <beck/coro/task.hpp>

#include "http/server/connection.hpp"

namespace beck::http::detail {

/// The room. It knows the connections that may be closed, the best first, and the loops that wait
/// for one to go. Thread: that of its worker, of which it is a part.
class connection_room {
 public:
  explicit connection_room(worker& of) noexcept : worker_(of) {}

  /// Begins to count; `descriptors`: the number that the process may have.
  void start(std::size_t descriptors) noexcept { descriptors_ = descriptors; }
  /// Waits until there may be one connection more, and closes one for each loop that waits if that
  /// is possible. A server that is being stopped closes none: each of them may have sent its
  /// request, and ends soon. Returns false when the grace of a stop is over.
  task<bool> wait();
  /// Returns whether there may be no connection more: by the limit, or by this context's share of
  /// the descriptors that the process may have.
  bool is_full() const noexcept;

  /// Takes a connection that has sent no whole head.
  void add(connection& one) noexcept;
  /// Forgets a connection that has gone.
  void remove(connection& one) noexcept;
  /// Notes that the client of a connection has left while its request is handled.
  void note_left(connection& one) noexcept;
  /// Notes that there is a connection more that may be closed.
  void note_evictable() noexcept {
    if (waiting_ != 0) freed_.set();
  }
  /// Lets one of the loops that wait look again.
  void wake() noexcept { freed_.set(); }

 private:
  void evict();
  void note_evicted(connection& one) noexcept;

  worker& worker_;
  std::size_t descriptors_ = 0;
  std::size_t evicting_ = 0;  // connections that make room and have not gone
  std::size_t waiting_ = 0;   // loops
  auto_reset_event freed_;
  beck::detail::intrusive_list<connection, &connection::evict_hook> newcomers_;
  beck::detail::intrusive_list<connection, &connection::evict_hook> left_;
};

}  // namespace beck::http::detail
