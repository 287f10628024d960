// SPDX-License-Identifier: BSL-1.0
// A connection of a memory_server: one coroutine receives, another one executes the commands and
// ends the connection; a queue sends.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <beck/base/flat_buffer.hpp>
#include <beck/coro/event.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/write_queue.hpp>
#include <beck/net/socket_stream.hpp>
#include <beck/redis/request_parser.hpp>

#include "redis/memory/memory_hub.hpp"

namespace beck::redis::detail {

/// Thread: that of the context. Lifetime: owned by its coroutines.
class memory_connection final : public memory_peer {
 public:
  memory_connection(std::shared_ptr<memory_hub> hub, const any_io_executor& executor);
  ~memory_connection();

  /// Returns the socket, to accept into.
  beck::detail::stream_object& socket() noexcept { return stream_.socket(); }
  /// Receives until the end.
  static task<> receive(std::shared_ptr<memory_connection> self);
  /// Executes and answers until the end, then closes the connection.
  static task<> serve(std::shared_ptr<memory_connection> self);

  /// Queues the replies that are ready.
  void flush() noexcept;
  /// Looks again for something to execute.
  void wake() noexcept { ready_.set(); }
  /// As above, if the connection has stopped in a wait that is over.
  void wake_if_unblocked() noexcept {
    if (!is_waiting() && std::exchange(stopped_in_wait_, false)) wake();
  }
  /// Closes the connection now.
  void cut() noexcept;

 private:
  bool make_room(mutable_buffer& to) noexcept;
  bool execute_some() noexcept;
  bool execute_next();
  bool is_cut() const noexcept { return course() == memory_course::cut; }
  bool is_held() const noexcept { return is_waiting() || hub_->is_paused(); }
  bool is_over() const noexcept;

  std::shared_ptr<memory_hub> hub_;
  socket_stream stream_;
  write_queue queue_;
  flat_buffer input_;
  request_parser parser_;
  auto_reset_event ready_;  // something has arrived, or the connection is no longer held
  auto_reset_event room_;   // something was executed
  std::size_t queued_ = 0;  // bytes, since the begin
  bool has_ended_ = false;  // nothing more will arrive
  bool stopped_in_wait_ = false;
};

}  // namespace beck::redis::detail
