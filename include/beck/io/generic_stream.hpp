// SPDX-License-Identifier: BSL-1.0
// async_read, async_write and async_read_until for streams of users: any class with async_read_some
// or async_write_some and an executor. The library's own streams have faster overloads
// (io/read_write.hpp, io/read_until.hpp); the overloads here do not take them.
#pragma once

#include <beck/detail/functions.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/read_write.hpp>
#include <beck/run/compose.hpp>
#include <beck/run/default_completion_token.hpp>
#include <string_view>

namespace beck {

/// A stream that can be read: `async_read_some(mutable_buffer, token)` for void(error_code,
/// std::size_t), which moves at least one byte or fails, and `get_executor()`.
template <class S>
concept async_read_stream =
    detail::has_executor<S> &&
    requires(S& stream, const mutable_buffer& buffer) { stream.async_read_some(buffer, deferred); };
/// A stream that can be written: `async_write_some(const_buffer, token)` for void(error_code,
/// std::size_t), which moves at least one byte or fails, and `get_executor()`.
template <class S>
concept async_write_stream =
    detail::has_executor<S> &&
    requires(S& stream, const const_buffer& buffer) { stream.async_write_some(buffer, deferred); };

namespace detail {

/// Streams that the overloads for stream_object do not take.
template <class S>
concept foreign_read_stream = !std::is_base_of_v<stream_object, S> && async_read_stream<S>;
template <class S>
concept foreign_write_stream = !std::is_base_of_v<stream_object, S> && async_write_stream<S>;

/// Of them, those that take several buffers at once.
template <class S, class Buffer>
concept takes_parts = (std::is_same_v<Buffer, mutable_buffer> &&
                       requires(S& stream, const buffer_parts<mutable_buffer>& parts) {
                         stream.async_read_some(parts, deferred);
                       }) ||
                      (std::is_same_v<Buffer, const_buffer> &&
                       requires(S& stream, const buffer_parts<const_buffer>& parts) {
                         stream.async_write_some(parts, deferred);
                       });

/// The steps of async_read and async_write: up to 16 buffers at a time, or one if the stream takes
/// no sequences, until the condition has enough, the buffers are used up, or a step reports an
/// error or moves nothing.
template <class Stream, class Buffer, class Buffers, class Condition>
class transfer_steps {
 public:
  transfer_steps(Stream& stream, const Buffers& buffers, Condition condition)
      : stream_(&stream), buffers_(buffers), condition_(static_cast<Condition&&>(condition)) {}

  template <class Self>
  void operator()(Self& self) {
    go_on(self, error_code());
  }
  template <class Self>
  void operator()(Self& self, const error_code& ec, std::size_t bytes) {
    total_ += bytes;
    if (ec || bytes == 0) {
      static_cast<void>(
          detail::bytes_wanted(condition_, ec, total_));  // conditions may count errors
      self.complete(ec, total_);
    } else {
      go_on(self, ec);
    }
  }

 private:
  template <class Self>
  void go_on(Self& self, const error_code& ec) {
    const std::size_t more = detail::bytes_wanted(condition_, ec, total_);
    const Buffer part = detail::part_of<Buffer>(buffers_.get(), total_, more);
    if (part.size() == 0) {
      self.complete(ec, total_);
    } else if constexpr (!single_buffer<Buffers> && takes_parts<Stream, Buffer>) {
      step(self, buffer_parts<Buffer>(buffers_.get(), total_, more));
    } else {
      step(self, part);
    }
  }

  template <class Self, class Parts>
  void step(Self& self, const Parts& parts) {
    Stream& stream = *stream_;  // `self` takes this object with it
    if constexpr (std::is_same_v<Buffer, mutable_buffer>) {
      stream.async_read_some(parts, static_cast<Self&&>(self));
    } else {
      stream.async_write_some(parts, static_cast<Self&&>(self));
    }
  }

