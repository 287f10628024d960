// SPDX-License-Identifier: BSL-1.0
//
// A WebSocket connection (RFC 6455): messages in both directions, over a connection that was taken
// over from HTTP. accept() makes the server's end, connect() the client's.
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

/// A part of a message, the result of stream::read_some().
struct message_part {
  std::size_t bytes = 0;
  message_kind kind = message_kind::text;
  bool is_last = false;  ///< the message ends with it
};

/// A connection. Keep a read under way: reads answer pings, notice that the peer has gone, and take
/// part in the close handshake. Bytes that the program does not read stay in the socket, so the
/// peer has to wait.
///   websocket::stream ws = std::move(accepted).value();
///   flat_buffer text;
///   for (;;) {
///     auto [ec, kind] = co_await ws.read(text);
///     if (ec) co_return;
///     ignore(co_await ws.write(kind, text.data()));
///   }
/// Errors: a connection ends once, and every later call gets the error of that end: a stream_error,
/// or the error of the socket. If the peer is at fault, a close frame tells it first.
/// The functions that return tasks do nothing until the task is awaited, or started with
/// co_spawn(); the stream may be moved meanwhile. Cancellation: through the awaiting scope, with
/// operation_aborted.
/// Thread: that of its context, which is exclusive. One read at a time; any number of writes.
/// Move-only. The destructor cuts the connection, and its operations end with operation_aborted;
/// call close() before, so that the peer sees a regular end.
/// Lifetime: as http::tunnel.
class stream {
 public:
  /// Makes an object without a connection. Only assignment and the destructor may be called.
  stream() noexcept = default;
  /// Takes over a connection; for the library.
  explicit stream(detail::stream_handle* made) noexcept : handle_(made) {}
  stream(stream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  /// Takes over the connection of `other`; cuts its own one, as the destructor does.
  stream& operator=(stream&& other) noexcept {
    stream taken(std::move(other));
    std::swap(handle_, taken.handle_);
    return *this;
  }
  ~stream();
  /// Returns whether there is a connection, open or not.
  explicit operator bool() const noexcept { return handle_ != nullptr; }

  /// Receives a message. `to` is cleared when the message begins, and must live until the task
  /// ends. Returns the kind. Errors: also message_too_long if the message is longer than
  /// to.max_size(). An exception for lack of memory loses nothing: read again.
  /// Cancellation: loses nothing; `to` keeps the received bytes, and the next read appends to them.
  task<io_result<message_kind>> read(flat_buffer& to);
  /// Receives a part of a message, in constant memory: at least one byte, unless a message ends
  /// with an empty part. `to` must live until the task ends; if it is empty, so is the part.
  /// Cancellation: loses nothing.
  task<io_result<message_part>> read_some(mutable_buffer to);

  /// Sends a message. Completes when all of it was sent, or copied into the queue, which is sent in
  /// the background; waits while limits::queue_bytes are queued. A message above 64 KiB, or above
  /// the bound of the queue, is sent in fragments. `data` must live until the task ends. Text must
  /// be UTF-8, which is not checked.
  /// Messages are sent in the order in which their writes began.
  /// Cancellation: either no byte was sent, or the message cannot be completed, and the connection
  /// ends with write_cancelled.
  task<io_result<>> write(message_kind kind, const_buffer data);
  /// Sends a part of a message. Other writes wait from its first to its last part, so only one
  /// coroutine at a time may write parts; `kind` is that of the first part. Else as write().
  task<io_result<>> write_part(message_kind kind, const_buffer data, bool is_last);
  /// Queues a message and never waits: for broadcasts. The loop later sends all queued messages
  /// together. Errors: would_block if the message does not fit into the queue now; it is not sent.
  /// With limits::drop_when_full queue_full instead, and the connection is ended; message_size if
  /// it never fits; no_memory; the connection's. Does not overtake the parts of a message, but may
  /// overtake waiting writes. Requires that `shared` is not empty.
  [[nodiscard]] error_code send(const message& shared) noexcept;

  /// Ends the connection: sends a close frame after the queued messages, and waits for the peer's
  /// close frame and the end of the socket, for at most limits::close_timeout. Drops messages that
  /// arrive meanwhile, unless a read is under way. No error if the peer has answered; the error of
  /// the socket if it took no more. Throws std::invalid_argument if `code` must not be sent
  /// (may_be_sent()), or if `reason`, which is UTF-8, has more than 123 bytes. Cancellation: the
  /// connection ends anyway.
  task<io_result<>> close(close_code code = close_code::normal, std::string_view reason = {});

  /// Returns the code of the peer's close frame: close_code::none before it arrives, no_status if
  /// it had no code, abnormal if the connection has ended without a close frame.
  close_code peer_code() const noexcept;
  /// Returns the reason in the peer's close frame. Valid as long as the connection.
  std::string_view peer_reason() const noexcept;
  /// Returns the subprotocol that was agreed on; an empty text if there is none.
  std::string_view protocol() const noexcept;
  /// Returns the number of queued bytes.
  std::size_t queued() const noexcept;
  /// Returns why the connection has ended; no error while it is open.
  error_code error() const noexcept;
  /// Returns a sentence with the error and, for a limit, the value of the limit; an empty text
  /// while there is no error. Throws std::bad_alloc.
  std::string error_text() const;
  /// Returns the executor of the connection.
  any_io_executor get_executor() const noexcept;

 private:
  detail::stream_handle* handle_ = nullptr;
};

}  // namespace beck::websocket
