// SPDX-License-Identifier: BSL-1.0
// The present connection of a link, from the attempt to make it to its loss: the stream, its input
// and output, and the reason why it has to end. One coroutine receives, one sends the bytes that
// the stream had no room for.
#pragma once

#include <cstddef>
#include <cstdint>

#include <beck/coro/task.hpp>
#include <beck/io/buffer_lease.hpp>
#include <beck/io/stream_layer.hpp>
#include <beck/redis/client.hpp>
#include <beck/transfer/stream_writer.hpp>

#include "base/counter.hpp"
#include "redis/client/link_greeting.hpp"
#include "redis/session/session.hpp"

namespace beck::redis::detail {

/// The counters of a link. Thread: that of the context, but for read().
class link_counters {
 public:
  void note_call() noexcept { calls_.add(); }
  void note_write() noexcept { writes_.add(); }
  void note_read() noexcept { reads_.add(); }
  void note_connection() noexcept { connections_.add(); }
  /// Publishes the numbers of now.
  void publish(session& work) noexcept {
    waiting_.set(work.queues().waiting());
    in_flight_.set(work.writer().in_flight());
  }
  /// Returns whether there was a connection that was ready for commands.
  bool has_connected() const noexcept { return connections_.get() != 0; }
  client_stats read() const noexcept;

 private:
  beck::detail::counter waiting_, in_flight_, connections_, writes_, reads_, calls_;
};

enum class connection_state : std::uint8_t {
  none,      ///< there is none, or an attempt to make it
  greeting,  ///< it is made, and not ready for calls
  ready,
};

enum class connection_event : std::uint8_t {
  connect,   ///< a stream is made
  be_ready,  ///< the server has answered the greeting
  greet,     ///< a lane's connection is reset
  lose,      ///< it has ended, or its context is destroyed
};

/// One connection after the other. Thread: that of the context.
class link_connection final : private beck::writer_source {
 public:
  /// `known`: of the server.
  link_connection(link& of, hello_state known) noexcept : link_(of), greeting_(of, known) {}

  // --- the course of one, which its link takes it through
  /// Begins with an attempt to connect.
  void begin() noexcept;
  /// Greets the server, and receives until the connection ends. Returns the reason.
  task<error_code> serve(owned_stream over);
  /// Stops, with `why` unless there is another reason. Returns whether it was ready for calls.
  bool stop(const error_code& why) noexcept;
  /// Waits until no write is under way: the stream has to stay so long.
  task<error_code> wait_until_written() { return writer_.wait_until_idle(); }
  /// Ends: calls that are under way go to the next connection, or end. Requires stop(), and that no
  /// write is under way.
  void end(bool was_ready) noexcept;
  /// Sends nothing more: the connection has ended, or its context is being destroyed. Does nothing
  /// if there is none.
  void lose() noexcept;

  // --- its state
  bool is_open() const noexcept { return state_ != connection_state::none; }
  bool is_ready() const noexcept { return state_ == connection_state::ready; }
  /// Returns whether calls may be sent.
  bool is_usable() const noexcept { return is_ready() && !cause_; }
  bool is_writing() const noexcept { return writer_.is_writing(); }
  /// Returns whether its server was left: see leave().
  bool is_left() const noexcept { return is_left_; }
  /// Returns why it has to end, or why the attempt has failed; no error: it goes on.
  const error_code& cause() const noexcept { return cause_; }
  link_greeting& greeting() noexcept { return greeting_; }

  // --- its use
  /// Sends the bytes that wait, at the end of the turn, if calls may be sent.
  void flush_soon() noexcept {
    if (is_ready()) writer_.schedule();
  }
  /// Closes the stream: all that is under way has failed.
  void break_off(const error_code& why) noexcept;
  /// Leaves the server, since another one, or another login, is to be used: sends no more, and ends
  /// when the commands that were sent are answered.
  void leave(const error_code& why) noexcept;
  /// Resets the connection of a lane for the next one. Returns false if that is impossible, or
  /// calls are under way; it has to be closed then.
  bool begin_again() noexcept;

 private:
  void change(connection_event event) noexcept;
  error_code take(const buffer_lease& received);
  error_code end_greeting();
  void fail_writing(const error_code& why) noexcept;
  std::size_t gather(part_array& parts) override;
  void take_sent(std::size_t bytes) noexcept override;
  void take_write_error(const error_code& why) noexcept override;
  void hold() noexcept override;
  void let_go() noexcept override;

  link& link_;
  link_greeting greeting_;
  owned_stream stream_;
  beck::stream_writer writer_{*this, 1};
  error_code cause_;
  connection_state state_ = connection_state::none;
  bool is_left_ = false;  // independent of the state
};

}  // namespace beck::redis::detail
