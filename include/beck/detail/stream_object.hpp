// SPDX-License-Identifier: BSL-1.0
// A byte stream over a descriptor: the part that stream sockets and pipes share. Not a
// template of protocol, buffer, handler or coroutine, so that programs compile fast.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/detail/callback_operation.hpp>
#include <beck/detail/io_object.hpp>
#include <beck/detail/vector_operation.hpp>

namespace beck::detail {

class stream_object : public io_object {
 public:
  /// Receives at least one byte, or reports: eof at the end of the stream, 0 at once for an empty
  /// buffer. Several receives on one stream complete in the order of their start. Cancellation:
  /// cancel(), close(); either success with n bytes, or operation_aborted with the bytes still
  /// there. Source: recv(2), recvmsg(2).
  transfer_operation async_read_some(mutable_buffer buffer) noexcept {
    return {op_kind::receive, descriptor_, buffer.data(), buffer.size()};
  }
  template <mutable_buffer_sequence S>
    requires(!single_mutable_buffer<S>)
  vector_operation async_read_some(const S& buffers) noexcept {
    return {op_kind::receive_vector, descriptor_, buffers};
  }
  template <mutable_buffer_sequence B, class Token>
  auto async_read_some(const B& buffers, Token&& token) {
    return detail::launch(async_read_some(buffers), static_cast<Token&&>(token));
  }

  /// Sends at least one byte, or reports; broken_pipe if the peer is gone (never SIGPIPE).
  /// Source: send(2), sendmsg(2).
  transfer_operation async_write_some(const_buffer buffer) noexcept {
    return {op_kind::send, descriptor_, const_cast<void*>(buffer.data()), buffer.size()};
  }
  template <const_buffer_sequence S>
    requires(!single_buffer<S>)
  vector_operation async_write_some(const S& buffers) noexcept {
    return {op_kind::send_vector, descriptor_, buffers};
  }
  template <const_buffer_sequence B, class Token>
  auto async_write_some(const B& buffers, Token&& token) {
    return detail::launch(async_write_some(buffers), static_cast<Token&&>(token));
  }

  /// The synchronous forms wait, unless non_blocking(): then would_block.
  template <mutable_buffer_sequence B>
  std::size_t read_some(const B& buffers, error_code& ec) {
    auto op = async_read_some(buffers);
    return transfer_now(op, ec);
  }
  template <mutable_buffer_sequence B>
  std::size_t read_some(const B& buffers) {
    error_code ec;
    const std::size_t bytes = read_some(buffers, ec);
    throw_if(ec, "read_some");
    return bytes;
  }
  template <const_buffer_sequence B>
  std::size_t write_some(const B& buffers, error_code& ec) {
    auto op = async_write_some(buffers);
    return transfer_now(op, ec);
  }
  template <const_buffer_sequence B>
  std::size_t write_some(const B& buffers) {
    error_code ec;
    const std::size_t bytes = write_some(buffers, ec);
    throw_if(ec, "write_some");
    return bytes;
  }

  /// The operations on this stream have to end by then: what is under way when the time has passed
  /// ends with error::timeout, and what is started afterwards does at once, until there is a new
  /// limit. It holds for all of them together, reads, writes, waits and connects, and for whole
  /// composed ones. The completion is the truth: bytes that were not delivered are still there, and
  /// the stream stays open. A new limit replaces the old one; close(), release() and move_to()
  /// forget it. Not for synchronous calls. Keeps no run() from returning.
  /// Memory: none by the runner. Throws std::bad_alloc; then there is no limit.
  void expires_after(duration after);
  void expires_at(time_point at);
  void expires_never();

  /// Bytes that can be read without waiting.
  std::size_t available(error_code& ec) const noexcept;
  std::size_t available() const;

  /// The slot, for the library's own composed operations.
  descriptor* slot() noexcept { return descriptor_; }

 protected:
  using io_object::io_object;

  std::size_t transfer_now(transfer_operation& op, error_code& ec) const noexcept {
    const int result = perform_now(op);
    ec = make_error(result);
    return op.transferred;
  }
};

}  // namespace beck::detail
