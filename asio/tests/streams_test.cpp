// SPDX-License-Identifier: BSL-1.0
// Streams of the standard library over the facade: streambuf as a growing buffer, iterators over
// sequences of buffers, and sockets as iostreams.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <istream>
#include <iterator>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <asio.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace {

using asio::ip::tcp;

std::string text_of(const asio::streambuf& of) {
  return std::string(asio::buffers_begin(of.data()), asio::buffers_end(of.data()));
}

/// Ends behind the first digit.
using byte_iterator = asio::buffers_iterator<asio::streambuf::const_buffers_type>;
std::pair<byte_iterator, bool> match_digit(byte_iterator begin, byte_iterator end) {
  for (; begin != end; ++begin) {
    if (*begin >= '0' && *begin <= '9') return {begin + 1, true};
  }
  return {begin, false};
}

/// A condition in the form of a class, as programs declare it.
class match_char {
 public:
  explicit match_char(char c) : c_(c) {}
  template <class Iterator>
  std::pair<Iterator, bool> operator()(Iterator begin, Iterator end) const {
    const Iterator at = std::find(begin, end, c_);
    return at == end ? std::pair(at, false) : std::pair(std::next(at), true);
  }

 private:
  char c_;
};

/// Two connected sockets of a context.
struct connection {
  explicit connection(asio::io_context& context) : client(context), server(context) {
    tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    client.connect(acceptor.local_endpoint());
    acceptor.accept(server);
  }
  tcp::socket client;
  tcp::socket server;
};

}  // namespace

namespace asio {
template <>
struct is_match_condition<match_char> : std::true_type {};
}  // namespace asio

TEST_CASE("a streambuf is written at its back and read from its front") {
  asio::streambuf buffer;
  std::ostream out(&buffer);
  out << "one " << 2 << " three";
  CHECK(buffer.size() == 11);
  std::istream in(&buffer);
  std::string word;
  in >> word;
  CHECK(word == "one");
  CHECK(text_of(buffer) == " 2 three");
  buffer.consume(3);
  CHECK(text_of(buffer) == "three");
  const asio::mutable_buffer space = buffer.prepare(1000);
  CHECK(space.size() == 1000);
  asio::buffer_copy(space, asio::buffer("more", 4));
  CHECK(text_of(buffer) == "three");
  buffer.commit(4);
  CHECK(text_of(buffer) == "threemore");
  in >> word;
  CHECK(word == "threemore");
  CHECK(buffer.size() == 0);
  CHECK(in.eof());
  buffer.consume(5);
  CHECK(buffer.size() == 0);
  CHECK(buffer.capacity() >= 1000);
}

TEST_CASE("a streambuf keeps its order while it grows, is consumed and is grown again") {
  asio::streambuf buffer;
  std::ostream out(&buffer);
  std::string expected;
  std::string got;
  for (int round = 0; round < 300; ++round) {
    const std::string part(static_cast<std::size_t>(round % 37),
                           static_cast<char>('a' + round % 26));
    out << part;
    expected += part;
    const std::size_t taken =
        std::min<std::size_t>(buffer.size(), static_cast<std::size_t>(round % 29));
    got += text_of(buffer).substr(0, taken);
    buffer.consume(taken);
  }
  got += text_of(buffer);
  CHECK(got == expected);
}

TEST_CASE("the greatest size of a streambuf holds for streams and for prepare()") {
  asio::streambuf buffer(8);
  CHECK(buffer.max_size() == 8);
  std::ostream out(&buffer);
  out << "0123456789";
  CHECK(out.bad());
  CHECK(text_of(buffer) == "01234567");
  CHECK_THROWS_AS(buffer.prepare(1), std::length_error);
  buffer.consume(3);
  CHECK(buffer.prepare(3).size() == 3);
  CHECK_THROWS_AS(buffer.prepare(std::numeric_limits<std::size_t>::max()), std::length_error);
  CHECK(text_of(buffer) == "34567");
}

