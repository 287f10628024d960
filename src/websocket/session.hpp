// SPDX-License-Identifier: BSL-1.0
// The state of a connection, which its stream shares with the tasks under way: its course and its
// end. Its parts receive (frame_input), send (frame_output) and limit the time (session_clock).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <beck/coro/task.hpp>
#include <beck/http/reply.hpp>
#include <beck/http/tunnel.hpp>
#include <beck/websocket/stream.hpp>

#include "http/server/connection.hpp"
#include "websocket/frame_input.hpp"
#include "websocket/frame_output.hpp"
#include "websocket/session_clock.hpp"
#include "websocket/session_state.hpp"

namespace beck::websocket::detail {

/// A connection. Thread: that of its context.
class session final : public std::enable_shared_from_this<session>,
                      private http::detail::tunnel_owner {
 public:
  /// Takes over the connection `of`, whose tunnel is `taken`, from a handler of a server.
  session(http::detail::connection& of, const limits& most, http::tunnel&& taken);
  /// Takes over the connection of a client.
  session(const any_io_executor& executor, const limits& most, http::taken_stream&& taken);
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  // --- for stream; `self` keeps the session
  static task<io_result<>> close(std::shared_ptr<session> self, close_code code,
                                 std::string reason);
  /// Ends the connection at once; what was not sent is lost.
  void lose(const error_code& why) noexcept;
  close_code peer_code() const noexcept;
  const error_code& end() const noexcept { return end_; }
  const limits& bounds() const noexcept { return limits_; }
  const any_io_executor& executor() const noexcept { return executor_; }

  // --- its parts
  frame_input& input() noexcept { return input_; }
  frame_output& output() noexcept { return output_; }
  session_clock& clock() noexcept { return clock_; }

  // --- for its parts
  byte_stream& stream() noexcept { return *stream_; }
  bool is_open() const noexcept { return state_ == session_state::open; }
  bool is_lost() const noexcept { return state_ == session_state::lost; }
  /// Returns whether nothing more is read: end() says why.
  bool has_ended() const noexcept { return static_cast<bool>(end_); }
  /// Returns why nothing can be sent; no error if it can.
  error_code send_error() const noexcept {
    if (end_) return end_;
    if (output_error_) return output_error_;
    return is_open() ? error_code() : make_error_code(stream_error::closed);
  }
  /// Ends the connection for an error of the peer, or of a writer: tells the peer.
  void fail(stream_error why) noexcept;
  /// Takes the peer's close frame: it is answered, unless it is the answer.
  void take_close(close_code code) noexcept;
  /// Takes the error of a receive, which ends the connection unless the reader was cancelled.
  /// Returns the error of the read.
  error_code take_read_error(error_code why) noexcept;
  /// Ends the direction that sends, after an error of the socket. What the peer has sent before can
  /// still be read, as long as an end may take.
  void mute(const error_code& why) noexcept;
  /// Ends the connection because its end takes too long.
  void lose_late() noexcept;
  /// Sends what is waiting and the end, then reads on until the peer ends: a close with input that
  /// was not read would reset the connection, and the peer might not get the close frame.
  static task<> finish(std::shared_ptr<session> self);

  std::string protocol;  ///< that was agreed on

 private:
  void take_cut() noexcept override;
  void change(session_event event) noexcept;
  void put_close(close_code code, std::string_view reason) noexcept;
  void end_input(stream_error why) noexcept;

  any_io_executor executor_;
  const limits limits_;
  http::tunnel tunnel_;  // a server's
  owned_stream owned_;   // a client's
  byte_stream* stream_;  // one of both
  session_state state_ = session_state::open;
  error_code end_;           // why nothing more is read: in the states ending and lost
  error_code output_error_;  // why nothing more is sent: in the state deaf and behind it
  frame_input input_;
  frame_output output_;
  session_clock clock_;
};

/// The part of a stream that owns its session.
struct stream_handle {
  std::shared_ptr<session> shared;
};

/// Makes a stream of a session.
stream make_stream(std::shared_ptr<session> made);

}  // namespace beck::websocket::detail
