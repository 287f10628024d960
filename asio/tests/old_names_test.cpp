// SPDX-License-Identifier: BSL-1.0
// The names that Asio removed, with BECK_ASIO_OLD_NAMES.
#include <doctest/doctest.h>

#include <memory>
#include <string>

#include <asio.hpp>
#include <asio/io_service.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

CONFORMANCE_ON(::beck::test::kernel, "an io_service posts, dispatches, wraps and is kept by work") {
  asio::io_service io(context_options());
  std::string order;
  auto work = std::make_unique<asio::io_service::work>(io);
  CHECK(&work->get_io_service() == &io);
  io.post([&] {
    order += 'p';
    io.dispatch([&] { order += 'd'; });
    order += 'P';
  });
  auto wrapped =
      io.wrap([&](int n, const std::string& text) { order += std::to_string(n) + text; });
  wrapped(7, "w");
  CHECK(order.empty());
  asio::error_code ec = asio::error::eof;
  CHECK(io.poll(ec) > 0);
  CHECK_FALSE(ec);
  CHECK(order == "pdP7w");
  CHECK_FALSE(io.stopped());
  work.reset();
  io.run();
  CHECK(io.stopped());
  io.reset();
  CHECK_FALSE(io.stopped());
}

CONFORMANCE_ON(::beck::test::kernel, "a strand of an io_service keeps its handlers apart") {
  asio::io_service io(context_options());
  asio::io_service::strand strand(io);
  std::string order;
  auto wrapped =
      strand.wrap([&](asio::error_code) { order += strand.running_in_this_thread() ? 's' : '-'; });
  asio::steady_timer timer(io);
  CHECK(timer.expires_from_now(asio::chrono::milliseconds(1)) == 0);
  CHECK(timer.expires_from_now() < asio::chrono::seconds(1));
  CHECK(timer.expires_at() == timer.expiry());
  asio::error_code ec = asio::error::eof;
  CHECK(timer.expires_at(timer.expiry(), ec) == 0);
  CHECK_FALSE(ec);
  ec = asio::error::eof;
  CHECK(timer.expires_from_now(asio::chrono::milliseconds(1), ec) == 0);
  ec = asio::error::eof;
  CHECK(timer.cancel_one(ec) == 0);
  CHECK_FALSE(ec);
  timer.async_wait(wrapped);
  strand.post([&] { order += 'p'; });
  io.run();
  CHECK(order == "ps");
}

CONFORMANCE_ON(::beck::test::kernel, "a long datagram is cut, and udp's resolver takes queries") {
  using asio::ip::udp;
  asio::io_service io(context_options());
  udp::socket receiver(io, udp::endpoint(asio::ip::address_v4::loopback(), 0));
  udp::resolver resolver(io);
  const std::string port = std::to_string(receiver.local_endpoint().port());
  const udp::endpoint to = *resolver.resolve(udp::resolver::query(udp::v4(), "127.0.0.1", port));
  udp::socket sender(io, udp::v4());
  sender.send_to(asio::buffer("hello", 5), to);
  char data[3];
  udp::endpoint from;
  asio::error_code result = asio::error::eof;
  receiver.async_receive_from(asio::buffer(data), from, [&](asio::error_code ec, std::size_t n) {
    result = ec;
    CHECK(n == 3);
  });
  io.run();
  CHECK_FALSE(result);
}

template <class Text>
std::string take(ASIO_MOVE_ARG(Text) text) {
  return ASIO_MOVE_CAST(Text)(text);
}

TEST_CASE("results of a host and a service dereference to the first") {
  using asio::ip::tcp;
  asio::io_service io;
  tcp::resolver resolver(io);
  const tcp::endpoint to(asio::ip::make_address("127.0.0.1"), 80);
  CHECK(tcp::endpoint(*resolver.resolve("127.0.0.1", "80")) == to);
  CHECK(resolver.resolve(tcp::v4(), "127.0.0.1", std::string("80"))->endpoint() == to);
  asio::error_code ec;
  const tcp::resolver::iterator first = resolver.resolve("127.0.0.1", "80", ec);
  CHECK(first->endpoint() == to);
}

CONFORMANCE_ON(::beck::test::kernel, "the type of wrap() has a name, and of a hook") {
  asio::io_service io;
  asio::io_service::strand strand(io);
  int calls = 0;
  auto count = [&] { ++calls; };
  asio::detail::wrapped_handler<asio::io_service::strand, decltype(count),
                                asio::detail::is_continuation_if_running>
      wrapped = strand.wrap(count);
  wrapped();
  io.run();
  CHECK(calls == 1);
  CHECK(!asio::asio_handler_is_continuation(&count));
  static_assert(asio::is_executor<asio::io_service::executor_type>::value);
}

TEST_CASE("macros of C++03 are those of today") {
  std::string text = "moved";
  CHECK(take(std::move(text)) == "moved");
}

