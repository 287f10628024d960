// SPDX-License-Identifier: BSL-1.0
//
// A WebSocket connection (RFC 6455): messages in both directions, over a connection that HTTP has
// given away. accept() makes the server's end, connect() the client's.
#pragma once

#include <beck/base/flat_buffer.hpp>
#include <beck/base/io_result.hpp>
#include <beck/coro/task.hpp>
#include <beck/websocket/error.hpp>
#include <beck/websocket/limits.hpp>
#include <beck/websocket/message.hpp>
#include <cstddef>
#include <string>  // lint: allow heavy-header, error.hpp has it already
#include <string_view>
#include <utility>

namespace beck::websocket {

namespace detail {
struct stream_handle;
}

/// A part of a message, as stream::read_some() gives it.
struct message_part {
  std::size_t bytes = 0;
  message_kind kind = message_kind::text;
  bool is_last = false;  ///< the message ends with it
};

/// A connection. Keep a read under way: reads answer pings, notice that the peer has gone, and take
/// part in the close handshake. What is not read stays in the socket, so the peer has to wait.
///   websocket::stream ws = std::move(accepted).value();
///   flat_buffer text;
///   for (;;) {
///     auto [ec, kind] = co_await ws.read(text);
///     if (ec) co_return;
///     ignore(co_await ws.write(kind, text.data()));
///   }
/// Errors: a connection has one end, and every later call gets its error: a stream_error, or the
/// error of the socket. A fault of the peer is told to it by a close frame first.
/// The functions that return tasks do nothing before these are awaited, or started with co_spawn();
/// the stream may be moved meanwhile. Cancellation: through the awaiting scope, with
/// operation_aborted.
/// Thread: that of its context, which is exclusive. One read at a time; any number of writes.
/// Move-only. The destructor cuts the connection, and what is under way ends with
/// operation_aborted; close() before, so that the peer knows that it was the end.
/// Lifetime: as http::tunnel.
class stream {
 public:
  /// Makes an object without a connection. Only assignment and the destructor may be called.
  stream() noexcept = default;
  /// For the library: takes over a connection.
  explicit stream(detail::stream_handle* made) noexcept : handle_(made) {}
  stream(stream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  /// Takes over the connection of `other`; cuts the own one, as the destructor.
  stream& operator=(stream&& other) noexcept {
    stream taken(std::move(other));
    std::swap(handle_, taken.handle_);
    return *this;
  }
  ~stream();
  /// Returns whether there is a connection, open or not.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

  /// Receives a message. `to` is cleared when the message begins, and must live until the task
  /// ends. Returns the kind. Errors: message_too_long if the message is longer than to.max_size(),
  /// too. An exception for want of memory loses nothing: read again.
  /// Cancellation: loses nothing; `to` has the bytes so far, and the next read goes on behind them.
  task<io_result<message_kind>> read(flat_buffer& to);
  /// Receives a part of a message, in constant memory: at least one byte, unless a message ends
  /// with an empty part. `to` must live until the task ends; if it is empty, so is the part.
  /// Cancellation: loses nothing.
  task<io_result<message_part>> read_some(mutable_buffer to);

  /// Sends a message. Ends when all of it was taken: sent, or copied into the queue, which sends it
  /// by itself; waits while limits::queue_bytes() are waiting there. A message over 64 KiB, or over
  /// the queue, goes in fragments. `data` must live until the task ends. Text must be UTF-8, which
  /// is not checked.
  /// Messages keep the order in which their writes began.
  /// Cancellation: no byte was sent, or else the message cannot be completed, and the connection
  /// ends with write_cancelled.
  task<io_result<>> write(message_kind kind, const_buffer data);
  /// Sends a part of a message. Other writes wait from its first to its last part, so one coroutine
  /// at a time may write parts; `kind` is that of the first. Else as write().
  task<io_result<>> write_part(message_kind kind, const_buffer data, bool is_last);
  /// Takes a message, and never waits: for broadcasts. It is sent when the loop comes to it, with
  /// all that was taken until then. Errors: would_block if it does not fit into the queue now, and
  /// the message is not sent; with limits::drop_when_full() queue_full, and the connection is
  /// ended; message_size if it never fits; no_memory; the connection's. Does not overtake the parts
  /// of a message, but may overtake writes that wait. Requires that `what` is not empty.
  [[nodiscard]] error_code send(const message& what) noexcept;

  /// Ends the connection: sends a close frame behind what is waiting, drops the messages that still
  /// come unless a read is under way, and waits for the peer's close frame and the end of the
  /// socket, at most limits::close(). No error if the peer has answered; the error of the socket if
  /// it took no more. Throws std::invalid_argument if `code` must not be sent (may_be_sent()), or
  /// `reason`, which is UTF-8, has more than 123 bytes. Cancellation: the connection is ended all
  /// the same.
  task<io_result<>> close(close_code code = close_code::normal, std::string_view reason = {});

  /// Returns the code of the peer's close frame: close_code::none as long as there is none,
  /// no_status if it had no code, abnormal if the connection has ended without one.
  close_code peer_code() const noexcept;
  /// Returns the reason of the peer's close frame. Valid as long as the connection.
  std::string_view peer_reason() const noexcept;
  /// Returns the subprotocol that was agreed on; an empty text if there is none.
  std::string_view protocol() const noexcept;
  /// Returns the number of bytes that wait to be sent.
  std::size_t queued() const noexcept;
  /// Returns why the connection has ended; no error as long as it is open.
  error_code error() const noexcept;
  /// Returns a sentence with the error and, if it is that of a limit, the limit's value; an empty
  /// text as long as there is none. Throws std::bad_alloc.
  std::string failure() const;
  /// Returns the executor of the connection.
  any_io_executor get_executor() const noexcept;

 private:
  detail::stream_handle* handle_ = nullptr;
};

}  // namespace beck::websocket
