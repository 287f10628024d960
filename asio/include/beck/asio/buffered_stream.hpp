// SPDX-License-Identifier: BSL-1.0
// Streams with a buffer for what was read ahead, or for what is to be written, or both.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include <beck/asio/buffer.hpp>
#include <beck/asio/compose.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/error.hpp>
#include <beck/asio/read_write.hpp>

BECK_ASIO_BEGIN

namespace facade {

/// Bytes in a block of a fixed size: they leave at the front, and come in behind the others.
class stream_buffer {
 public:
  explicit stream_buffer(std::size_t capacity) : block_(capacity) {}

  std::size_t size() const noexcept { return end_ - begin_; }
  const_buffer data() const noexcept { return const_buffer(block_.data() + begin_, size()); }
  void consume(std::size_t bytes) noexcept { begin_ += bytes; }
  /// Moves the bytes to the front. Returns the room behind them.
  mutable_buffer room() noexcept {
    if (begin_ != 0) std::memmove(block_.data(), block_.data() + begin_, size());
    end_ -= std::exchange(begin_, 0);
    return mutable_buffer(block_.data() + end_, block_.size() - end_);
  }
  void commit(std::size_t bytes) noexcept { end_ += bytes; }

 private:
  std::vector<char> block_;
  std::size_t begin_ = 0, end_ = 0;
};

/// The stream below another one, and what passes through to it. `Stream`: a class, or a reference.
template <class Stream>
class layer {
 public:
  using next_layer_type = std::remove_reference_t<Stream>;
  using lowest_layer_type = typename next_layer_type::lowest_layer_type;
  using executor_type = typename lowest_layer_type::executor_type;

  template <class Arg>
  explicit layer(Arg&& arg) : next_(static_cast<Arg&&>(arg)) {}

  next_layer_type& next_layer() noexcept { return next_; }
  lowest_layer_type& lowest_layer() noexcept { return next_.lowest_layer(); }
  const lowest_layer_type& lowest_layer() const noexcept { return next_.lowest_layer(); }
  executor_type get_executor() noexcept { return lowest_layer().get_executor(); }
  void close() { next_.close(); }
  beck::error_code close(beck::error_code& ec) {
    next_.close(ec);
    return ec;
  }

 protected:
  using default_token = beck::default_completion_token_t<executor_type>;

  /// Returns the result of a function that sets an error, or throws it.
  template <class Function>
  static std::size_t or_throw(const char* name, Function function) {
    beck::error_code ec;
    const std::size_t result = function(ec);
    if (ec) throw system_error(ec, name);
    return result;
  }

  Stream next_;
};

}  // namespace facade

/// A stream that reads more than it is asked for, and keeps the rest for the next read. Thread: as
/// the stream below; one read at a time.
template <class Stream>
class buffered_read_stream : public facade::layer<Stream> {
  using base = facade::layer<Stream>;
  using default_token = typename base::default_token;

 public:
  static constexpr std::size_t default_buffer_size = 1024;

  /// Makes the stream below from `arg`.
  template <class Arg>
  explicit buffered_read_stream(Arg&& arg, std::size_t buffer_size = default_buffer_size)
      : base(static_cast<Arg&&>(arg)), kept_(buffer_size) {}

  /// As those of the stream below.
  template <class Buffers, class... More>
  decltype(auto) write_some(const Buffers& buffers, More&&... more) {
    return this->next_.write_some(buffers, static_cast<More&&>(more)...);
  }
  template <class Buffers, class Token = default_token>
  auto async_write_some(const Buffers& buffers, Token&& token = Token()) {
    return this->next_.async_write_some(buffers, static_cast<Token&&>(token));
  }

  /// Reads once, behind what is kept. Returns the number of bytes.
  std::size_t fill(beck::error_code& ec) {
    const std::size_t bytes = this->next_.read_some(kept_.room(), ec);
    kept_.commit(bytes);
    return bytes;
  }
  std::size_t fill() {
    return base::or_throw("fill", [this](beck::error_code& ec) { return fill(ec); });
  }
  /// As fill(). `token` takes (error_code, std::size_t).
  template <class Token = default_token>
  auto async_fill(Token&& token = Token()) {
    return start(static_cast<Token&&>(token),
                 [](beck::error_code, std::size_t bytes) { return bytes; });
  }

