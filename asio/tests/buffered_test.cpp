// SPDX-License-Identifier: BSL-1.0
// Streams with buffers.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>

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
