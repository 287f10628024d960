// SPDX-License-Identifier: BSL-1.0
// async_read and async_write: whole buffers over the library's streams, and the synchronous forms.
// For other streams, and for every stream that only offers async_read_some or async_write_some, see
// io/generic_stream.hpp.
#pragma once

#include <beck/detail/composed_operation.hpp>
#include <beck/detail/stream_object.hpp>

namespace beck {

namespace detail {

/// A transfer of one whole buffer: the loop over short counts is in the loop's attempt, not here.
inline transfer_operation whole_transfer(op_kind kind, stream_object& stream,
                                         const_buffer buffer) noexcept {
  transfer_operation op(kind, stream.slot(), const_cast<void*>(buffer.data()), buffer.size());
  op.flags = io_op::flag_all;
  return op;
}

}  // namespace detail

/// Sends the whole buffer. Completes with (error_code, std::size_t): the number of bytes sent, also
/// with an error. Several writes may be started on one stream; they are sent one after the other.
/// Errors: as async_write_some(). Cancellation: as async_write_some(); the number of bytes sent is
/// exact.
inline detail::transfer_operation async_write(detail::stream_object& stream,
                                              const_buffer buffer) noexcept {
  return detail::whole_transfer(detail::op_kind::send, stream, buffer);
}
/// As above, for a sequence of buffers, which is copied; the memory that they refer to is not.
template <const_buffer_sequence S>
  requires(!detail::single_buffer<S>)
detail::sequence_transfer<S, transfer_all> async_write(detail::stream_object& stream,
                                                       const S& buffers) {
  return {detail::op_kind::send_vector, stream.slot(), buffers, transfer_all()};
}
/// Sends until `condition` is met or all is sent; see io/completion_condition.hpp.
template <const_buffer_sequence S, detail::completion_condition C>
detail::sequence_transfer<S, C> async_write(detail::stream_object& stream, const S& buffers,
                                            C condition) {
  return {detail::op_kind::send_vector, stream.slot(), buffers, static_cast<C&&>(condition)};
}
/// Sends all buffers. `token` takes (error_code, std::size_t).
template <const_buffer_sequence S, class Token>
  requires(!detail::completion_condition<Token>)
auto async_write(detail::stream_object& stream, const S& buffers, Token&& token) {
  return detail::launch(beck::async_write(stream, buffers), static_cast<Token&&>(token));
}
/// Sends until `condition` is met. `token` takes (error_code, std::size_t).
template <const_buffer_sequence S, detail::completion_condition C, class Token>
auto async_write(detail::stream_object& stream, const S& buffers, C condition, Token&& token) {
  return detail::launch(beck::async_write(stream, buffers, static_cast<C&&>(condition)),
                        static_cast<Token&&>(token));
}

/// Receives until the buffer is full, the stream ends or an error occurs. Completes with
/// (error_code, std::size_t): the number of bytes received, also with an error. Errors: as
/// async_read_some(); eof at the end of the stream. Cancellation: as async_read_some(); the number
/// of bytes received is exact.
inline detail::transfer_operation async_read(detail::stream_object& stream,
                                             mutable_buffer buffer) noexcept {
  return detail::whole_transfer(detail::op_kind::receive, stream, buffer);
}
/// As above, for a sequence of buffers, which is copied; the memory that they refer to is not.
template <mutable_buffer_sequence S>
  requires(!detail::single_mutable_buffer<S>)
detail::sequence_transfer<S, transfer_all> async_read(detail::stream_object& stream,
                                                      const S& buffers) {
  return {detail::op_kind::receive_vector, stream.slot(), buffers, transfer_all()};
}
/// Receives until `condition` is met or the buffers are full; see io/completion_condition.hpp.
template <mutable_buffer_sequence S, detail::completion_condition C>
detail::sequence_transfer<S, C> async_read(detail::stream_object& stream, const S& buffers,
                                           C condition) {
  return {detail::op_kind::receive_vector, stream.slot(), buffers, static_cast<C&&>(condition)};
}
/// Receives until the buffers are full. `token` takes (error_code, std::size_t).
template <mutable_buffer_sequence S, class Token>
  requires(!detail::completion_condition<Token>)
auto async_read(detail::stream_object& stream, const S& buffers, Token&& token) {
  return detail::launch(beck::async_read(stream, buffers), static_cast<Token&&>(token));
}
/// Receives until `condition` is met. `token` takes (error_code, std::size_t).
template <mutable_buffer_sequence S, detail::completion_condition C, class Token>
auto async_read(detail::stream_object& stream, const S& buffers, C condition, Token&& token) {
  return detail::launch(beck::async_read(stream, buffers, static_cast<C&&>(condition)),
                        static_cast<Token&&>(token));
}

/// Reads from any stream with read_some() until `condition` is met, the buffers are full, or a step
/// fails or moves nothing. Blocks. Returns the number of bytes read, also with an error. One step
/// is one call of read_some() with up to 16 buffers, or with one if the stream takes no sequences.
template <class Stream, mutable_buffer_sequence B, detail::completion_condition C>
std::size_t read(Stream& stream, const B& buffers, C condition, error_code& ec) {
  return detail::transfer_steps_now<mutable_buffer>(
      buffers, condition, ec,
      [&](const auto& parts, std::size_t) -> decltype(stream.read_some(parts, ec)) {
        return stream.read_some(parts, ec);
      });
}
/// Writes to any stream with write_some() until `condition` is met, all is written, or a step fails
/// or moves nothing. Blocks. Returns the number of bytes written, also with an error. One step is
/// one call of write_some() with up to 16 buffers, or with one if the stream takes no sequences.
template <class Stream, const_buffer_sequence B, detail::completion_condition C>
std::size_t write(Stream& stream, const B& buffers, C condition, error_code& ec) {
  return detail::transfer_steps_now<const_buffer>(
      buffers, condition, ec,
      [&](const auto& parts, std::size_t) -> decltype(stream.write_some(parts, ec)) {
        return stream.write_some(parts, ec);
      });
}
/// Reads until the buffers are full.
template <class Stream, mutable_buffer_sequence B>
std::size_t read(Stream& stream, const B& buffers, error_code& ec) {
  return beck::read(stream, buffers, transfer_all(), ec);
}
/// Reads until `condition` is met, by default until the buffers are full. Throws io_error on
/// failure, with the number of bytes read as transferred().
template <class Stream, mutable_buffer_sequence B, detail::completion_condition C = transfer_all>
std::size_t read(Stream& stream, const B& buffers, C condition = C()) {
  error_code ec;
  const std::size_t total = beck::read(stream, buffers, static_cast<C&&>(condition), ec);
  if (ec) detail::throw_error(ec, "read", total);
  return total;
}
/// Writes all buffers.
template <class Stream, const_buffer_sequence B>
std::size_t write(Stream& stream, const B& buffers, error_code& ec) {
  return beck::write(stream, buffers, transfer_all(), ec);
}
/// Writes until `condition` is met, by default all buffers. Throws io_error on failure, with the
/// number of bytes written as transferred().
template <class Stream, const_buffer_sequence B, detail::completion_condition C = transfer_all>
std::size_t write(Stream& stream, const B& buffers, C condition = C()) {
  error_code ec;
  const std::size_t total = beck::write(stream, buffers, static_cast<C&&>(condition), ec);
  if (ec) detail::throw_error(ec, "write", total);
  return total;
}

}  // namespace beck
