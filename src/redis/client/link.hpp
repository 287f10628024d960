// SPDX-License-Identifier: BSL-1.0
// A connection that is made when it is needed and made again when it is lost: the I/O of a session.
// One coroutine connects and receives, one sends the bytes that the socket had no room for, one
// watches the time. A lane's connection is made once. link.cpp has the calls, link_life.cpp the
// connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <beck/detail/intrusive_list.hpp>
#include <beck/redis/client.hpp>
#include <beck/run/stop_token.hpp>
#include <beck/transfer/stream_writer.hpp>

#include "base/counter.hpp"
#include "redis/client/connect_plan.hpp"
#include "redis/client/lane_part.hpp"
#include "redis/client/link_clock.hpp"
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

/// The connection of a link.
enum class link_state : std::uint8_t {
  resting,     ///< there is none, and none is needed
  connecting,  ///< there is none: it is being made, or the next attempt is not due
  greeting,    ///< it is made, and not ready for calls
  ready,
  dropped,  ///< the context was destroyed
};

enum class link_event : std::uint8_t {
  need,      ///< a call or a subscription waits for a connection
  connect,   ///< a stream is made
  be_ready,  ///< the server has answered the greeting
  greet,     ///< a lane's connection is reset
  lose,      ///< the connection, or the attempt to make it, has ended
  rest,      ///< nothing waits for another one
  drop,      ///< the context is destroyed
};

/// The connection of a client, or of a lane. Shared by the client or the lane, its operations, and
/// the coroutines. Thread: that of the context, but for stats().
class link final : public sender, private beck::writer_source {
 public:
  link(const any_io_executor& executor, server_url to, const client_options& how);
  /// As above; `refused_for`: the nanoseconds for which commands that the server refuses for now
  /// are sent again.
  link(const any_io_executor& executor, server_url to, const client_options& how,
       std::int64_t refused_for);
  /// Makes a connection to the primary that sentinels name; `to` has no address. Without `by`: as
  /// above.
  link(const any_io_executor& executor, server_url to, const client_options& how,
       std::int64_t refused_for, shared<sentinels> by);
  /// Makes the connection of a lane, to the server of a client's.
  explicit link(link& home);

  std::int64_t now() const noexcept { return time_of(executor()); }
  /// Returns the way to the server, to be described before the first call.
  connect_plan& plan() noexcept { return plan_; }
  /// Leaves the present connection when its commands are answered, and makes the next one soon.
  void reconnect() noexcept;
  /// Takes the address of the primary: a connection to another one ends, and the next one is made
  /// soon.
  void lead_to(const node_address& primary) noexcept;
  /// Ends everything: the client is gone.
  void close() noexcept;
  bool is_closed() const noexcept { return is_closed_; }
  client_stats stats() const noexcept;

  // --- calls
  error_code check(const arguments& command, bool is_whole) noexcept override;
  error_code start(exchange& one) noexcept override;
  void cancel(exchange& one) noexcept override;
  void forget(exchange& one) noexcept override { session_.forget(one); }
  /// Returns whether the last attempt to connect has failed, and the next one is not due.
  bool is_pausing() const noexcept { return !has_stream() && plan_.next_at() > now(); }
  /// Returns whether the server has refused the last greeting, and will refuse the next one: for
  /// its login, and not because it has too many clients.
  bool is_refused() const noexcept { return plan_.was_refused(); }
  /// Ends the exchanges that wait to be sent, with the reason why there is no connection. Does
  /// nothing if there is one.
  void end_waiting() noexcept;

  // --- its parts
  push_hub& pushes() noexcept { return pushes_; }
  link_clock& clock() noexcept { return clock_; }
  session& work() noexcept { return session_; }
  /// Returns the lanes of a client's connection. Throws std::bad_alloc.
  lane_pool& lanes();
  /// Returns the part that is a lane's; nullptr for a client's connection.
  lane_part* lane() noexcept { return lane_.get(); }
  /// Returns the connection of a lane to the pool: resets it, or closes it.
  void return_to_pool() noexcept;

