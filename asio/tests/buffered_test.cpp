// SPDX-License-Identifier: BSL-1.0
// Streams with buffers.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <asio.hpp>
#include <asio/buffered_stream.hpp>
#include <asio/is_read_buffered.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace buffered_test {

using asio::error_code;
using local = asio::local::stream_protocol;

/// Two connected sockets, of which the second one has buffers of 8 and 4 bytes.
struct buffered_pair {
  asio::io_context context{context_options()};
  local::socket a{context};
  local::socket below{context};
  asio::buffered_stream<local::socket&> b{below, 8, 4};

  buffered_pair() { asio::local::connect_pair(a, below); }
  /// Writes to the plain socket.
  void send(std::string_view text) { asio::write(a, asio::buffer(text)); }
  /// Returns what the plain socket has received.
  std::string received() {
    std::string text(a.available(), '\0');
    asio::read(a, asio::buffer(text));
    return text;
  }
  /// Runs what was started.
  void run() {
    context.restart();
    context.run();
  }
};

}  // namespace buffered_test
using namespace buffered_test;

CONFORMANCE("asio: a buffered stream reads ahead as much as its buffer holds") {
  buffered_pair pair;
  pair.send("abcdefghij");
  std::array<char, 3> to{};
  CHECK(pair.b.read_some(asio::buffer(to)) == 3);
  CHECK(std::string_view(to.data(), 3) == "abc");
  CHECK(pair.b.in_avail() == 5);
  CHECK(pair.below.available() == 2);
  CHECK(pair.b.peek(asio::buffer(to)) == 3);
  CHECK(std::string_view(to.data(), 3) == "def");
  CHECK(pair.b.in_avail() == 5);
  CHECK(pair.b.fill() == 2);  // behind what is kept
  std::array<char, 8> all{};
  CHECK(pair.b.read_some(asio::buffer(all)) == 7);
  CHECK(std::string_view(all.data(), 7) == "defghij");
  pair.a.close();
  error_code ec;
  CHECK(pair.b.read_some(asio::buffer(to), ec) == 0);
  CHECK(ec == asio::error::eof);
  CHECK_THROWS_AS(pair.b.read_some(asio::buffer(to)), asio::system_error);
}

CONFORMANCE("asio: asynchronous reads of a buffered stream, with and without bytes ahead") {
  buffered_pair pair;
  pair.send("abcd");
  std::array<char, 2> to{};
  std::string said;
  const auto say = [&](error_code ec, std::size_t bytes) {
    said += ec ? ec == asio::error::eof ? "eof" : ec.message() : std::string(to.data(), bytes);
  };
  pair.b.async_read_some(asio::buffer(to), say);
  CHECK(said.empty());
  pair.run();
  pair.b.async_read_some(asio::buffer(to), say);
  CHECK(said == "ab");  // not inside of the initiating function
  pair.run();
  CHECK(said == "abcd");
  pair.a.close();
  pair.b.async_fill(say);
  pair.run();
  CHECK(said == "abcdeof");
}

CONFORMANCE("asio: a buffered stream writes when there is more than fits, or at a flush") {
  buffered_pair pair;
  CHECK(pair.b.write_some(asio::buffer(std::string_view("abcdef"))) == 4);
  CHECK(pair.a.available() == 0);
  CHECK(pair.b.write_some(asio::buffer(std::string_view("ef"))) == 2);
  CHECK(pair.received() == "abcd");
  CHECK(pair.b.flush() == 2);
  CHECK(pair.received() == "ef");
  CHECK(pair.b.flush() == 0);
  std::size_t written = 0;
  asio::async_write(pair.b, asio::buffer(std::string_view("123456")),
                    [&](error_code, std::size_t bytes) { written = bytes; });
  pair.run();
  CHECK(written == 6);
  CHECK(pair.received() == "1234");
  pair.b.async_flush([&](error_code, std::size_t bytes) { written = bytes; });
  pair.run();
  CHECK(written == 2);
  CHECK(pair.received() == "56");
  pair.b.write_some(asio::buffer(std::string_view("x")));
  pair.a.close();
  error_code ec;
  pair.b.flush(ec);
  CHECK(ec == asio::error::broken_pipe);
  pair.b.async_flush([&](error_code e, std::size_t bytes) { ec = e, written = bytes; });
  pair.run();
  CHECK(ec == asio::error::broken_pipe);
  CHECK(written == 0);
}

