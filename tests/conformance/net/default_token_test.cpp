// SPDX-License-Identifier: BSL-1.0
//
// Sockets, acceptors and resolvers with a default token: each function without a token uses it,
// those with one do not, and plain objects become such objects and plain ones again.
#include <beck/coro/co_spawn.hpp>
#include <beck/interop/default_token_net.hpp>
#include <beck/interop/use_future.hpp>
#include <beck/io/read_write_dynamic.hpp>
#include <beck/net/tcp.hpp>
#include <beck/net/udp.hpp>
#include <beck/run/as_tuple.hpp>
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "support/connections.hpp"
#include "support/context_options.hpp"
#include "support/outcome.hpp"
#include "support/stream_pair.hpp"

using beck::error_code;
using beck::ip::tcp;
using beck::ip::udp;
using beck::test::loopback_v4;
using beck::test::note;
using beck::test::outcome;
using beck::test::run_task;
namespace error = beck::error;

namespace {

using throwing = beck::use_awaitable_t<>;
using tuple = beck::as_tuple_t<throwing>;
// What a read or write gives with that, which an io_result does not convert to.
using moved = std::tuple<error_code, std::size_t>;
using tcp_socket = throwing::as_default_on_t<tcp::socket>;
using tcp_acceptor = throwing::as_default_on_t<tcp::acceptor>;
using tuple_socket = tuple::as_default_on_t<tcp::socket>;
using tuple_acceptor = tuple::as_default_on_t<tcp::acceptor>;
using udp_socket = throwing::as_default_on_t<udp::socket>;
using tcp_resolver = throwing::as_default_on_t<tcp::resolver>;

// Whether both are operations of one type.
template <class A, class B>
constexpr bool same = std::is_same_v<A, B>;

// A client that connects to `acceptor`.
template <class Socket, class Acceptor>
Socket connected_to(beck::io_context& ctx, Acceptor& acceptor) {
  Socket socket(ctx);
  socket.async_connect(acceptor.local_endpoint(), beck::detached);
  return socket;
}

// A stream over another one, which has the executor of that.
class layer {
 public:
  explicit layer(tuple_socket& next) : next_(&next) {}
  auto get_executor() const { return next_->get_executor(); }
  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return next_->async_read_some(buffers, std::forward<Token>(token));
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return next_->async_write_some(buffers, std::forward<Token>(token));
  }

 private:
  tuple_socket* next_;
};

// Counts its copies, as an executor that any_io_executor keeps in a counted block.
class counted_executor {
 public:
  explicit counted_executor(beck::io_context& ctx) : ctx_(&ctx), life_(std::make_shared<int>(0)) {}
  template <class F>
  void execute(F&& f) const {
    beck::post(*ctx_, std::forward<F>(f));
  }
  beck::io_context& context() const { return *ctx_; }
  long copies() const { return life_.use_count(); }
  friend bool operator==(const counted_executor& a, const counted_executor& b) {
    return a.life_ == b.life_;
  }

 private:
  beck::io_context* ctx_;
  std::shared_ptr<int> life_;
};

}  // namespace

CONFORMANCE("sockets whose default is use_awaitable throw errors, without a token") {
  beck::io_context ctx(context_options());
  run_task(ctx, [&]() -> beck::task<> {
    tcp_acceptor acceptor(ctx, loopback_v4());
    auto client = connected_to<tcp_socket>(ctx, acceptor);
    auto server = co_await acceptor.async_accept();
    static_assert(same<decltype(server), tcp_socket>);
    char data[8];
    const std::size_t sent = co_await async_write(client, beck::buffer("abc", 3));
    CHECK(sent == 3);
    co_await server.async_wait(tcp::socket::wait_read);
    const std::size_t first = co_await server.async_read_some(beck::buffer(data, 1));
    CHECK(first == 1);
    const std::size_t rest = co_await beck::async_read(server, beck::buffer(data, 2));
    CHECK(rest == 2);
    client.close();
    error_code thrown;
    try {
      beck::ignore(co_await server.async_receive(beck::buffer(data)));
    } catch (const beck::io_error& e) {
      thrown = e.code();
    }
    CHECK(thrown == error::eof);
  });
}