CONFORMANCE_ON(::beck::test::kernel, "reads and writes take a streambuf as a growing buffer") {
  asio::io_context context(context_options());
  connection pair(context);
  asio::streambuf request;
  std::ostream(&request) << "line one\r\nline 2 and more";
  asio::async_write(pair.client, request, [&](asio::error_code ec, std::size_t n) {
    CHECK_FALSE(ec);
    CHECK(n == 25);
    CHECK(request.size() == 0);
    pair.client.shutdown(tcp::socket::shutdown_send);
  });
  asio::streambuf received;
  std::vector<std::string> found;
  const auto take = [&](std::size_t n) {
    found.push_back(text_of(received).substr(0, n));
    received.consume(n);
  };
  asio::async_read_until(pair.server, received, "\r\n", [&](asio::error_code ec, std::size_t n) {
    CHECK_FALSE(ec);
    take(n);
    asio::async_read_until(
        pair.server, received, match_digit, [&](asio::error_code e, std::size_t k) {
          CHECK_FALSE(e);
          take(k);
          asio::async_read_until(
              pair.server, received, match_char('d'), [&](asio::error_code last, std::size_t m) {
                CHECK_FALSE(last);
                take(m);
                asio::async_read(pair.server, received, asio::transfer_at_least(100),
                                 [&](asio::error_code end, std::size_t) {
                                   CHECK(end == asio::error::eof);
                                   take(received.size());
                                 });
              });
        });
  });
  context.run();
  CHECK(found == std::vector<std::string>{"line one\r\n", "line 2", " and", " more"});
}

CONFORMANCE_ON(::beck::test::kernel, "the blocking reads and writes take a streambuf, too") {
  asio::io_context context(context_options());
  connection pair(context);
  asio::streambuf request;
  std::ostream(&request) << "name: value\nrest";
  CHECK(asio::write(pair.client, request) == 16);
  pair.client.close();
  asio::streambuf received;
  CHECK(asio::read_until(pair.server, received, '\n') == 12);
  std::string line;
  std::istream in(&received);
  std::getline(in, line);
  CHECK(line == "name: value");
  asio::error_code ec;
  asio::read(pair.server, received, asio::transfer_all(), ec);
  CHECK(ec == asio::error::eof);
  CHECK(text_of(received) == "rest");
}

TEST_CASE("a temporary is a buffer until the end of the expression") {
  const std::string word = "word";
  char bytes[8] = {};
  CHECK(asio::buffer_copy(asio::buffer(bytes), asio::buffer(word + "s")) == 5);
  CHECK(std::string(bytes) == "words");
  CHECK(asio::buffer_copy(asio::buffer(bytes), asio::buffer(std::vector<char>{'a', 'b'}, 1)) == 1);
  CHECK(std::string(bytes) == "aords");
  static_assert(std::is_same_v<decltype(asio::buffer(word + "s")), asio::const_buffer>);
  static_assert(std::is_same_v<decltype(asio::buffer(std::string_view(word))), asio::const_buffer>);
}

CONFORMANCE_ON(::beck::test::kernel, "a full streambuf without a match is not_found, as in Asio") {
  asio::io_context context(context_options());
  connection pair(context);
  asio::write(pair.client, asio::buffer("0123456789", 10));
  asio::streambuf small(6);
  asio::error_code ec;
  CHECK(asio::read_until(pair.server, small, '\n', ec) == 0);
  CHECK(ec == asio::error::not_found);
  CHECK(text_of(small) == "012345");
  CHECK_FALSE(ec == asio::error::eof);
  CHECK(asio::error_code(asio::error::not_found) == asio::error::not_found);
  CHECK_FALSE(asio::error_code() == asio::error::not_found);
}

TEST_CASE("an iterator passes through a sequence of buffers in both directions") {
  std::string a = "ab";
  std::string b = "cde";
  const std::array<asio::mutable_buffer, 5> parts{asio::mutable_buffer(), asio::buffer(a),
                                                  asio::mutable_buffer(), asio::buffer(b),
                                                  asio::mutable_buffer()};
  auto at = asio::buffers_begin(parts);
  const auto end = asio::buffers_end(parts);
  CHECK(std::string(at, end) == "abcde");
  CHECK(end - at == 5);
  std::string backwards;
  for (auto from = end; from != at;) backwards += *--from;
  CHECK(backwards == "edcba");
  CHECK(at[3] == 'd');
  at += 4;
  CHECK(*at == 'e');
  at -= 3;
  CHECK(*at == 'b');
  CHECK(at++ < end);
  CHECK(*at == 'c');
  *at = 'C';
  CHECK(b == "Cde");
  CHECK((at + 3) == end);
  CHECK(std::distance(std::find(asio::buffers_begin(parts), end, 'd'), end) == 2);
  const std::array<asio::const_buffer, 2> nothing{};
  CHECK(asio::buffers_begin(nothing) == asio::buffers_end(nothing));
}

