// SPDX-License-Identifier: BSL-1.0
// generic::stream_protocol and its relatives: sockets whose family is chosen when the program runs.
#include <array>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include <sys/socket.h>

#include <asio/connect.hpp>
#include <asio/generic/datagram_protocol.hpp>
#include <asio/generic/raw_protocol.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/udp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace generic_test {

namespace generic = asio::generic;
using stream = generic::stream_protocol;

static_assert(!std::is_default_constructible_v<stream>);
static_assert(std::is_constructible_v<stream::socket, asio::ip::tcp::socket>);
static_assert(std::is_constructible_v<stream::socket, asio::local::stream_protocol::socket>);
static_assert(!std::is_constructible_v<asio::ip::tcp::socket, stream::socket>);
static_assert(!std::is_constructible_v<stream::socket, asio::ip::udp::socket>);

// Sends a word from one end and receives it at the other.
template <class From, class To>
std::string carried(asio::io_context& context, From& from, To& to) {
  std::string text(5, ' ');
  asio::async_write(from, asio::buffer("hello", 5),
                    [](asio::error_code ec, std::size_t) { CHECK_FALSE(ec); });
  asio::async_read(to, asio::buffer(text),
                   [](asio::error_code ec, std::size_t) { CHECK_FALSE(ec); });
  context.restart();
  context.run();
  return text;
}

}  // namespace generic_test

CONFORMANCE_ON(::beck::test::kernel,
               "asio: a generic stream socket connects to endpoints of any family") {
  using namespace generic_test;
  asio::io_context context(context_options());
  asio::ip::tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  const stream::endpoint there(acceptor.local_endpoint());
  CHECK(there.size() == acceptor.local_endpoint().size());
  CHECK(there.protocol() == stream(asio::ip::tcp::v4()));
  stream::socket client(context);
  client.async_connect(there, [](asio::error_code ec) { CHECK_FALSE(ec); });
  asio::ip::tcp::socket server(context);
  acceptor.async_accept(server, [](asio::error_code ec) { CHECK_FALSE(ec); });
  context.run();
  client.set_option(asio::ip::tcp::no_delay(true));
  CHECK(client.remote_endpoint() == there);
  CHECK(client.remote_endpoint() != client.local_endpoint());
  CHECK(carried(context, client, server) == "hello");
}

CONFORMANCE_ON(::beck::test::kernel,
               "asio: a generic socket takes over one of another protocol, which is closed then") {
  using namespace generic_test;
  asio::io_context context(context_options());
  asio::local::stream_protocol::socket one(context), other(context);
  asio::local::connect_pair(one, other);
  const int handle = one.native_handle();
  stream::socket taken(std::move(one));
  CHECK(taken.native_handle() == handle);
  CHECK(taken.local_endpoint().protocol().family() == AF_UNIX);
  CHECK_FALSE(one.is_open());
  CHECK(carried(context, taken, other) == "hello");
  CHECK(carried(context, other, taken) == "hello");
}

CONFORMANCE_ON(
    ::beck::test::kernel,
    "asio: a generic datagram socket sends and receives, and loses the rest of a long one") {
  using namespace generic_test;
  using datagram = generic::datagram_protocol;
  asio::io_context context(context_options());
  datagram::socket one(
      context, datagram::endpoint(asio::ip::udp::endpoint(asio::ip::address_v4::loopback(), 0)));
  asio::ip::udp::socket other(context,
                              asio::ip::udp::endpoint(asio::ip::address_v4::loopback(), 0));
  CHECK(other.send_to(
            asio::buffer("hello", 5),
            asio::ip::udp::endpoint(asio::ip::address_v4::loopback(),
                                    static_cast<unsigned short>(ntohs(
                                        static_cast<const sockaddr_in*>(
                                            static_cast<const void*>(one.local_endpoint().data()))
                                            ->sin_port)))) == 5);
  std::array<char, 3> bytes{};
  datagram::endpoint from;
  one.async_receive_from(asio::buffer(bytes), from, [&](asio::error_code ec, std::size_t n) {
    CHECK_FALSE(ec);
    CHECK(n == 3);
  });
  context.run();
  CHECK(from == datagram::endpoint(other.local_endpoint()));
}

TEST_CASE("asio: protocols of another type are no generic ones") {
  using namespace generic_test;
  CHECK_THROWS_AS(stream{asio::ip::udp::v4()}, std::bad_cast);
  CHECK_THROWS_AS(generic::datagram_protocol{asio::ip::tcp::v6()}, std::bad_cast);
  CHECK_THROWS_AS(generic::raw_protocol{asio::ip::tcp::v6()}, std::bad_cast);
  CHECK(stream(asio::ip::tcp::v6()) == stream(AF_INET6, IPPROTO_TCP));
  CHECK_FALSE(stream(asio::ip::tcp::v6()) == stream(AF_INET, IPPROTO_TCP));
  CHECK_FALSE(stream(AF_INET, 0) == stream(AF_INET, IPPROTO_TCP));
}

TEST_CASE("asio: a generic endpoint is the bytes of an address, within a limit") {
  using namespace generic_test;
  const std::array<char, 129> bytes{};
  CHECK(stream::endpoint(bytes.data(), 128).size() == 128);
  CHECK_THROWS_AS(stream::endpoint(bytes.data(), 129), asio::system_error);
  stream::endpoint empty;
  CHECK(empty.size() == 0);
  CHECK(empty.protocol().family() == AF_UNSPEC);
  CHECK_THROWS_AS(empty.resize(129), asio::system_error);
  CHECK(empty < stream::endpoint(bytes.data(), 2));
  CHECK_FALSE(stream::endpoint(bytes.data(), 2) < empty);
  CHECK(stream::endpoint("\1\0a", 3) < stream::endpoint("\1\0b", 3));
  const stream::endpoint local(asio::local::stream_protocol::endpoint("/a"));
  CHECK(local.protocol().family() == AF_UNIX);
  CHECK(stream::endpoint(bytes.data(), 4, 6).protocol().protocol() == 6);
}

TEST_CASE("asio: the results of a lookup have cbegin() and cend(), and tcp.hpp has steady_timer") {
  asio::io_context context;
  const auto results = asio::ip::tcp::resolver(context).resolve("127.0.0.1", "80");
  CHECK(results.cbegin() == results.begin());
  CHECK(results.cend() == results.end());
  CHECK(results.cbegin() != results.cend());
  asio::steady_timer timer(context);
  CHECK(timer.expires_after(asio::chrono::seconds(1)) == 0);
}