CONFORMANCE("sockets whose default is as_tuple give a tuple, also from composed operations") {
  beck::io_context ctx(context_options());
  run_task(ctx, [&]() -> beck::task<> {
    tuple_acceptor acceptor(ctx, loopback_v4());
    auto client = connected_to<tuple_socket>(ctx, acceptor);
    std::tuple<error_code, tuple_socket> accepted = co_await acceptor.async_accept();
    CHECK_FALSE(std::get<0>(accepted));
    tuple_socket server = std::move(std::get<1>(accepted));
    const moved sent_result =
        co_await beck::async_write(client, beck::buffer("one\ntwo three", 13));
    const auto [e1, sent] = sent_result;
    CHECK(sent == 13);
    std::string text;
    const moved line_result =
        co_await beck::async_read_until(server, beck::dynamic_buffer(text), '\n');
    const auto [e2, line] = line_result;
    CHECK(line == 4);
    text.erase(0, line);
    const moved more_result = co_await beck::async_read(server, beck::dynamic_buffer(text),
                                                        beck::transfer_exactly(9 - text.size()));
    const auto [e3, more] = more_result;
    CHECK_FALSE(e3);
    CHECK(text == "two three");
    char data[8];
    const moved none_result =
        co_await beck::async_read(server, beck::buffer(data), beck::transfer_exactly(0));
    const auto [e4, none] = none_result;
    CHECK(none == 0);
    layer over(server);
    const moved back_result = co_await beck::async_write(over, beck::buffer("x", 1));
    const auto [e5, back] = back_result;
    CHECK(back == 1);
    const moved got_result = co_await client.async_read_some(beck::buffer(data));
    const auto [e6, got] = got_result;
    CHECK(got == 1);
    server.close();
    const moved end_result = co_await beck::async_read(client, beck::buffer(data));
    const auto [e7, end] = end_result;
    CHECK(e7 == error::eof);
    CHECK_FALSE(e1);
    CHECK_FALSE(e2);
    CHECK_FALSE(e4);
    CHECK_FALSE(e5);
    CHECK_FALSE(e6);
  });
}

CONFORMANCE("a token that is given counts, and deferred returns the plain operation") {
  beck::io_context ctx(context_options());
  tcp_acceptor acceptor(ctx, loopback_v4());
  auto client = connected_to<tcp_socket>(ctx, acceptor);
  outcome accepted;
  tcp_socket server(ctx);
  acceptor.async_accept(server, note(accepted));
  beck::test::run_all(ctx);
  CHECK(accepted.ok());
  tcp::socket& plain = client;
  char data[8];
  const beck::mutable_buffer space = beck::buffer(data);
  static_assert(same<decltype(client.async_read_some(space, beck::deferred)),
                     decltype(plain.async_read_some(space))>);
  static_assert(same<decltype(client.async_read_some(space)),
                     decltype(plain.async_read_some(space, beck::use_awaitable))>);
  static_assert(same<decltype(beck::async_read(client, space, beck::deferred)),
                     decltype(beck::async_read(plain, space))>);
  outcome wrote;
  outcome read;
  beck::async_write(client, beck::buffer("ab", 2), note(wrote));
  beck::async_read(server, beck::buffer(data, 2), beck::transfer_all(), note(read));
  beck::test::run_all(ctx);
  CHECK(wrote.bytes == 2);
  CHECK(read.bytes == 2);
}

CONFORMANCE("plain objects become objects with a default token, and plain ones again") {
  beck::io_context ctx(context_options());
  beck::test::tcp_connection pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    auto client = throwing::as_default_on(std::move(pair.client));
    auto server = tuple().as_default_on(std::move(pair.server));
    static_assert(same<decltype(client), tcp_socket>);
    static_assert(same<decltype(server), tuple_socket>);
    CHECK(client.is_open());
    const std::size_t n = co_await client.async_send(beck::buffer("a", 1));
    CHECK(n == 1);
    char data[8];
    const moved got_result = co_await server.async_receive(beck::buffer(data));
    const auto [ec, got] = got_result;
    CHECK(got == 1);
    CHECK_FALSE(ec);
    // An object with a default may get another one.
    auto again = throwing::as_default_on(std::move(server));
    beck::ignore(co_await client.async_send(beck::buffer("b", 1)));
    const std::size_t second = co_await again.async_read_some(beck::buffer(data));
    CHECK(second == 1);
    tcp::socket plain = std::move(client);
    // Its functions return results, as those of every plain socket in a task.
    const auto write_one = [](tcp::socket& socket) -> beck::task<bool> {
      const beck::io_result<std::size_t> sent =
          co_await socket.async_write_some(beck::buffer("c", 1));
      co_return sent.error() == error_code();
    };
    const bool wrote = co_await write_one(plain);
    CHECK(wrote);
  });
}

CONFORMANCE("every form of an accept gives sockets with the default of the acceptor") {
  beck::io_context ctx(context_options());
  run_task(ctx, [&]() -> beck::task<> {
    tcp_acceptor acceptor(ctx, loopback_v4());
    const auto other = ctx.get_executor();
    tcp::endpoint peer;
    auto c1 = connected_to<tcp_socket>(ctx, acceptor);
    auto s1 = co_await acceptor.async_accept(peer);
    CHECK(peer == c1.local_endpoint());
    auto c2 = connected_to<tcp_socket>(ctx, acceptor);
    auto s2 = co_await acceptor.async_accept(ctx);
    auto c3 = connected_to<tcp_socket>(ctx, acceptor);
    auto s3 = co_await acceptor.async_accept(other, peer);
    CHECK(peer == c3.local_endpoint());
    static_assert(same<decltype(s1), tcp_socket> && same<decltype(s2), tcp_socket> &&
                  same<decltype(s3), tcp_socket>);
    auto c4 = connected_to<tcp_socket>(ctx, acceptor);
    tcp_socket s4(ctx);
    co_await acceptor.async_accept(s4, peer);
    CHECK(peer == c4.local_endpoint());
    CHECK(s4.is_open());
    auto c5 = connected_to<tcp_socket>(ctx, acceptor);
    co_await acceptor.async_wait(tcp::acceptor::wait_read);
    auto s5 = acceptor.accept();
    static_assert(same<decltype(s5), tcp_socket>);
    CHECK(s5.remote_endpoint() == c5.local_endpoint());
  });
}

