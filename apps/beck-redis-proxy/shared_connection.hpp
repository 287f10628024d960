// SPDX-License-Identifier: BSL-1.0
//
// A connection to the server over which many clients send commands, each answered by one reply.
// It is made when a command needs it, and made again when it was lost, or when its server has
// become a replica: the address may lead to another one now.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/coro/event.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/stream_layer.hpp>
#include <beck/redis/resp3.hpp>
#include <beck/run/cancellation.hpp>
#include <beck/run/stop_token.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "counters.hpp"
#include "reply_splitter.hpp"
#include "server_log.hpp"
#include "server_target.hpp"
#include "settings.hpp"

namespace beck_redis_proxy {

class shared_client;

/// A shared connection, in one version of the protocol. The replies of a client come in the order
/// of its commands, as it has one connection for all of them. Thread: that of the context, which
/// outlives it; destroyed behind run().
class shared_connection {
 public:
  /// Refers to all arguments, which must outlive it.
  shared_connection(beck::io_context& context, const settings& asked, beck::redis::protocol version,
                    server_target& target, counters& relayed, shared_counters& counts,
                    server_log& log);
  shared_connection(const shared_connection&) = delete;
  shared_connection& operator=(const shared_connection&) = delete;

  /// Returns whether no command may be sent until room() is open.
  bool is_full() noexcept { return !room_.is_set(); }
  /// Returns an event that is open unless it is full.
  beck::manual_reset_event& room() noexcept { return room_; }
  /// Sends a whole command, together with the others of this turn of the context. Throws
  /// std::bad_alloc.
  void send(std::shared_ptr<shared_client> from, std::string_view command);
  /// Ends the connection. Requires that no command follows.
  void close() noexcept;

 private:
  struct command {
    std::shared_ptr<shared_client> from;
    std::uint64_t end;  // its place in the stream of commands
  };

  void begin();
  beck::task<> live();
  beck::task<std::string> live_once();
  beck::task<beck::io_result<std::uint64_t>> open();
  template <class Socket>
  beck::task<beck::io_result<std::uint64_t>> open_socket();
  beck::task<std::string> greet();
  beck::task<bool> say_hello(std::string& line);
  beck::task<> end_at_switch(std::uint64_t primary);
  beck::task<> receive();
  beck::task<> write();
  bool take(std::string_view bytes);
  void end_commands(std::string_view error_line);
  void break_off() noexcept;
  void leave() noexcept;
  bool has_answered_all() const noexcept;
  void open_room() noexcept;

  beck::io_context& context_;
  const settings& asked_;
  const beck::redis::protocol version_;
  server_target& target_;
  counters& relayed_;
  shared_counters& counts_;
  server_log& log_;
  beck::owned_stream stream_;
  std::deque<command> commands_;  // without a reply
  std::string out_;               // gathers while writing_ is written
  std::string writing_;
  reply_splitter replies_;
  beck::auto_reset_event has_output_;
  beck::manual_reset_event room_{true};
  std::uint64_t sent_ = 0;                      // bytes that send() has taken for this connection
  std::uint64_t written_ = 0;                   // bytes of these that the kernel has taken
  beck::cancellation_signal stop_;              // of live()
  beck::time_point left_at_;                    // the last time that it was leaving
  beck::stop_source ended_{beck::nostopstate};  // this connection
  bool is_living_ = false;
  bool is_broken_ = false;
  bool is_leaving_ = false;  // nothing more is sent; the replies of what was sent are received
  bool is_closed_ = false;
};

}  // namespace beck_redis_proxy
