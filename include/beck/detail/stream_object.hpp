// SPDX-License-Identifier: BSL-1.0
// A byte stream over a descriptor: the part that stream sockets and pipes share. Not a
// template of protocol, buffer, handler or coroutine, so that programs compile fast.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/detail/callback_operation.hpp>
#include <beck/detail/io_object.hpp>
#include <beck/detail/vector_operation.hpp>

namespace beck::detail {

/// The base of stream sockets, pipes and posix::stream_descriptor. Thread, closing, lifetime: as
/// io_object. Started operations complete on the object's executor, or on that of the handler.
/// Cancellation: cancel() and close() end them with operation_aborted, expires_after() with
/// error::timeout.
class stream_object : public io_object {
 public:
  /// Receives at least one byte. Completes with (error_code, bytes received): error::eof at the end
  /// of the stream; 0 bytes at once for an empty buffer; bad_descriptor if closed; else the errors
  /// of recv(2), such as connection_reset. Several receives on one stream complete in the order of
  /// their start. The memory must stay valid until the completion.
  /// Cancellation: either success with n bytes, or operation_aborted, and then no byte is lost: the
  /// data is still in the stream. Source: recv(2), recvmsg(2).
  transfer_operation async_read_some(mutable_buffer buffer) noexcept {
    return {op_kind::receive, descriptor_, buffer.data(), buffer.size()};
  }
  /// Completes when there is data, without receiving any.
  transfer_operation async_read_some(waits_instead auto) noexcept {
    return {op_kind::wait_read, descriptor_, nullptr, 0};
  }
  /// Receives at least one byte into a sequence of buffers, of which the first 16 that are not
  /// empty are used. Completes as the read into one buffer does.
  template <mutable_buffer_sequence S>
    requires(!single_mutable_buffer<S> && !waits_instead<S>)
  vector_operation async_read_some(const S& buffers) noexcept {
    return {op_kind::receive_vector, descriptor_, buffers};
  }
  /// Receives at least one byte. `token` takes (error_code, std::size_t); completes as the read
  /// into one buffer does.
  template <mutable_buffer_sequence B, class Token>
  auto async_read_some(const B& buffers, Token&& token) {
    return detail::launch(async_read_some(buffers), static_cast<Token&&>(token));
  }

  /// Sends at least one byte. Completes with (error_code, bytes sent): broken_pipe if the peer is
  /// gone (never SIGPIPE); 0 bytes at once for an empty buffer; bad_descriptor if closed; else the
  /// errors of send(2), such as connection_reset. Several sends on one stream complete in the order
  /// of their start. The memory must stay valid until the completion.
  /// Cancellation: either success with n bytes, or operation_aborted, and then nothing was sent.
  /// Source: send(2), sendmsg(2).
  transfer_operation async_write_some(const_buffer buffer) noexcept {
    return {op_kind::send, descriptor_, const_cast<void*>(buffer.data()), buffer.size()};
  }
  /// Completes when there is room, without sending anything.
  transfer_operation async_write_some(waits_instead auto) noexcept {
    return {op_kind::wait_write, descriptor_, nullptr, 0};
  }
  /// Sends at least one byte of a sequence of buffers, of which the first 16 that are not empty are
  /// used. Completes as the write from one buffer does.
  template <const_buffer_sequence S>
    requires(!single_buffer<S> && !waits_instead<S>)
  vector_operation async_write_some(const S& buffers) noexcept {
    return {op_kind::send_vector, descriptor_, buffers};
  }
  /// Sends at least one byte. `token` takes (error_code, std::size_t); completes as the write from
  /// one buffer does.
  template <const_buffer_sequence B, class Token>
  auto async_write_some(const B& buffers, Token&& token) {
    return detail::launch(async_write_some(buffers), static_cast<Token&&>(token));
  }