CONFORMANCE("asio: the layers of a buffered stream, and traits that tell them") {
  buffered_pair pair;
  CHECK(&pair.b.next_layer() == &pair.below);
  CHECK(&pair.b.lowest_layer() == &pair.below);
  CHECK(pair.b.get_executor() == pair.below.get_executor());
  pair.b.close();
  CHECK(!pair.below.is_open());
  using reading = asio::buffered_read_stream<local::socket>;
  using writing = asio::buffered_write_stream<local::socket>;
  using both = asio::buffered_stream<local::socket>;
  static_assert(asio::is_read_buffered<reading>::value && asio::is_read_buffered<both>::value);
  static_assert(!asio::is_read_buffered<writing>::value);
  static_assert(asio::is_write_buffered<writing>::value && asio::is_write_buffered<both>::value);
  static_assert(!asio::is_write_buffered<reading>::value);
}

namespace buffered_test {

/// A stream below that moves three bytes at a time, and whose writes fail after `room` bytes.
class slow_stream {
 public:
  using lowest_layer_type = slow_stream;
  using executor_type = asio::any_io_executor;

  explicit slow_stream(executor_type executor) : executor_(std::move(executor)) {}
  slow_stream& lowest_layer() { return *this; }
  executor_type get_executor() const noexcept { return executor_; }
  std::size_t write_some(asio::const_buffer from, error_code& ec) {
    ++calls;
    const std::size_t bytes = std::min({from.size(), std::size_t{3}, room});
    written.append(static_cast<const char*>(from.data()), bytes);
    room -= bytes;
    ec = error_code();
    if (bytes == 0 && from.size() != 0) ec = asio::error::broken_pipe;
    return bytes;
  }
  std::size_t read_some(asio::mutable_buffer to, error_code& ec) {
    ++calls;
    const std::size_t bytes = asio::buffer_copy(to, asio::buffer(to_read), 3);
    to_read.erase(0, bytes);
    ec = error_code();
    if (bytes == 0 && to.size() != 0) ec = asio::error::eof;
    return bytes;
  }
  template <class Token>
  auto async_write_some(asio::const_buffer from, Token&& token) {
    error_code ec;
    const std::size_t bytes = write_some(from, ec);
    return posted(std::forward<Token>(token), ec, bytes);
  }
  template <class Token>
  auto async_read_some(asio::mutable_buffer to, Token&& token) {
    error_code ec;
    const std::size_t bytes = read_some(to, ec);
    return posted(std::forward<Token>(token), ec, bytes);
  }

  std::string to_read, written;
  std::size_t room = 1000;
  int calls = 0;

 private:
  template <class Token>
  auto posted(Token&& token, error_code ec, std::size_t bytes) {
    return asio::async_initiate<Token, void(error_code, std::size_t)>(
        [this](auto handler, error_code e, std::size_t n) {
          asio::post(executor_, [h = std::move(handler), e, n]() mutable { std::move(h)(e, n); });
        },
        token, ec, bytes);
  }
  executor_type executor_;
};

/// Writes eight bytes into a buffer of eight bytes.
void fill_up(asio::buffered_stream<slow_stream&>& stream) {
  CHECK(stream.write_some(asio::buffer(std::string_view("abcdefgh"))) == 8);
}

}  // namespace buffered_test