CONFORMANCE_ON(::beck::test::kernel,
               "sockets are streams: a server accepts into one, a client connects") {
  asio::io_context context(context_options());
  tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  tcp::iostream client("127.0.0.1", std::to_string(acceptor.local_endpoint().port()));
  REQUIRE(client);
  tcp::iostream server;
  acceptor.accept(server.socket());
  client << "GET " << 42 << std::endl;
  std::string word;
  int number = 0;
  server >> word >> number;
  CHECK(word == "GET");
  CHECK(number == 42);
  const std::string large(20000, 'x');
  server << large << '\n' << std::flush;
  std::string line;
  std::getline(client, line);
  CHECK(line == large);
  client.unget();
  CHECK(client.get() == '\n');
  server.close();
  CHECK(client.get() == std::char_traits<char>::eof());
  CHECK(client.error() == asio::error::eof);
  CHECK_FALSE(server.socket().is_open());
  CHECK_FALSE(client.socket().non_blocking());
  client.clear();
  client.close();  // the end of the peer was the error of the read
  CHECK(client.good());
  CHECK_FALSE(client.error());
}

CONFORMANCE_ON(::beck::test::kernel, "bytes of a stream are put back across receives") {
  asio::io_context context(context_options());
  connection pair(context);
  tcp::iostream stream(std::move(pair.client));
  CHECK(stream.rdbuf()->sungetc() == std::char_traits<char>::eof());  // none was read
  asio::write(pair.server, asio::buffer("abcdefghij", 10));
  for (const char c : {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'}) CHECK(stream.get() == c);
  asio::write(pair.server, asio::buffer("k", 1));
  CHECK(stream.get() == 'k');
  for (int i = 0; i < 9; ++i) stream.unget();
  CHECK(stream.good());
  std::string again(9, '\0');
  stream.read(again.data(), 9);
  CHECK(again == "cdefghijk");
}

CONFORMANCE_ON(::beck::test::kernel,
               "a stream tells why it has not connected, and when its time is over") {
  asio::io_context context(context_options());
  tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const tcp::endpoint there = acceptor.local_endpoint();
  tcp::iostream client(there);
  REQUIRE(client);
  client.expires_after(asio::chrono::hours(-1));
  CHECK(client.expiry() < asio::chrono::steady_clock::now());
  CHECK(client.get() == std::char_traits<char>::eof());
  CHECK(client.error() == asio::error::timed_out);
  client.clear();
  client.expires_after(asio::chrono::milliseconds(1));  // in the middle of the wait
  CHECK(client.get() == std::char_traits<char>::eof());
  CHECK(client.error() == asio::error::timed_out);
  acceptor.close();
  tcp::iostream refused;
  refused.connect(there);
  CHECK(refused.fail());
  CHECK(refused.error() == asio::error::connection_refused);
  refused.clear();
  refused.connect(std::vector<tcp::endpoint>());
  CHECK(refused.fail());
  CHECK(refused.error() == asio::error::not_found);
}

CONFORMANCE_ON(::beck::test::kernel, "a stream takes over a connected socket, and moves") {
  asio::io_context context(context_options());
  asio::local::stream_protocol::socket one(context);
  asio::local::stream_protocol::socket other(context);
  asio::local::connect_pair(one, other);
  asio::local::stream_protocol::iostream first(std::move(one));
  asio::basic_socket_iostream<asio::local::stream_protocol> second(std::move(other));
  first << "through";
  asio::local::stream_protocol::iostream moved(std::move(second));
  first << " it\n";
  std::string line;
  std::getline(moved, line);
  CHECK(line == "through it");
  first.rdbuf()->pubsetbuf(nullptr, 0);
  first << std::nounitbuf << "unbuffered\n";
  std::getline(moved, line);
  CHECK(line == "unbuffered");
}
