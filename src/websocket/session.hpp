// SPDX-License-Identifier: BSL-1.0
// A connection, which its stream shares with the tasks under way: its states and its end (RFC 6455,
// section 7). Its parts receive (frame_input), send (frame_output) and limit the time
// (session_clock).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <beck/coro/task.hpp>
#include <beck/http/client_response.hpp>
#include <beck/http/tunnel.hpp>
#include <beck/websocket/stream.hpp>

#include "base/transitions.hpp"
#include "http/server/connection.hpp"
#include "websocket/frame_input.hpp"
#include "websocket/frame_output.hpp"
#include "websocket/session_clock.hpp"

namespace beck::websocket::detail {

enum class session_state : std::uint8_t {
  open,       ///< both sides send
  closing,    ///< our close frame was sent or is queued; the peer may still send
  half_open,  ///< nothing more can be sent; messages that the peer has sent are read
  ending,     ///< nothing more is read; queued frames are sent
  lost,       ///< the socket is closed
};

enum class session_event : std::uint8_t {
  close,        ///< our close frame is queued
  fail_output,  ///< the socket takes no more
  end,          ///< the peer's close frame came, or the connection fails
  lose,         ///< the socket is closed
};

/// In the order of session_event.
inline constexpr beck::detail::transition_table<session_state, 4> session_transitions = [] {
  using beck::detail::any_but;
  using beck::detail::any_of;
  using enum session_state;
  return beck::detail::transition_table<session_state, 4>{{
      /* close       */ {closing, any_of({open})},
      /* fail_output */ {half_open, any_of({open, closing})},
      /* end         */ {ending, any_of({closing, half_open})},
      /* lose        */ {lost, any_but({lost})},
  }};
}();

/// A connection. Thread: that of its context.
class session final : public std::enable_shared_from_this<session>,
                      private http::detail::tunnel_owner {
 public:
  /// Takes over the connection of a tunnel from a handler of a server.
  session(const any_io_executor& executor, const limits& most, http::tunnel&& taken);
  /// Takes over the connection of a client.
  session(const any_io_executor& executor, const limits& most, http::taken_stream&& taken);
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  // --- for stream; `self` keeps the session
  static task<io_result<>> close(std::shared_ptr<session> self, close_code code,
                                 std::string reason);
  /// Closes the socket; frames that were not sent are lost.
  void lose(const error_code& why) noexcept;
  close_code peer_code() const noexcept;
  /// As stream::error().
  const error_code& error() const noexcept { return end_; }
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
  /// Returns whether nothing more is read, because of error().
  bool has_ended() const noexcept { return static_cast<bool>(end_); }
  /// Returns the error that a write gets now; no error while messages can be sent.
  error_code send_error() const noexcept {
    if (end_) return end_;
    if (output_error_) return output_error_;
    return is_open() ? error_code() : make_error_code(stream_error::closed);
  }
  /// Ends the connection for an error of the peer, or of a writer. A close frame tells the peer.
  void fail(stream_error why) noexcept;
  /// Handles the peer's close frame. Answers it, unless it is an answer.
  void take_close(close_code code) noexcept;
  /// Handles the error of a receive, which ends the connection unless the reader was cancelled.
  /// Returns the error of the read.
  error_code take_read_error(error_code why) noexcept;
  /// Ends the direction that sends, after an error of the socket. Messages that the peer has sent
  /// before can still be read, for at most limits::close_timeout.
  void fail_output(const error_code& why) noexcept;
  /// Closes the socket because the end of the connection takes too long.
  void lose_late() noexcept;
  /// Sends the queued frames and the end of the stream, then reads until the peer ends: a close
  /// before all input was read would reset the connection, and the peer might not get the close
  /// frame.
  static task<> finish(std::shared_ptr<session> self);

  std::string protocol;  ///< the subprotocol that was agreed on; empty without one

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
  error_code end_;           // ends all reads: in the states ending and lost
  error_code output_error_;  // ends all writes: in the state half_open and after it
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
