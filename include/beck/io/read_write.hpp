// SPDX-License-Identifier: BSL-1.0
// async_read and async_write: whole buffers over the library's streams, and the synchronous forms.
// For other streams, and for every stream that only offers async_read_some or async_write_some, see
// io/generic_stream.hpp.
#pragma once

#include <beck/io/composed_operation.hpp>
#include <beck/io/stream_object.hpp>

namespace beck {

/// A transfer of one whole buffer: the loop over short counts is in the loop's attempt, not here.
inline transfer_operation whole_transfer(op_kind kind, stream_object& stream,
                                         const_buffer buffer) noexcept {
  transfer_operation op(kind, stream.slot(), const_cast<void*>(buffer.data()), buffer.size());
  op.flags = io_op::flag_all;
  return op;
}

/// Sends everything. Gives how much was sent, also with an error. Requires that no other write on
/// the stream is interleaved: several may be started, they go out one after the other.
/// Cancellation: as async_write_some; reports exactly what was sent.
inline transfer_operation async_write(stream_object& stream, const_buffer buffer) noexcept {
  return whole_transfer(op_kind::send, stream, buffer);
}
template <const_buffer_sequence S>
  requires(!single_buffer<S>)
sequence_transfer<S, transfer_all> async_write(stream_object& stream, const S& buffers) {
  return {op_kind::send_vector, stream.slot(), buffers, transfer_all()};
}
template <const_buffer_sequence S, completion_condition C>
sequence_transfer<S, C> async_write(stream_object& stream, const S& buffers, C condition) {
  return {op_kind::send_vector, stream.slot(), buffers, static_cast<C&&>(condition)};
}
template <const_buffer_sequence S, class Token>
  requires(!completion_condition<Token>)
auto async_write(stream_object& stream, const S& buffers, Token&& token) {
  return launch(async_write(stream, buffers), static_cast<Token&&>(token));
}
template <const_buffer_sequence S, completion_condition C, class Token>
auto async_write(stream_object& stream, const S& buffers, C condition, Token&& token) {
  return launch(async_write(stream, buffers, static_cast<C&&>(condition)),
                static_cast<Token&&>(token));
}

/// Receives until the buffers are full, the stream ends (eof, with what came before) or an error.
inline transfer_operation async_read(stream_object& stream, mutable_buffer buffer) noexcept {
  return whole_transfer(op_kind::receive, stream, buffer);
}
template <mutable_buffer_sequence S>
  requires(!single_mutable_buffer<S>)
sequence_transfer<S, transfer_all> async_read(stream_object& stream, const S& buffers) {
  return {op_kind::receive_vector, stream.slot(), buffers, transfer_all()};
}
template <mutable_buffer_sequence S, completion_condition C>
sequence_transfer<S, C> async_read(stream_object& stream, const S& buffers, C condition) {
  return {op_kind::receive_vector, stream.slot(), buffers, static_cast<C&&>(condition)};
}
template <mutable_buffer_sequence S, class Token>
  requires(!completion_condition<Token>)
auto async_read(stream_object& stream, const S& buffers, Token&& token) {
  return launch(async_read(stream, buffers), static_cast<Token&&>(token));
}
template <mutable_buffer_sequence S, completion_condition C, class Token>
auto async_read(stream_object& stream, const S& buffers, C condition, Token&& token) {
  return launch(async_read(stream, buffers, static_cast<C&&>(condition)),
                static_cast<Token&&>(token));
}

/// The synchronous forms, over any stream with read_some or write_some.
template <class Stream, mutable_buffer_sequence B, completion_condition C>
std::size_t read(Stream& stream, const B& buffers, C condition, error_code& ec) {
  ec = error_code();
  std::size_t total = 0;
  const std::size_t size = buffer_size(buffers);
  for (;;) {
    const std::size_t more = bytes_wanted(condition, ec, total);
    if (ec || more == 0 || total == size) return total;
    total += read_part(stream, buffers, total, more, ec);
  }
}
template <class Stream, const_buffer_sequence B, completion_condition C>
std::size_t write(Stream& stream, const B& buffers, C condition, error_code& ec) {
  ec = error_code();
  std::size_t total = 0;
  const std::size_t size = buffer_size(buffers);
  for (;;) {
    const std::size_t more = bytes_wanted(condition, ec, total);
    if (ec || more == 0 || total == size) return total;
    total += write_part(stream, buffers, total, more, ec);
  }
}
/// One step: the buffer that byte `skip` lies in, at most `bytes_max` of it.
template <class Stream, mutable_buffer_sequence B>
std::size_t read_part(Stream& stream, const B& buffers, std::size_t skip, std::size_t bytes_max,
                      error_code& ec) {
  const auto end = buffer_sequence_end(buffers);
  for (auto at = buffer_sequence_begin(buffers); at != end; ++at) {
    const mutable_buffer part(*at);
    if (skip < part.size()) return stream.read_some(buffer(part + skip, bytes_max), ec);
    skip -= part.size();
  }
  return 0;
}
template <class Stream, const_buffer_sequence B>
std::size_t write_part(Stream& stream, const B& buffers, std::size_t skip, std::size_t bytes_max,
                       error_code& ec) {
  const auto end = buffer_sequence_end(buffers);
  for (auto at = buffer_sequence_begin(buffers); at != end; ++at) {
    const const_buffer part(*at);
    if (skip < part.size()) return stream.write_some(buffer(part + skip, bytes_max), ec);
    skip -= part.size();
  }
  return 0;
}
template <class Stream, mutable_buffer_sequence B>
std::size_t read(Stream& stream, const B& buffers, error_code& ec) {
  return read(stream, buffers, transfer_all(), ec);
}
template <class Stream, mutable_buffer_sequence B, completion_condition C = transfer_all>
std::size_t read(Stream& stream, const B& buffers, C condition = C()) {
  error_code ec;
  const std::size_t total = read(stream, buffers, static_cast<C&&>(condition), ec);
  if (ec) throw_error(ec, "read", total);
  return total;
}
template <class Stream, const_buffer_sequence B>
std::size_t write(Stream& stream, const B& buffers, error_code& ec) {
  return write(stream, buffers, transfer_all(), ec);
}
template <class Stream, const_buffer_sequence B, completion_condition C = transfer_all>
std::size_t write(Stream& stream, const B& buffers, C condition = C()) {
  error_code ec;
  const std::size_t total = write(stream, buffers, static_cast<C&&>(condition), ec);
  if (ec) throw_error(ec, "write", total);
  return total;
}

}  // namespace beck