  Stream* stream_;
  kept_sequence<Buffers> buffers_;  // which may be a plain array
  Condition condition_;
  std::size_t total_ = 0;
};

}  // namespace detail

/// Receives from a stream of the user until `condition` is met, the buffers are full, or a step
/// fails or moves nothing. Completes with (error_code, std::size_t): the number of bytes received,
/// also with an error. Requires that the stream outlives the operation, and that the caller orders
/// several operations on one direction.
template <detail::foreign_read_stream S, mutable_buffer_sequence B, detail::completion_condition C,
          class Token = detail::default_token_of<S>>
auto async_read(S& stream, const B& buffers, C condition, Token&& token = Token()) {
  using steps = detail::transfer_steps<S, mutable_buffer, B, C>;
  return beck::async_compose<Token, void(error_code, std::size_t)>(
      steps(stream, buffers, static_cast<C&&>(condition)), token, stream);
}
/// As above, until the buffers are full.
template <detail::foreign_read_stream S, mutable_buffer_sequence B,
          class Token = detail::default_token_of<S>>
  requires(!detail::completion_condition<std::decay_t<Token>>)
auto async_read(S& stream, const B& buffers, Token&& token = Token()) {
  return beck::async_read(stream, buffers, transfer_all(), static_cast<Token&&>(token));
}
/// Sends to a stream of the user until `condition` is met, all is sent, or a step fails or moves
/// nothing. Completes with (error_code, std::size_t): the number of bytes sent, also with an error.
/// Requires that the stream outlives the operation, and that the caller orders several operations
/// on one direction.
template <detail::foreign_write_stream S, const_buffer_sequence B, detail::completion_condition C,
          class Token = detail::default_token_of<S>>
auto async_write(S& stream, const B& buffers, C condition, Token&& token = Token()) {
  using steps = detail::transfer_steps<S, const_buffer, B, C>;
  return beck::async_compose<Token, void(error_code, std::size_t)>(
      steps(stream, buffers, static_cast<C&&>(condition)), token, stream);
}
/// As above, until all is sent.
template <detail::foreign_write_stream S, const_buffer_sequence B,
          class Token = detail::default_token_of<S>>
  requires(!detail::completion_condition<std::decay_t<Token>>)
auto async_write(S& stream, const B& buffers, Token&& token = Token()) {
  return beck::async_write(stream, buffers, transfer_all(), static_cast<Token&&>(token));
}

namespace detail {

/// The steps of async_read_until.
template <class Stream, class Match>
class read_until_steps {
 public:
  read_until_steps(Stream& stream, const dynamic_buffer_ref& buffer, Match match)
      : stream_(&stream), buffer_(buffer), match_(static_cast<Match&&>(match)) {}

  template <class Self>
  void operator()(Self& self) {
    search(self);
  }
  template <class Self>
  void operator()(Self& self, const error_code& ec, std::size_t bytes) {
    buffer_.shrink(space_.size() - bytes);
    if (ec || bytes == 0) {
      self.complete(ec ? ec : error_code(error::eof), 0);
    } else {
      search(self);
    }
  }

 private:
  template <class Self>
  void search(Self& self) {
    const detail::match_outcome outcome = match_(buffer_.view(), from_);
    if (outcome.matched()) {
      self.complete(error_code(), outcome.position());
      return;
    }
    from_ = outcome.position();
    if (const int refused = detail::make_receive_room(buffer_, space_); refused != 0) {
      self.complete(detail::make_error(refused), 0);
      return;
    }
    Stream& stream = *stream_;  // `self` takes this object with it
    stream.async_read_some(mutable_buffer(space_), static_cast<Self&&>(self));
  }

  Stream* stream_;
  dynamic_buffer_ref buffer_;
  Match match_;
  mutable_buffer space_;
  std::size_t from_ = 0;
};

}  // namespace detail

/// Receives from a stream of the user into `buffer` until it contains `delimiter`. Result and
/// errors as async_read_until() of io/read_until.hpp; eof also if a step moves nothing. Requires
/// that the stream and the container outlive the operation.
template <detail::foreign_read_stream S, class Token = detail::default_token_of<S>>
auto async_read_until(S& stream, const dynamic_buffer_ref& buffer, std::string_view delimiter,
                      Token&& token = Token()) {
  return beck::async_compose<Token, void(error_code, std::size_t)>(
      detail::read_until_steps(stream, buffer, detail::delimiter_match(delimiter)), token, stream);
}
/// As above, until a single character.
template <detail::foreign_read_stream S, class Token = detail::default_token_of<S>>
auto async_read_until(S& stream, const dynamic_buffer_ref& buffer, char delimiter,
                      Token&& token = Token()) {
  return beck::async_compose<Token, void(error_code, std::size_t)>(
      detail::read_until_steps(stream, buffer, detail::delimiter_match(delimiter)), token, stream);
}
/// As above, until a match condition is met.
template <detail::foreign_read_stream S, detail::match_condition C,
          class Token = detail::default_token_of<S>>
auto async_read_until(S& stream, const dynamic_buffer_ref& buffer, C condition,
                      Token&& token = Token()) {
  using match = detail::condition_match<C>;
  return beck::async_compose<Token, void(error_code, std::size_t)>(
      detail::read_until_steps(stream, buffer, match(static_cast<C&&>(condition))), token, stream);
}

namespace functions {

/// Calls the stream's member async_read_some().
template <async_read_stream S, mutable_buffer_sequence B, class Token = detail::default_token_of<S>>
auto async_read_some(S& stream, const B& buffers, Token&& token = Token()) {
  return stream.async_read_some(buffers, static_cast<Token&&>(token));
}
/// Calls the stream's member async_write_some().
template <async_write_stream S, const_buffer_sequence B, class Token = detail::default_token_of<S>>
auto async_write_some(S& stream, const B& buffers, Token&& token = Token()) {
  return stream.async_write_some(buffers, static_cast<Token&&>(token));
}
/// Calls the acceptor's member async_accept().
template <class Acceptor, class... Args>
  requires requires(Acceptor& acceptor, Args&&... args) {
    acceptor.async_accept(static_cast<Args&&>(args)...);
  }
auto async_accept(Acceptor& acceptor, Args&&... args) {
  return acceptor.async_accept(static_cast<Args&&>(args)...);
}

}  // namespace functions

}  // namespace beck