  // --- for its parts
  /// Starts the coroutines that make and watch connections, if they do not run.
  error_code begin_living() noexcept;
  bool is_living() const noexcept { return state_ != link_state::resting; }
  bool has_stream() const noexcept {
    return state_ == link_state::greeting || state_ == link_state::ready;
  }
  bool is_ready() const noexcept { return state_ == link_state::ready; }
  /// Returns whether calls may be sent.
  bool is_usable() const noexcept { return is_ready() && !cause_ && !is_closed_; }
  bool is_writing() const noexcept { return writer_.is_writing(); }
  byte_stream& stream() noexcept { return *stream_; }
  /// Returns why the present connection has to end; no error: it goes on.
  const error_code& cause() const noexcept { return cause_; }
  /// Sends what waits at the end of the turn, if the connection is ready.
  void flush_soon() noexcept {
    if (is_ready()) writer_.schedule();
  }
  void break_connection(const error_code& why) noexcept;
  /// Ends the calls that have waited since `before` for a connection.
  void end_waiting_before(std::int64_t before) noexcept;
  /// Returns when an idle connection ends.
  std::int64_t idle_until() const noexcept { return lane_ ? lane_->idle_until() : INT64_MAX; }
  /// Returns when commands that the server has refused for now are due.
  std::int64_t wake_at() const noexcept;
  /// Returns how often the client has left a server.
  std::uint32_t turn() const noexcept { return turn_; }

  beck::detail::list_hook lane_hook_;  // of the pool

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

  void change(link_event event) noexcept;
  void drop_all() noexcept;
  bool is_needed() noexcept {
    return session_.queues().is_waiting() || pushes_.router().is_wanted();
  }
  // the life of connections (link_life.cpp)
  static task<> live(life self);
  task<error_code> connect();
  task<error_code> serve();
  error_code take(const buffer_lease& received);
  void greet(protocol version, handshake::stage when);
  void speak_resp2() noexcept;
  error_code end_greeting();
  void be_ready() noexcept;
  void end_connection(bool was_ready) noexcept;
  void fail_writing(const error_code& why) noexcept;
  void leave_replica() noexcept;
  void leave_lanes() noexcept;
  bool begin_again() noexcept;
  // writing
  std::size_t gather(part_array& parts) override;
  void take_sent(std::size_t bytes) noexcept override;
  void take_write_error(const error_code& why) noexcept override;
  void hold() noexcept override { add_share(); }
  void let_go() noexcept override { drop_share(); }
  void publish_counts() noexcept;

  connect_plan plan_;
  push_hub pushes_{*this};
  session session_;
  link_clock clock_{*this};
  std::unique_ptr<lane_pool> lanes_;  // of a client
  std::unique_ptr<lane_part> lane_;   // of a lane
  std::unique_ptr<handshake> greeting_;
  owned_stream stream_;
  stop_source stopping_;  // ends the present connect() or pause
  beck::stream_writer writer_{*this, 1};
  error_code cause_;                   // why this connection has to end
  error_code last_cause_;              // why the one before has ended
  std::int64_t leave_at_ = INT64_MIN;  // from when on a replica is left again
  std::uint32_t turn_ = 0;             // how often the client has left a server
  link_state state_ = link_state::resting;
  // Independent of the state:
  bool is_closed_ = false;  // the client
  bool is_left_ = false;    // this connection: another server is to be used, or another login
  bool may_leave_ = false;  // a replica, at times: the URL names one server, which may be another
  bool has_heard_ = false;  // on this connection
  beck::detail::counter waiting_, in_flight_, connections_, writes_, reads_, calls_;
};

/// Returns the connection of a client or lane.
inline link& link_of(const sender_ref& of) noexcept { return static_cast<link&>(*of); }

}  // namespace beck::redis::detail