  /// Returns bytes that are kept; if there are none, reads once.
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, beck::error_code& ec) {
    ec = beck::error_code();
    if (beck::buffer_size(buffers) == 0) return 0;
    if (kept_.size() == 0 && fill(ec) == 0) return 0;
    return take(buffers);
  }
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers) {
    return base::or_throw("read_some",
                          [&](beck::error_code& ec) { return read_some(buffers, ec); });
  }
  /// As read_some(). `token` takes (error_code, std::size_t).
  template <class Buffers, class Token = default_token>
  auto async_read_some(const Buffers& buffers, Token&& token = Token()) {
    const bool is_ready = kept_.size() != 0 || beck::buffer_size(buffers) == 0;
    return start(
        static_cast<Token&&>(token),
        [this, buffers](beck::error_code ec, std::size_t) { return ec ? 0 : take(buffers); },
        is_ready);
  }

  /// As read_some(), but keeps the bytes.
  template <class Buffers>
  std::size_t peek(const Buffers& buffers, beck::error_code& ec) {
    ec = beck::error_code();
    if (kept_.size() == 0 && fill(ec) == 0) return 0;
    return beck::buffer_copy(buffers, kept_.data());
  }
  template <class Buffers>
  std::size_t peek(const Buffers& buffers) {
    return base::or_throw("peek", [&](beck::error_code& ec) { return peek(buffers, ec); });
  }
  /// Returns the number of bytes that are kept.
  std::size_t in_avail(beck::error_code& ec) const noexcept {
    ec = beck::error_code();
    return kept_.size();
  }
  std::size_t in_avail() const noexcept { return kept_.size(); }

 private:
  template <class Buffers>
  std::size_t take(const Buffers& buffers) {
    const std::size_t bytes = beck::buffer_copy(buffers, kept_.data());
    kept_.consume(bytes);
    return bytes;
  }
  /// Fills, unless the operation is ready, and completes with what `result` makes of it.
  template <class Token, class Result>
  auto start(Token&& token, Result result, bool is_ready = false) {
    auto steps = [this, result, is_ready](auto& self, beck::error_code ec = {},
                                          std::size_t bytes = 0) mutable {
      if (is_ready) {
        kept_.commit(bytes);
        self.complete(ec, result(ec, bytes));
        return;
      }
      is_ready = true;
      self.reset_cancellation_state(enable_total_cancellation());
      this->next_.async_read_some(kept_.room(), std::move(self));
    };
    return BECK_ASIO::async_compose<Token, void(beck::error_code, std::size_t)>(std::move(steps),
                                                                                token, this->next_);
  }

  facade::stream_buffer kept_;
};

/// A stream that keeps what is written until there is more than fits, or until flush(). Thread: as
/// the stream below; one write or flush at a time.
template <class Stream>
class buffered_write_stream : public facade::layer<Stream> {
  using base = facade::layer<Stream>;
  using default_token = typename base::default_token;

 public:
  static constexpr std::size_t default_buffer_size = 1024;

  /// Makes the stream below from `arg`.
  template <class Arg>
  explicit buffered_write_stream(Arg&& arg, std::size_t buffer_size = default_buffer_size)
      : base(static_cast<Arg&&>(arg)), kept_(buffer_size) {}

  /// Writes all that is kept. Returns the number of bytes.
  std::size_t flush(beck::error_code& ec) {
    ec = beck::error_code();
    std::size_t written = 0;
    while (!ec && kept_.size() != 0) {
      const std::size_t bytes = this->next_.write_some(kept_.data(), ec);
      kept_.consume(bytes);
      written += bytes;
    }
    return written;
  }
  std::size_t flush() {
    return base::or_throw("flush", [this](beck::error_code& ec) { return flush(ec); });
  }
  /// As flush(). `token` takes (error_code, std::size_t).
  template <class Token = default_token>
  auto async_flush(Token&& token = Token()) {
    return start(
        static_cast<Token&&>(token), [](beck::error_code, std::size_t bytes) { return bytes; },
        kept_.size() == 0);
  }

