// SPDX-License-Identifier: BSL-1.0
// The part of a link that is the connection of a lane: its place in the pool, the way back there,
// and the end of blocking commands.
#pragma once

#include <cstdint>
#include <memory>

#include <beck/base/assert.hpp>
#include <beck/coro/event.hpp>
#include <beck/coro/task.hpp>
#include <beck/detail/intrusive_list.hpp>
#include <beck/io/byte_stream.hpp>
#include <beck/redis/exec.hpp>

#include "redis/session/handshake.hpp"
#include "redis/session/session.hpp"

namespace beck::redis::detail {

/// The user of the connection of a lane.
enum class lane_state : std::uint8_t {
  used,      ///< a lane
  returned,  ///< none: it is being reset, or ends
  idle,      ///< the pool
  dropped,   ///< none: its place in the pool is free for another one
};

enum class lane_event : std::uint8_t {
  take,       ///< by a lane, from the pool
  give_back,  ///< by the lane
  keep,       ///< by the pool, since the server has reset it
  drop,       ///< it has ended, or the pool ends it
};

/// The part of one link. Thread: that of its context.
class lane_part {
 public:
  /// Makes the part of `of`, to the server of the client `home`.
  lane_part(link& of, link& home) noexcept;
  /// Leaves the pool before the share of the client is dropped, which owns it.
  ~lane_part();

  link& owner() const noexcept { return link_; }
  lane_state state() const noexcept { return state_; }
  void change(lane_event event) noexcept;
  /// Returns the number of the connection at the server; 0: the server does not say it.
  std::int64_t id() const noexcept { return id_; }
  void set_id(std::int64_t id) noexcept {
    BECK_ASSERT(state_ == lane_state::used, "a connection that no lane has is numbered");
    id_ = id;
  }
  /// Returns when an idle connection ends.
  std::int64_t idle_until() const noexcept {
    return state_ == lane_state::idle ? idle_until_ : INT64_MAX;
  }

  /// Returns why a command cannot be sent, and notes what RESET does not take back.
  error_code check(const arguments& command, bool is_whole) noexcept;
  /// Returns whether the client has left the server, or the login, of this connection.
  bool is_outdated() const noexcept;
  /// Takes the connection back from its lane: resets it for another one, or closes it.
  void give_back() noexcept;
  /// Takes the end of the link: it makes no connection any more.
  void end() noexcept;
  /// Puts the connection, which the server has reset, into the pool of idle ones.
  void put_back() noexcept;
  /// Lets the kernel find a peer that is gone although nothing is sent to it, as in BLPOP without a
  /// limit. Streams without such options have none of it.
  void keep_alive(byte_stream& peer) const noexcept;

  /// Begins to end the wait of a blocking command. Until that is done no other call is sent: a
  /// request to unblock that is late must not meet another command.
  void begin_unblocking() noexcept;
  /// Notes that something was received.
  void note_answer() noexcept {
    if (is_unblocking_) answered_.set();
  }
  /// Notes the end of the connection.
  void end_connection() noexcept { answered_.set(); }
  /// Lets the session forget what is under way.
  void drop(session& from) noexcept {
    if (fence_ && fence_->is_under_way()) from.forget(*fence_);
  }

  beck::detail::list_hook in_pool;

 private:
  bool may_begin_again() const noexcept;
  static task<> unblock(link_ref self);
  task<io_result<>> end_blocking();
  task<error_code> ask_to_unblock();
  task<error_code> pass_fence();

  link& link_;
  link_ref home_;
  const std::uint32_t turn_;  // of the client, when this connection was made
  std::int64_t id_ = 0;
  std::int64_t idle_until_ = 0;
  std::unique_ptr<own_command> fence_;  // behind a blocking command that was ended
  auto_reset_event answered_;           // something has come while a blocking command is to end
  lane_state state_ = lane_state::used;
  bool is_changed_ = false;  // in a way that stays behind RESET
  bool is_unblocking_ = false;
};

}  // namespace beck::redis::detail