  /// Receives at least one byte on the calling thread and returns the number of bytes. Blocks until
  /// data arrives; if non_blocking(), fails with would_block instead. Other errors: those of
  /// async_read_some(). cancel() and expires_after() have no effect on it.
  template <mutable_buffer_sequence B>
  std::size_t read_some(const B& buffers, error_code& ec) {
    auto op = async_read_some(buffers);
    return transfer_now(op, ec);
  }
  /// Receives as read_some(buffers, ec). Throws io_error on failure.
  template <mutable_buffer_sequence B>
  std::size_t read_some(const B& buffers) {
    error_code ec;
    const std::size_t bytes = read_some(buffers, ec);
    throw_if(ec, "read_some");
    return bytes;
  }
  /// Sends at least one byte on the calling thread and returns the number of bytes. Blocks until
  /// there is room; if non_blocking(), fails with would_block instead. Other errors: those of
  /// async_write_some(). cancel() and expires_after() have no effect on it.
  template <const_buffer_sequence B>
  std::size_t write_some(const B& buffers, error_code& ec) {
    auto op = async_write_some(buffers);
    return transfer_now(op, ec);
  }
  /// Sends as write_some(buffers, ec). Throws io_error on failure.
  template <const_buffer_sequence B>
  std::size_t write_some(const B& buffers) {
    error_code ec;
    const std::size_t bytes = write_some(buffers, ec);
    throw_if(ec, "write_some");
    return bytes;
  }

  /// The other end of a connection, as the kernel knows it.
  enum class peer_status : unsigned char {
    open,      ///< it may send more
    finished,  ///< it sends nothing more; it may receive
    gone,      ///< both directions have ended, or one with an error, such as a reset
  };
  /// Returns the status of the peer, whether or not all that it has sent was read; gone if closed.
  /// After this side has shut down its receiving it is finished at least. A system call: poll(2).
  peer_status peer() const noexcept;
  /// Waits until the peer's status is `status` or one behind it, and reads nothing. For a server
  /// that works for a client and wants to know when that leaves. Completes with (error_code):
  /// bad_descriptor if closed. These waits, and those for an error, complete in the order of their
  /// start: one that goes on holds up the next one. Requires a status other than open.
  void_operation async_wait_peer(peer_status status) noexcept;
  /// As above. `token` takes (error_code).
  template <class Token>
  auto async_wait_peer(peer_status status, Token&& token) {
    return detail::launch(async_wait_peer(status), static_cast<Token&&>(token));
  }

  /// Sets a deadline for the asynchronous operations on this stream, `after` from now. Operations
  /// that are in flight when it passes end with error::timeout; those that are started afterwards
  /// end so at once, until there is a new deadline. One deadline holds for all of them together:
  /// reads, writes, waits and connects, and whole composed operations. A result that is already
  /// known is delivered, bytes that were not delivered stay in the stream, and the stream stays
  /// open. A new deadline replaces the old one; close(), release() and move_to() remove it.
  /// Synchronous calls ignore it. It does not keep run() from returning.
  /// Memory: none if the caller runs the context or no thread does, else one small block. Throws
  /// std::bad_alloc; then there is no deadline. Thread: as io_object.
  void expires_after(duration after);
  /// Sets the deadline to the point in time `at`; everything else as expires_after().
  void expires_at(time_point at);
  /// Removes the deadline. Operations that are started later are not limited any more. Throws as
  /// expires_after().
  void expires_never();

  /// Returns the number of bytes that a read would return now without waiting (FIONREAD); 0 on
  /// failure. Errors: bad_descriptor if closed; those of ioctl(2).
  std::size_t available(error_code& ec) const noexcept;
  /// Returns the number of bytes that a read would return now without waiting. Throws io_error on
  /// failure.
  std::size_t available() const;

  /// Returns the slot. For the library's own composed operations.
  descriptor* slot() noexcept { return descriptor_; }

 protected:
  using io_object::io_object;

  /// Performs `op` on the calling thread, as perform_now(). Returns the number of bytes moved.
  std::size_t transfer_now(transfer_operation& op, error_code& ec) const noexcept {
    const int result = perform_now(op);
    ec = make_error(result);
    return op.transferred;
  }
};

}  // namespace beck::detail
