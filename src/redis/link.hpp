// SPDX-License-Identifier: BSL-1.0
// A connection that is made when it is needed and made again when it is lost: the I/O of a session.
// One coroutine connects and receives, one sends the bytes that the socket had no room for, one
// watches the time. A lane's connection is made once; see link_lane.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <beck/coro/event.hpp>
#include <beck/detail/intrusive_list.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/redis/client.hpp>
#include <beck/redis/connector.hpp>
#include <beck/redis/credentials.hpp>
#include <beck/run/stop_token.hpp>

#include "base/counter.hpp"
#include "redis/cache_core.hpp"
#include "redis/handshake.hpp"
#include "redis/push_router.hpp"
#include "redis/sentinels.hpp"
#include "redis/session.hpp"
#include "transfer/stream_writer.hpp"

namespace beck::redis::detail {

class lane_pool;

/// The user of the connection of a lane.
enum class lane_state : std::uint8_t {
  used,      ///< a lane
  returned,  ///< nothing: it is being made as new, or ends
  idle,      ///< the pool
};

/// Returns the time of the executor's context, also outside of run(), where it may be virtual.
std::int64_t time_of(const any_io_executor& executor) noexcept;
/// Returns random bits of the executor's context.
std::uint64_t random_of(const any_io_executor& executor) noexcept;

inline error_code no_memory() noexcept { return make_error_code(std::errc::not_enough_memory); }

/// The connection of a client, or of a lane. Shared by the client or the lane, its operations, and
/// the coroutines. Thread: that of the context, but for stats().
class link final : public sender, private push_sink, private beck::detail::writer_source {
 public:
  link(const any_io_executor& executor, server_url to, const client_options& how);
  /// As above; `refused_for`: the nanoseconds for which commands that the server refuses for now
  /// are sent again.
  link(const any_io_executor& executor, server_url to, const client_options& how,
       std::int64_t refused_for);
  /// Makes a connection to the primary that sentinels name; `to` has no address.
  link(const any_io_executor& executor, server_url to, const client_options& how,
       shared<sentinels> by);
  /// Makes the connection of a lane, to the server of a client's.
  explicit link(link& home);

  std::int64_t now() const noexcept { return time_of(executor()); }
  void secure(stream_layer& with) noexcept {
    layer_ = &with;
    if (sentinels_) sentinels_->secure(with);
  }
  void connect_with(connector& how) noexcept { connector_ = &how; }
  void login_with(credentials& from) noexcept { credentials_ = &from; }
  /// Leaves the present connection when its commands are answered, and makes the next one soon.
  void reconnect() noexcept;

  error_code check(const arguments& command, bool is_whole) noexcept override;
  error_code start(exchange& one) noexcept override;
  void cancel(exchange& one) noexcept override;
  void forget(exchange& one) noexcept override { session_.forget(one); }

  /// Returns whether the last attempt to connect has failed, and the next one is not due.
  bool is_pausing() const noexcept { return !is_ready_ && !stream_ && next_at_ > now(); }
  /// Returns whether the server has refused the last greeting, and will refuse the next one: for
  /// its login, and not because it has too many clients.
  bool is_refused() const noexcept { return was_refused_; }
  /// Ends the exchanges that wait to be sent, with the reason why there is no connection. Does
  /// nothing if there is one.
  void end_waiting() noexcept;

  /// Takes the address of the primary: a connection to another one ends, and the next one is made
  /// soon.
  void lead_to(const node_address& primary) noexcept;

  // subscriptions

  push_router& router() noexcept { return router_; }
  void join(subscriber& one) noexcept;
  void leave(subscriber& one) noexcept;
  /// Takes a call of add(), or completes it with the reason why not.
  void subscribe(std::unique_ptr<add_call> call, const topic_names& names) noexcept;
  /// Ends such a call with operation_aborted.
  void end_subscribing(add_call& call) noexcept;
  void unsubscribe(subscriber& from, const topic_names& names) noexcept;

  // caches

  void join(cache_core& one) noexcept;
  /// Returns whether the server has said, on a connection that is ready, that it tracks keys.
  bool is_tracking() const noexcept {
    return is_usable() && tracking_ && !tracking_->is_under_way() && !tracking_->result().error();
  }

  /// Ends everything: the client is gone.
  void close() noexcept;
  client_stats stats() const noexcept;

  // lanes

  /// Returns the lanes of a client's connection. Throws std::bad_alloc.
  lane_pool& lanes();
  /// Returns whether a lane's connection is ready for commands.
  bool is_usable() const noexcept { return is_ready_ && !cause_ && !is_closed_; }
  /// Returns the number of the lane's connection at the server; 0: the server does not say it.
  std::int64_t id() const noexcept { return id_; }
  void set_id(std::int64_t id) noexcept { id_ = id; }
  /// Returns the connection of a lane to the pool: it is made as new, or closed.
  void return_to_pool() noexcept;
  lane_state state() const noexcept { return state_; }
  void set_state(lane_state state) noexcept { state_ = state; }

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
      if (of_ && of_->is_living_) of_->drop_all();
    }
    link& operator*() const noexcept { return *of_; }