TEST_CASE("buffers have their old names") {
  char data[4] = {'a', 'b', 'c', 'd'};
  const asio::mutable_buffers_1 all = asio::buffer(data);
  CHECK(asio::buffer_cast<char*>(all) == data);
  const asio::const_buffers_1 read_only = all;
  CHECK(*asio::buffer_cast<const char*>(read_only) == 'a');
}

TEST_CASE("addresses are made by from_string") {
  using asio::ip::address;
  const address local = address::from_string("127.0.0.1");
  CHECK(local.is_loopback());
  CHECK(asio::ip::address_v4::from_string("1.2.3.4").to_ulong() == 0x01020304);
  CHECK(asio::ip::address_v6::from_string("::1").is_loopback());
  asio::error_code ec;
  CHECK(address::from_string("nowhere", ec) == address());
  CHECK(ec == asio::error::invalid_argument);
  CHECK(std::hash<address>()(local) == std::hash<beck::ip::address>()(local));
  const address of_endpoint = asio::ip::tcp::endpoint(local, 80).address();
  CHECK(of_endpoint == local);
  ec = asio::error::eof;
  CHECK(local.to_string(ec) == "127.0.0.1");
  CHECK_FALSE(ec);
  CHECK(local.to_v4().to_ulong() == 0x7f000001);
  CHECK(address::from_string("::1").to_v6().to_string(ec) == "::1");
  CHECK_THROWS_AS(local.to_v6(), std::exception);
}

CONFORMANCE_ON(::beck::test::kernel, "iterators of a lookup are copied, compared and outlive it") {
  using asio::ip::tcp;
  tcp::resolver::iterator kept;
  {
    asio::io_service io(context_options());
    tcp::resolver resolver(io);
    const tcp::resolver::query query("127.0.0.1", "80", tcp::resolver::query::numeric_service);
    tcp::resolver::iterator first = resolver.resolve(query);
    kept = first;
    const tcp::resolver::iterator end;
    CHECK(first == kept);
    CHECK(first++ != end);
    CHECK(first == end);
    CHECK(end == tcp::resolver::iterator());
  }
  CHECK(kept->endpoint().port() == 80);
  CHECK(kept != tcp::resolver::iterator());
}

CONFORMANCE_ON(::beck::test::kernel, "a resolver takes queries, and gives iterators") {
  using asio::ip::tcp;
  asio::io_service io(context_options());
  tcp::acceptor acceptor(io, tcp::endpoint(tcp::v4(), 0));
  const std::string port = std::to_string(acceptor.local_endpoint().port());
  tcp::resolver resolver(io);
  const tcp::resolver::query query("127.0.0.1", port, tcp::resolver::query::numeric_service);

  tcp::resolver::iterator found = resolver.resolve(query);
  REQUIRE(found != tcp::resolver::iterator());
  const tcp::endpoint endpoint = *found;
  const tcp::resolver::results_type results = resolver.resolve(query);
  CHECK(results.size() == 1);
  CHECK(results->endpoint() == endpoint);
  CHECK(tcp::endpoint(*results) == endpoint);
  CHECK(endpoint.port() == acceptor.local_endpoint().port());
  CHECK(found->host_name() == "127.0.0.1");
  CHECK(++found == tcp::resolver::iterator());

  asio::error_code ec;
  CHECK(resolver.resolve(tcp::resolver::query("127.0.0.1", "no service!"), ec).empty());
  CHECK(ec);

  const tcp::resolver::query by_name("127.0.0.1", "http", tcp::resolver::query::numeric_service);
  CHECK(resolver.resolve(by_name, ec).empty());
  CHECK(ec == asio::error::host_not_found);

  int calls = 0;
  tcp::socket socket(io);
  resolver.async_resolve(query, [&](asio::error_code failed, tcp::resolver::iterator it) {
    CHECK_FALSE(failed);
    CHECK(it->endpoint() == endpoint);
    ++calls;
  });
  const tcp::resolver::query to_listen(tcp::v6(), port);
  resolver.async_resolve(to_listen, [&](asio::error_code failed, const auto& entries) {
    CHECK_FALSE(failed);
    for (const auto& entry : entries) CHECK(entry.endpoint().protocol() == tcp::v6());
    ++calls;
  });
  asio::async_connect(socket, tcp::resolver::iterator(results),
                      [&](asio::error_code failed, tcp::resolver::iterator it) {
                        CHECK_FALSE(failed);
                        CHECK(it->endpoint() == endpoint);
                        ++calls;
                      });
  io.run();
  CHECK(calls == 3);
  tcp::socket second(io);
  CHECK(asio::connect(second, tcp::resolver::iterator(results))->endpoint() == endpoint);
  CHECK(second.remote_endpoint() == endpoint);
}