  /// Keeps as many bytes as there is room for; flushes first if there is none. Returns their
  /// number.
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers, beck::error_code& ec) {
    ec = beck::error_code();
    if (beck::buffer_size(buffers) == 0) return 0;
    if (kept_.room().size() == 0) flush(ec);
    return ec ? 0 : keep(buffers);
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers) {
    return base::or_throw("write_some",
                          [&](beck::error_code& ec) { return write_some(buffers, ec); });
  }
  /// As write_some(). `token` takes (error_code, std::size_t).
  template <class Buffers, class Token = default_token>
  auto async_write_some(const Buffers& buffers, Token&& token = Token()) {
    const bool has_room = kept_.room().size() != 0 || beck::buffer_size(buffers) == 0;
    return start(
        static_cast<Token&&>(token),
        [this, buffers](beck::error_code ec, std::size_t) { return ec ? 0 : keep(buffers); },
        has_room);
  }

  /// As those of the stream below.
  template <class Buffers, class... More>
  decltype(auto) read_some(const Buffers& buffers, More&&... more) {
    return this->next_.read_some(buffers, static_cast<More&&>(more)...);
  }
  template <class Buffers, class Token = default_token>
  auto async_read_some(const Buffers& buffers, Token&& token = Token()) {
    return this->next_.async_read_some(buffers, static_cast<Token&&>(token));
  }
  template <class Buffers, class... More>
  std::size_t peek(const Buffers& buffers, More&&... more) {
    return this->next_.peek(buffers, static_cast<More&&>(more)...);
  }
  template <class... More>
  std::size_t in_avail(More&&... more) {
    return this->next_.in_avail(static_cast<More&&>(more)...);
  }

 private:
  template <class Buffers>
  std::size_t keep(const Buffers& buffers) {
    const std::size_t bytes = beck::buffer_copy(kept_.room(), buffers);
    kept_.commit(bytes);
    return bytes;
  }
  /// Writes all that is kept, unless the operation is ready, and completes with what `result` makes
  /// of it.
  template <class Token, class Result>
  auto start(Token&& token, Result result, bool is_ready) {
    auto steps = [this, result, is_ready](auto& self, beck::error_code ec = {},
                                          std::size_t bytes = 0) mutable {
      if (is_ready) {
        kept_.consume(bytes);
        self.complete(ec, result(ec, bytes));
        return;
      }
      is_ready = true;
      self.reset_cancellation_state(enable_total_cancellation());
      BECK_ASIO::async_write(this->next_, kept_.data(), std::move(self));
    };
    return BECK_ASIO::async_compose<Token, void(beck::error_code, std::size_t)>(std::move(steps),
                                                                                token, this->next_);
  }

  facade::stream_buffer kept_;
};

/// A stream with a buffer in each direction.
template <class Stream>
class buffered_stream : public buffered_read_stream<buffered_write_stream<Stream>> {
  using base = buffered_read_stream<buffered_write_stream<Stream>>;
  using default_token = beck::default_completion_token_t<typename base::executor_type>;

 public:
  using next_layer_type = std::remove_reference_t<Stream>;

  /// Makes the stream below from `arg`.
  template <class Arg>
  explicit buffered_stream(Arg&& arg) : base(static_cast<Arg&&>(arg)) {}
  /// As above, with the sizes of the buffers.
  template <class Arg>
  explicit buffered_stream(Arg&& arg, std::size_t read_size, std::size_t write_size)
      : base(buffered_write_stream<Stream>(static_cast<Arg&&>(arg), write_size), read_size) {}

  next_layer_type& next_layer() noexcept { return this->next_.next_layer(); }
  /// As buffered_write_stream::flush().
  std::size_t flush() { return this->next_.flush(); }
  std::size_t flush(beck::error_code& ec) { return this->next_.flush(ec); }
  template <class Token = default_token>
  auto async_flush(Token&& token = Token()) {
    return this->next_.async_flush(static_cast<Token&&>(token));
  }
};

namespace facade {

template <class T>
std::true_type reads_ahead(const buffered_read_stream<T>*);
std::false_type reads_ahead(const void*);
template <class T>
std::true_type writes_behind(const buffered_write_stream<T>*);
template <class T>
std::true_type writes_behind(const buffered_stream<T>*);
std::false_type writes_behind(const void*);

}  // namespace facade

/// Whether a stream keeps what it has read ahead.
template <class Stream>
struct is_read_buffered
    : decltype(facade::reads_ahead(static_cast<std::remove_cvref_t<Stream>*>(nullptr))){};
/// Whether a stream keeps what was written.
template <class Stream>
struct is_write_buffered
    : decltype(facade::writes_behind(static_cast<std::remove_cvref_t<Stream>*>(nullptr))){};

BECK_ASIO_END