   private:
    link_ref of_;
  };
  /// A command of the link itself.
  class own_command final : public exchange {
   public:
    template <class... Args>
    explicit own_command(std::string_view name, const Args&... args) {
      commands_.push(name, args...);
      part_ = {commands_.bytes(), 1};
      set_commands(&part_, 1);
    }
    const reply<std::string>& result() const noexcept { return reply_; }
    reply_place place_of(std::uint32_t) noexcept override { return detail::place_of(reply_); }
    void done(const error_code&) noexcept override {}

   private:
    request commands_;
    command_bytes part_;
    reply<std::string> reply_;
  };

  void drop_all() noexcept;
  error_code begin_living() noexcept;
  bool is_needed() noexcept { return session_.is_waiting() || router_.is_wanted(); }
  // the life of connections
  static task<> live(life self);
  task<error_code> connect();
  task<io_result<owned_stream>> open();
  task<error_code> find_primary();
  task<error_code> find_login();
  protocol version() const noexcept {
    return to_.version == protocol::resp2 ? protocol::resp2 : bounds().version();
  }
  task<error_code> serve();
  void greet(protocol version, handshake::stage when);
  void speak_resp2() noexcept;
  error_code end_greeting();
  void end_connection(bool was_ready) noexcept;
  void fail_writing(const error_code& why) noexcept;
  void break_connection(const error_code& why) noexcept;
  void leave_replica() noexcept;
  void leave_lanes() noexcept;
  /// Returns whether the client has left the server, or the login, of this lane's connection.
  bool is_outdated() const noexcept { return turn_ != home_->turn_; }
  duration pause() noexcept;
  // writing
  void flush_soon() noexcept { writer_.schedule(); }
  std::size_t gather(part_array& parts) override;
  void take_sent(std::size_t bytes) noexcept override;
  void take_write_error(const error_code& why) noexcept override;
  void hold() noexcept override { add_share(); }
  void let_go() noexcept override { drop_share(); }
  void publish_counts() noexcept;
  // time
  static task<> watch(link_ref self);
  std::int64_t tend(std::int64_t now) noexcept;
  void send_ping(std::int64_t now) noexcept;
  std::int64_t wake_at() const noexcept;
  // caches
  void take_push(const value& message) override;
  void take_cut_push(const value& message) override;
  void empty_caches() noexcept;
  bool needs_tracking() noexcept;
  // lanes
  bool begin_again() noexcept;
  void keep_alive() noexcept;
  void begin_unblocking() noexcept;
  static task<> unblock(link_ref self);
  task<io_result<>> end_blocking();
  task<error_code> ask_to_unblock();
  task<error_code> pass_fence();

  /// What is known of a server that may end a connection at HELLO, as some proxies do.
  enum class hello_state : std::uint8_t {
    usual,      ///< nothing: it is greeted with HELLO
    suspected,  ///< it has ended a connection without an answer: it is asked in RESP2 first
    ends,       ///< it answers in RESP2, and has ended a connection at HELLO
  };

  server_url to_;
  shared<sentinels> sentinels_{nullptr};
  sentinel_user place_;    // among the connections of the sentinels
  node_address leads_to_;  // the primary; empty while the sentinels are asked
  stream_layer* layer_ = nullptr;
  connector* connector_ = nullptr;
  credentials* credentials_ = nullptr;
  push_router router_;
  session session_;
  std::unique_ptr<handshake> greeting_;
  std::unique_ptr<own_command> ping_;
  owned_stream stream_;
  stop_source stopping_;  // ends the present connect() or pause
  steady_timer timer_;    // of watch()
  beck::detail::stream_writer writer_{*this, 1};
  error_code cause_;                   // why this connection has to end
  error_code last_cause_;              // why the one before has ended
  std::string text_;                   // of the sentinels, about the present attempt to connect
  std::string last_text_;              // the same about the one before
  std::int64_t leave_at_ = INT64_MIN;  // from when on a replica is left again
  std::int64_t due_ = 0;
  std::int64_t next_at_ = 0;    // when the next attempt to connect may be made
  std::int64_t wrote_at_ = 0;   // when a socket that was full has last taken bytes
  std::uint32_t failures_ = 0;  // attempts to connect, since the last connection that was good
  bool is_living_ = false;
  bool is_watching_ = false;
  bool is_ready_ = false;
  bool is_refused_ = false;   // by the server, in the greeting
  bool was_refused_ = false;  // the same of the connection before
  bool is_left_ = false;      // this connection: another server is to be used, or another login
  std::uint32_t turn_ = 0;    // how often the client has left a server; of a lane: at its begin
  bool may_leave_ = false;    // a replica, at times: the URL names one server, which may be another
  bool has_heard_ = false;    // on this connection
  hello_state hello_ = hello_state::usual;
  bool is_closed_ = false;
  bool was_late_ = false;  // the last look of watch()
  // of a client
  std::unique_ptr<lane_pool> lanes_;
  beck::detail::intrusive_list<cache_core, &cache_core::in_link> caches_;
  std::unique_ptr<own_command> tracking_;  // of this connection
  // of a lane
  link_ref home_{nullptr};  // the client's
  std::int64_t id_ = 0;
  std::int64_t idle_until_ = 0;
  std::unique_ptr<own_command> fence_;  // behind a blocking command that was ended
  auto_reset_event answered_;           // something has come while a blocking command is to end
  lane_state state_ = lane_state::used;
  bool is_changed_ = false;  // in a way that stays behind RESET
  bool is_unblocking_ = false;
  beck::detail::counter waiting_, in_flight_, connections_, writes_, reads_, calls_;
};

/// Returns the connection of a client or lane.
inline link& link_of(const sender_ref& of) noexcept { return static_cast<link&>(*of); }

}  // namespace beck::redis::detail
