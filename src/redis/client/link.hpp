// SPDX-License-Identifier: BSL-1.0
// A connection that is made when it is needed and made again when it is lost: the I/O of a session.
// The link takes the calls, and one coroutine of it makes one connection after the other; that of a
// lane is made once. Each part has a file of its own.
#pragma once

#include <cstdint>
#include <memory>

#include <beck/redis/client.hpp>

#include "redis/client/connect_plan.hpp"
#include "redis/client/lane_part.hpp"
#include "redis/client/link_clock.hpp"
#include "redis/client/link_connection.hpp"
#include "redis/client/push_hub.hpp"
#include "redis/session/handshake.hpp"
#include "redis/session/session.hpp"

namespace beck::redis::detail {

class lane_pool;

/// Returns the time of the executor's context, also outside of run(), where it may be virtual.
std::int64_t time_of(const any_io_executor& executor) noexcept;
/// Returns random bits of the executor's context.
std::uint64_t random_of(const any_io_executor& executor) noexcept;

inline error_code no_memory() noexcept { return make_error_code(std::errc::not_enough_memory); }

/// The coroutine that makes connections.
enum class link_state : std::uint8_t {
  resting,  ///< it does not run: no connection is needed
  living,
  dropped,  ///< it was destroyed, with the context
};

enum class link_event : std::uint8_t {
  need,  ///< a call or a subscription waits for a connection
  rest,  ///< nothing waits for another one
  drop,  ///< the context is destroyed
};

/// The connections of a client, or that of a lane. Shared by the client or the lane, its
/// operations, and the coroutines. Thread: that of the context, but for counters().
class link final : public sender {
 public:
  /// `refused_for`: the nanoseconds for which commands that the server refuses for now are sent
  /// again. `by`: the sentinels that name the primary; `to` has no address then.
  link(const any_io_executor& executor, server_url to, const client_options& how,
       std::int64_t refused_for, shared<sentinels> by = shared<sentinels>(nullptr));
  /// Makes the connection of a lane, to the server of a client's.
  explicit link(link& home);

  // --- its parts
  /// The way to the server, to be described before the first call.
  connect_plan& plan() noexcept { return plan_; }
  link_connection& connection() noexcept { return connection_; }
  push_hub& pushes() noexcept { return pushes_; }
  link_clock& clock() noexcept { return clock_; }
  link_counters& counters() noexcept { return counters_; }
  session& work() noexcept { return session_; }
  /// The lanes of a client's connection; nullptr for that of a lane.
  lane_pool* lanes() noexcept { return lanes_.get(); }
  /// The part that is a lane's; nullptr for a client's connection.
  lane_part* lane() noexcept { return lane_.get(); }

  // --- calls
  error_code check(const arguments& command, bool is_whole) noexcept override;
  error_code start(exchange& one) noexcept override;
  void cancel(exchange& one) noexcept override;
  void forget(exchange& one) noexcept override { session_.forget(one); }
  /// Ends, with the reason why there is no connection, the calls that have waited for one since a
  /// time before `before`. Call it while no connection is ready.
  void end_waiting(std::int64_t before) noexcept;

  // --- connections
  /// Starts the coroutines that make and watch connections, if they do not run.
  error_code begin_living() noexcept;
  bool is_living() const noexcept { return state_ != link_state::resting; }
  /// Leaves the present connection when its commands are answered, and makes the next one soon.
  void reconnect() noexcept;
  /// Takes the address of the primary: a connection to another one ends, and the next one is made
  /// soon.
  void lead_to(const node_address& primary) noexcept;
  /// Ends everything: the client is gone.
  void close() noexcept;
  bool is_closed() const noexcept { return is_closed_; }

 private:
  ~link();
  void destroy() noexcept override { delete this; }

  /// A share of the coroutine that ends the calls. If it is destroyed before its end, with the
  /// context, it drops them.
  class life {
   public:
    explicit life(link& of) noexcept : of_(of) {}
    life(life&&) noexcept = default;
    life& operator=(life&&) = delete;
    ~life() {
      if (of_ && of_->is_living()) of_->drop_all();
    }
    link& operator*() const noexcept { return *of_; }

   private:
    link_ref of_;
  };

  static task<> live(life self);
  void drop_all() noexcept;

  connect_plan plan_;
  push_hub pushes_{*this};
  session session_;
  link_clock clock_{*this};
  link_counters counters_;
  std::unique_ptr<lane_pool> lanes_;  // of a client
  std::unique_ptr<lane_part> lane_;   // of a lane
  link_connection connection_;
  link_state state_ = link_state::resting;
  bool is_closed_ = false;  // the client, in any state
};

/// Returns the connection of a client or lane.
inline link& link_of(const sender_ref& of) noexcept { return static_cast<link&>(*of); }

}  // namespace beck::redis::detail