CONFORMANCE("resolvers and connects by name or with several endpoints use the default") {
  beck::io_context ctx(context_options());
  run_task(ctx, [&]() -> beck::task<> {
    tcp_acceptor acceptor(ctx, loopback_v4());
    const tcp::endpoint there = acceptor.local_endpoint();
    const std::string port = std::to_string(there.port());
    tcp_resolver resolver(ctx);
    const tcp::resolver::results_type found = co_await resolver.async_resolve("127.0.0.1", port);
    CHECK(found.size() == 1);
    const auto flagged =
        co_await resolver.async_resolve(tcp::v4(), "127.0.0.1", port, tcp::resolver::numeric_host);
    CHECK(flagged.size() == 1);
    tcp_socket socket(ctx);
    tcp::endpoint to = co_await beck::async_connect(socket, found);
    CHECK(to == there);
    to = co_await beck::async_connect(socket, found,
                                      [](const error_code&, const tcp::endpoint&) { return true; });
    CHECK(to == there);
    to = co_await beck::async_connect(socket, found, beck::happy_eyeballs());
    CHECK(to == there);
    to = co_await beck::async_connect(socket, "127.0.0.1", port);
    CHECK(to == there);
    error_code thrown;
    try {
      beck::ignore(
          co_await resolver.async_resolve("no such name", port, tcp::resolver::numeric_host));
    } catch (const beck::io_error& e) {
      thrown = e.code();
    }
    CHECK(thrown == error::host_not_found);
  });
}

CONFORMANCE("datagrams use the default, with and without flags") {
  beck::io_context ctx(context_options());
  run_task(ctx, [&]() -> beck::task<> {
    udp_socket a(ctx, udp::endpoint(beck::ip::address_v4::loopback(), 0));
    udp_socket b(ctx, udp::endpoint(beck::ip::address_v4::loopback(), 0));
    char data[8];
    udp::endpoint sender;
    std::size_t n = co_await a.async_send_to(beck::buffer("abc", 3), b.local_endpoint());
    CHECK(n == 3);
    n = co_await b.async_receive_from(beck::buffer(data), sender, udp::socket::message_peek);
    CHECK(n == 3);
    n = co_await b.async_receive_from(beck::buffer(data), sender);
    CHECK(sender == a.local_endpoint());
    co_await b.async_connect(sender);
    n = co_await b.async_send(beck::buffer("de", 2));
    CHECK(n == 2);
    n = co_await a.async_receive(beck::buffer(data));
    CHECK(n == 2);
    n = co_await b.async_send(beck::buffer("f", 1), 0);
    n = co_await a.async_receive(beck::buffer(data), 0, beck::use_awaitable);
    CHECK(n == 1);
  });
}

CONFORMANCE("a default that starts at once needs no coroutine") {
  beck::io_context ctx(context_options());
  beck::test::tcp_connection pair(ctx);
  auto client = beck::detached_t::as_default_on(std::move(pair.client));
  auto server = beck::use_future_t::as_default_on(std::move(pair.server));
  char data[8];
  static_assert(std::is_void_v<decltype(client.async_write_some(beck::buffer("a", 1)))>);
  client.async_write_some(beck::buffer("a", 1));
  std::future<std::size_t> read = server.async_read_some(beck::buffer(data));
  ctx.run();
  CHECK(read.get() == 1);
}

CONFORMANCE("the executor of an object with a default token is counted as its own") {
  beck::io_context ctx(context_options());
  const counted_executor own(ctx);
  {
    tcp_socket socket(ctx, own);
    const auto executor = socket.get_executor();
    static_assert(same<std::decay_t<decltype(executor)>, tcp_socket::executor_type>);
    static_assert(same<beck::default_completion_token_t<tcp_socket::executor_type>, throwing>);
    static_assert(
        same<beck::default_completion_token_t<tcp::socket::executor_type>, beck::deferred_t>);
    const long before = own.copies();
    {
      const beck::any_io_executor plain(executor);
      const tcp_socket::executor_type back(plain);
      CHECK(back == executor);
      const beck::any_io_executor third = back;
    }
    CHECK(own.copies() == before);
    tcp_socket other(ctx, executor);
    CHECK(other.get_executor() == executor);
  }
  CHECK(own.copies() == 1);
}
