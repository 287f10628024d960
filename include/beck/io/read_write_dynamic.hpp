// SPDX-License-Identifier: BSL-1.0
// read, write and their asynchronous forms with a growing buffer, over every kind of stream: reads
// append to the buffer, writes remove from its front.
#pragma once

#include <beck/io/generic_stream.hpp>

namespace beck {

namespace detail {

/// The steps of async_read into a growing buffer.
template <class Stream, class Condition>
class fill_steps {
 public:
  fill_steps(Stream& stream, const dynamic_buffer_ref& buffer, Condition condition)
      : stream_(&stream), buffer_(buffer), condition_(static_cast<Condition&&>(condition)) {}

  template <class Self>
  void operator()(Self& self) {
    go_on(self);
  }
  template <class Self>
  void operator()(Self& self, const error_code& ec, std::size_t bytes) {
    buffer_.shrink(space_.size() - bytes);
    total_ += bytes;
    if (ec || bytes == 0) {
      static_cast<void>(
          detail::bytes_wanted(condition_, ec, total_));  // conditions may count errors
      self.complete(ec, total_);
    } else {
      go_on(self);
    }
  }

 private:
  template <class Self>
  void go_on(Self& self) {
    const std::size_t more = detail::bytes_wanted(condition_, error_code(), total_);
    const int refused =
        more == 0 ? delimiter_not_found_result : make_receive_room(buffer_, space_, more);
    if (refused != 0) {
      self.complete(refused == delimiter_not_found_result ? error_code() : make_error(refused),
                    total_);
      return;
    }
    Stream& stream = *stream_;  // `self` takes this object with it
    stream.async_read_some(mutable_buffer(space_), static_cast<Self&&>(self));
  }

  Stream* stream_;
  dynamic_buffer_ref buffer_;
  Condition condition_;
  mutable_buffer space_;
  std::size_t total_ = 0;
};

/// The steps of async_write from a growing buffer.
template <class Stream, class Condition>
class drain_steps {
 public:
  drain_steps(Stream& stream, const dynamic_buffer_ref& buffer, Condition condition)
      : stream_(&stream), buffer_(buffer), condition_(static_cast<Condition&&>(condition)) {}

  template <class Self>
  void operator()(Self& self) {
    const const_buffer all = buffer_.data();
    Stream& stream = *stream_;  // `self` takes this object with it
    beck::async_write(stream, all, static_cast<Condition&&>(condition_), static_cast<Self&&>(self));
  }
  template <class Self>
  void operator()(Self& self, const error_code& ec, std::size_t bytes) {
    buffer_.consume(bytes);
    self.complete(ec, bytes);
  }

 private:
  Stream* stream_;
  dynamic_buffer_ref buffer_;
  Condition condition_;
};

}  // namespace detail

/// Reads until `condition` is met, the stream ends (eof) or `buffer` reaches its max_size(), and
/// appends to `buffer`. Completes with (error_code, std::size_t): the number of bytes read, also
/// with an error. Without a condition and without a limit of the buffer it ends with eof. Errors:
/// no_memory; those of async_read_some().
/// Requires that the stream and the container live until completion. Cancellation: as
/// async_read_some(); bytes that were read stay in the buffer.
template <async_read_stream S, detail::completion_condition C,
          class Token = detail::default_token_of<S>>
auto async_read(S& stream, const dynamic_buffer_ref& buffer, C condition, Token&& token = Token()) {
  return beck::async_compose<Token, void(error_code, std::size_t)>(
      detail::fill_steps<S, C>(stream, buffer, static_cast<C&&>(condition)), token, stream);
}
/// As above, without a condition.
template <async_read_stream S, class Token = detail::default_token_of<S>>
  requires(!detail::completion_condition<std::decay_t<Token>>)
auto async_read(S& stream, const dynamic_buffer_ref& buffer, Token&& token = Token()) {
  return beck::async_read(stream, buffer, transfer_all(), static_cast<Token&&>(token));
}

/// Writes the content of `buffer` until `condition` is met, as async_write(), and removes the bytes
/// that were written from its front. Requires that the stream and the container live until
/// completion.
template <async_write_stream S, detail::completion_condition C,
          class Token = detail::default_token_of<S>>
auto async_write(S& stream, const dynamic_buffer_ref& buffer, C condition,
                 Token&& token = Token()) {
  return beck::async_compose<Token, void(error_code, std::size_t)>(
      detail::drain_steps<S, C>(stream, buffer, static_cast<C&&>(condition)), token, stream);
}
/// As above, without a condition: writes everything.
template <async_write_stream S, class Token = detail::default_token_of<S>>
  requires(!detail::completion_condition<std::decay_t<Token>>)
auto async_write(S& stream, const dynamic_buffer_ref& buffer, Token&& token = Token()) {
  return beck::async_write(stream, buffer, transfer_all(), static_cast<Token&&>(token));
}

/// Reads from any stream with read_some() until `condition` is met, a step fails or moves nothing,
/// or `buffer` reaches its max_size(), and appends to `buffer`. Blocks. Returns the number of bytes
/// read, also with an error.
template <detail::sync_read_stream S, detail::completion_condition C>
std::size_t read(S& stream, const dynamic_buffer_ref& buffer, C condition, error_code& ec) {
  ec = error_code();
  std::size_t total = 0;
  for (;;) {
    const std::size_t more = detail::bytes_wanted(condition, ec, total);
    if (ec || more == 0) return total;
    mutable_buffer space;
    const int refused = detail::make_receive_room(buffer, space, more);
    if (refused == detail::delimiter_not_found_result) return total;
    ec = detail::make_error(refused);
    if (ec) return total;
    const std::size_t moved = stream.read_some(space, ec);
    buffer.shrink(space.size() - moved);
    total += moved;
    if (moved == 0 && !ec) return total;
  }
}
/// As above, without a condition.
template <detail::sync_read_stream S>
std::size_t read(S& stream, const dynamic_buffer_ref& buffer, error_code& ec) {
  return beck::read(stream, buffer, transfer_all(), ec);
}
/// As above, and throws io_error on failure, with the number of bytes read as transferred().
template <detail::sync_read_stream S, detail::completion_condition C = transfer_all>
std::size_t read(S& stream, const dynamic_buffer_ref& buffer, C condition = C()) {
  error_code ec;
  const std::size_t total = beck::read(stream, buffer, static_cast<C&&>(condition), ec);
  if (ec) detail::throw_error(ec, "read", total);
  return total;
}
/// Writes the content of `buffer` until `condition` is met, as write(), and removes the bytes that
/// were written from its front. Blocks. Returns their number, also with an error.
template <class S, detail::completion_condition C>
std::size_t write(S& stream, const dynamic_buffer_ref& buffer, C condition, error_code& ec) {
  const std::size_t total =
      beck::write(stream, const_buffer(buffer.data()), static_cast<C&&>(condition), ec);
  buffer.consume(total);
  return total;
}
/// As above, without a condition: writes everything.
template <class S>
std::size_t write(S& stream, const dynamic_buffer_ref& buffer, error_code& ec) {
  return beck::write(stream, buffer, transfer_all(), ec);
}
/// As above, and throws io_error on failure, with the number of bytes written as transferred().
template <class S, detail::completion_condition C = transfer_all>
std::size_t write(S& stream, const dynamic_buffer_ref& buffer, C condition = C()) {
  error_code ec;
  const std::size_t total = beck::write(stream, buffer, static_cast<C&&>(condition), ec);
  if (ec) detail::throw_error(ec, "write", total);
  return total;
}

}  // namespace beck