CONFORMANCE("asio: a flush writes on after partial writes, and says how much before an error") {
  asio::io_context context(context_options());
  slow_stream below(context.get_executor());
  asio::buffered_stream<slow_stream&> stream(below, 8, 8);
  error_code ec;
  std::size_t bytes = 0;
  const auto keep = [&](error_code e, std::size_t n) { ec = e, bytes = n; };
  const auto run = [&context] {
    context.restart();
    context.run();
  };
  fill_up(stream);
  CHECK(stream.flush() == 8);
  CHECK(below.written == "abcdefgh");
  fill_up(stream);
  stream.async_flush(keep);
  run();
  CHECK(bytes == 8);
  CHECK(below.written == "abcdefghabcdefgh");
  // The second write fails.
  below.written.clear();
  below.room = 4;
  fill_up(stream);
  CHECK(stream.flush(ec) == 4);
  CHECK(ec == asio::error::broken_pipe);
  below.room = 2;
  stream.async_flush(keep);
  run();
  CHECK(ec == asio::error::broken_pipe);
  CHECK(bytes == 2);
  below.room = 1000;
  CHECK(stream.flush(ec) == 2);
  CHECK(below.written == "abcdefgh");
  // A write that flushes keeps nothing after an error.
  fill_up(stream);
  below.room = 4;
  stream.async_write_some(asio::buffer(std::string_view("xyz")), keep);
  run();
  CHECK(ec == asio::error::broken_pipe);
  CHECK(bytes == 0);
  CHECK_THROWS_AS(stream.flush(), asio::system_error);
  below.room = 1000;
  CHECK(stream.flush() == 4);
  CHECK(below.written == "abcdefghabcdefgh");
}

CONFORMANCE("asio: a buffered stream transfers nothing below for an empty buffer") {
  asio::io_context context(context_options());
  slow_stream below(context.get_executor());
  asio::buffered_stream<slow_stream&> stream(below, 8, 8);
  error_code ec = asio::error::eof;
  std::size_t bytes = 1;
  const auto keep = [&](error_code e, std::size_t n) { ec = e, bytes = n; };
  below.to_read = "abcdef";
  CHECK(stream.read_some(asio::mutable_buffer(), ec) == 0);
  CHECK(!ec);
  stream.async_read_some(asio::mutable_buffer(), keep);
  context.run();
  CHECK(!ec);
  CHECK(bytes == 0);
  CHECK(below.to_read == "abcdef");
  fill_up(stream);
  CHECK(stream.write_some(asio::const_buffer(), ec) == 0);
  stream.async_write_some(asio::const_buffer(), keep);
  context.restart();
  context.run();
  CHECK(below.written.empty());
  // A peek fills.
  std::array<char, 8> to{};
  CHECK(stream.peek(asio::buffer(to)) == 3);
  CHECK(stream.in_avail() == 3);
  CHECK(stream.fill() == 3);
  CHECK(stream.read_some(asio::buffer(to)) == 6);
  // At the end an asynchronous read leaves the buffer alone.
  to.fill('-');
  stream.async_read_some(asio::buffer(to), keep);
  context.restart();
  context.run();
  CHECK(ec == asio::error::eof);
  CHECK(bytes == 0);
  CHECK(to[0] == '-');
  CHECK_THROWS_AS(stream.peek(asio::buffer(to)), asio::system_error);
  CHECK_THROWS_AS(stream.fill(), asio::system_error);
}

CONFORMANCE("asio: requests reach the operations of the stream below a buffered stream") {
  using enum asio::cancellation_type;
  for (const asio::cancellation_type type : {terminal, partial, total}) {
    buffered_pair pair;
    asio::cancellation_signal signal;
    std::array<char, 3> to{};
    int ended = 0;
    const auto count = asio::bind_cancellation_slot(signal.slot(), [&](error_code ec, std::size_t) {
      ended += ec == asio::error::operation_aborted;
    });
    pair.b.async_read_some(asio::buffer(to), count);
    signal.emit(type);
    pair.run();
    CHECK(ended == 1);
    pair.b.async_fill(count);
    signal.emit(type);
    pair.run();
    CHECK(ended == 2);
  }
}

CONFORMANCE("asio: a buffered stream starts with the default token of the stream below") {
  using token_socket = asio::use_awaitable_t<>::as_default_on_t<local::socket>;
  asio::io_context context(context_options());
  local::socket peer(context);
  local::socket plain(context);
  asio::local::connect_pair(peer, plain);
  asio::buffered_stream<token_socket> stream(std::move(plain));
  std::array<char, 3> to{};
  std::size_t bytes = 0;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        bytes += co_await stream.async_write_some(asio::buffer(std::string_view("abc")));
        bytes += co_await stream.async_flush();
        bytes += peer.read_some(asio::buffer(to));
        peer.write_some(asio::buffer(to));
        bytes += co_await stream.async_fill();
        bytes += co_await stream.async_read_some(asio::buffer(to));
      },
      asio::detached);
  context.run();
  CHECK(bytes == 15);
}
