// SPDX-License-Identifier: BSL-1.0
//
// A client whose commands go over a shared connection: its input, and the replies that it has not
// received yet. The I/O is in shared_session.hpp.
#pragma once

#include <beck/base/flat_buffer.hpp>
#include <beck/coro/event.hpp>
#include <beck/redis/request_parser.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "client_identity.hpp"
#include "shared_rules.hpp"
#include "statistics.hpp"

namespace beck_redis_proxy {

class shared_connection;

/// The shared connections that a client uses, one in each version of the protocol.
struct shared_servers {
  shared_connection& resp2;
  shared_connection& resp3;
};

/// How the sharing of a client's commands has ended.
enum class shared_end : std::uint8_t {
  none,      ///< not yet
  input,     ///< the client sends no more
  quit,      ///< the client has said QUIT
  moved,     ///< it needs a connection of its own
  lost,      ///< commands that may have run will not be answered
  overflow,  ///< the client does not receive, and too many bytes wait for it
  failed,    ///< the client's connection
  idle,      ///< the same by --idle
};

/// A client. Shared with its commands under way, as it may end before their replies come. Thread:
/// that of the context.
class shared_client : public std::enable_shared_from_this<shared_client> {
 public:
  /// A client's commands under way, at first and at most. Each reply allows one more.
  static constexpr std::uint32_t window_first = 8;
  static constexpr std::uint32_t window_most = 128;
  /// Behind a reply of so many bytes the client has one command under way.
  static constexpr std::size_t large_reply_bytes = 16 * 1024;
  /// No command is taken while so many bytes wait for the client.
  static constexpr std::size_t unread_bytes = 64 * 1024;
  /// A client for which more bytes wait is ended.
  static constexpr std::size_t unread_bytes_most = 64 * 1024 * 1024;
  /// A larger command moves its client.
  static constexpr std::size_t command_bytes_most = 1024 * 1024;

  /// Refers to `all`, which must outlive it, as the connections must.
  shared_client(const shared_servers& servers, const statistics& all);
  shared_client(const shared_client&) = delete;
  shared_client& operator=(const shared_client&) = delete;
  virtual ~shared_client() = default;

  // for the shared connection

  /// Takes a part of a reply; `is_last` ends it.
  void take(std::string_view bytes, bool is_last);
  /// Answers a command that was not sent.
  void refuse(std::string_view error_line);
  /// Ends the client behind the replies that it has.
  void lose() noexcept;
  /// Returns whether it takes replies.
  bool is_receiving() const noexcept {
    return end_ == shared_end::none || end_ == shared_end::input || end_ == shared_end::quit ||
           end_ == shared_end::moved;
  }

 protected:
  /// Why the client sends no further command.
  enum class need : std::uint8_t {
    bytes,    ///< the next command is not whole
    room,     ///< too many commands or bytes are under way, of the client or of all
    nothing,  ///< the sharing has ended
  };

  /// Sends the commands of the input until one cannot be sent. Returns the reason.
  need send_commands();
  /// Sets the end in place of an earlier one, and wakes both directions.
  void end(shared_end how) noexcept;
  /// Frees the buffers of a client that is gone; it remains until its replies have come.
  void release() noexcept;
  /// Ends all operations on the client's socket.
  virtual void abort() noexcept = 0;

  bool has_all_replies() const noexcept { return under_way_ == 0; }
  /// Returns the connection in the version that the client speaks.
  shared_connection& server() const noexcept {
    return version_ == beck::redis::protocol::resp3 ? servers_.resp3 : servers_.resp2;
  }
  beck::redis::protocol version() const noexcept { return version_; }
  const client_identity& identity() const noexcept { return identity_; }

  beck::flat_buffer in_;
  std::string out_;  // gathers while writing_ is written
  std::string writing_;
  beck::auto_reset_event has_output_;
  beck::auto_reset_event may_go_on_;
  shared_end end_ = shared_end::none;
  move_reason reason_ = move_reason::none;
  std::size_t wait_bytes_ = 0;  // of the command that moves it, if that waits for replicas

 private:
  bool answer(const beck::redis::arguments& command);
  bool greet(const beck::redis::arguments& command, beck::redis::reply_writer& to);
  void send(shared_connection& to, std::string_view command);
  bool may_send() const noexcept {
    return under_way_ < window_ && out_.size() + writing_.size() < unread_bytes;
  }

  const shared_servers servers_;
  const statistics& all_;
  client_identity identity_{0};  // its number is that of its own connection
  beck::redis::request_parser parser_;
  std::size_t reply_bytes_ = 0;  // of the reply that is being taken
  std::uint32_t under_way_ = 0;
  std::uint32_t window_ = window_first;
  beck::redis::protocol version_ = beck::redis::protocol::resp2;
  // of a HELLO that the server has not answered
  bool is_greeting_ = false;
  bool is_accepted_ = false;  // as far as the reply has come
  beck::redis::protocol next_version_ = beck::redis::protocol::resp2;
};

}  // namespace beck_redis_proxy
