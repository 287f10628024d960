// SPDX-License-Identifier: BSL-1.0
// What Asio's programs ask of stream sockets beside reads and writes: transfers with flags, waits
// in the form of transfers, io_control, options of their own, and other types of executors.
#include <beck/io/pipe.hpp>
#include <beck/io/stream_descriptor.hpp>
#include <beck/net/message_flags.hpp>
#include <beck/net/tcp.hpp>
#include <beck/net/udp.hpp>
#include <beck/run/strand.hpp>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

#include "support/context_options.hpp"
#include "support/stream_pair.hpp"

using beck::ip::tcp;
using beck::ip::udp;
using beck::test::everywhere;
using beck::test::kernel;
using beck::test::run_task;
using beck::test::stream_pair;
using beck::test::stream_socket;

namespace {

constexpr auto peek = stream_socket::message_peek;
const tcp::endpoint any_port(beck::ip::address_v4::loopback(), 0);

/// A sequence of no buffers, with which a transfer waits.
struct no_buffers {
  static constexpr bool waits_for_readiness = true;
  const beck::mutable_buffer* begin() const noexcept { return nullptr; }
  const beck::mutable_buffer* end() const noexcept { return nullptr; }
};

/// SO_KEEPALIVE as a class of a program, with the protocol as a parameter.
class keep_alive_of_a_program {
 public:
  template <class Protocol>
  int level(const Protocol&) const {
    return SOL_SOCKET;
  }
  template <class Protocol>
  int name(const Protocol&) const {
    return SO_KEEPALIVE;
  }
  template <class Protocol>
  const void* data(const Protocol&) const {
    return &value;
  }
  template <class Protocol>
  void* data(const Protocol&) {
    return &value;
  }
  template <class Protocol>
  std::size_t size(const Protocol&) const {
    return sizeof value;
  }
  template <class Protocol>
  void resize(const Protocol& protocol, std::size_t bytes) {
    resized_to = bytes;
    is_v6 = requires { protocol.family(); } && protocol.family() == AF_INET6;
  }
  int value = 0;
  std::size_t resized_to = 0;
  bool is_v6 = false;
};

template <class To, class From>
To converted(From from) {
  return To(std::move(from));
}

}  // namespace

CONFORMANCE_ON(everywhere, "a peek leaves the bytes, in both forms, and their order") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    beck::ignore(co_await async_write(pair.a, beck::buffer(std::string_view("abcdef"))));
    co_await beck::test::until_available(pair.b, ctx, 6);
    std::array<char, 3> first{};
    std::array<char, 2> second{};
    const std::array<beck::mutable_buffer, 3> both{beck::buffer(first), beck::mutable_buffer(),
                                                   beck::buffer(second)};
    CHECK((co_await pair.b.async_receive(both, peek)).value() == 5);
    CHECK(std::string(first.data(), 3) + std::string(second.data(), 2) == "abcde");
    first = {};
    CHECK(pair.b.receive(beck::buffer(first), peek) == 3);
    CHECK(std::string_view(first.data(), 3) == "abc");
    std::array<char, 8> all{};
    CHECK((co_await pair.b.async_read_some(beck::buffer(all))).value() == 6);
    CHECK(std::string_view(all.data(), 6) == "abcdef");
  });
}

CONFORMANCE_ON(everywhere, "transfers with flags end as others do") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  std::array<char, 4> to{};
  CHECK(pair.a.send(beck::buffer(std::string_view("xy")), 0) == 2);
  CHECK(pair.b.receive(beck::buffer(to), 0) == 2);
  pair.b.non_blocking(true);
  beck::error_code ec;
  CHECK(pair.b.receive(beck::buffer(to), peek, ec) == 0);
  CHECK(ec == beck::error::would_block);
  pair.b.async_receive(beck::buffer(to), peek, [&](beck::error_code e, std::size_t) { ec = e; });
  ctx.poll();
  CHECK(ec == beck::error::would_block);  // still waits
  pair.b.cancel();
  ctx.restart();
  ctx.run();
  CHECK(ec == beck::error::operation_aborted);
  pair.a.close();
  ctx.restart();
  pair.b.async_receive(beck::buffer(to), peek, [&](beck::error_code e, std::size_t) { ec = e; });
  ctx.run();
  CHECK(ec == beck::error::eof);
  pair.b.close();
  CHECK(pair.b.send(beck::buffer(to), 0, ec) == 0);
  CHECK(ec == beck::error::bad_descriptor);
}

CONFORMANCE_ON(kernel, "a receive with flags has the bytes of a TCP socket") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, any_port);
  tcp::socket a(ctx);
  a.connect(acceptor.local_endpoint());
  tcp::socket b = acceptor.accept();
  a.send(beck::buffer(std::string_view("abcdef")), 0);
  std::array<char, 4> to{};
  CHECK(b.receive(beck::buffer(to), 0) == 4);
  CHECK(std::string_view(to.data(), 4) == "abcd");
  to = {};
  std::size_t received = 0;
  b.async_receive(beck::buffer(to), 0, [&](beck::error_code, std::size_t n) { received = n; });
  ctx.run();
  CHECK(std::string_view(to.data(), received) == "ef");
}

CONFORMANCE_ON(everywhere, "of more than 16 buffers a transfer with flags uses the first") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  const std::vector<beck::const_buffer> many(20, beck::buffer(std::string_view("x")));
  CHECK(pair.a.send(many, 0) == 16);
}

CONFORMANCE_ON(everywhere, "a transfer without a buffer may wait instead") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  int reads = 0, writes = 0;
  pair.b.async_read_some(no_buffers(),
                         [&](beck::error_code ec, std::size_t n) { reads += !ec && n == 0; });
  pair.b.async_write_some(no_buffers(),
                          [&](beck::error_code ec, std::size_t n) { writes += !ec && n == 0; });
  ctx.poll();
  CHECK(reads == 0);
  CHECK(writes == 1);
  pair.a.write_some(beck::buffer(std::string_view("x")));
  ctx.restart();
  ctx.run();
  CHECK(reads == 1);
  CHECK(pair.b.available() == 1);
}

CONFORMANCE_ON(kernel, "a datagram socket waits in the form of a transfer, too") {
  beck::io_context ctx(context_options());
  udp::socket a(ctx, udp::endpoint(beck::ip::address_v4::loopback(), 0));
  udp::socket b(a.get_executor(), udp::endpoint(beck::ip::address_v4::loopback(), 0));
  udp::endpoint from;
  int ready = 0;
  const auto count = [&](beck::error_code ec, std::size_t n) { ready += !ec && n == 0; };
  a.async_receive_from(no_buffers(), from, count);
  a.async_send_to(no_buffers(), b.local_endpoint(), count);
  ctx.poll();
  CHECK(ready == 1);
  b.send_to(beck::buffer(std::string_view("x")), a.local_endpoint());
  ctx.restart();
  ctx.run();
  CHECK(ready == 2);
  CHECK(a.available() == 1);
}

CONFORMANCE_ON(everywhere, "io_control asks for the readable bytes") {
  beck::io_context ctx(context_options());
  stream_pair pair(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    beck::ignore(co_await async_write(pair.a, beck::buffer(std::string_view("abc"))));
    co_await beck::test::until_available(pair.b, ctx, 3);
  });
  stream_socket::bytes_readable command(7);
  CHECK(command.get() == 7);
  pair.b.io_control(command);
  CHECK(command.get() == 3);
  pair.b.close();
  beck::error_code ec;
  pair.b.io_control(command, ec);
  CHECK(ec == beck::error::bad_descriptor);
  CHECK_THROWS_AS(pair.b.io_control(command), beck::io_error);
}

CONFORMANCE_ON(kernel, "urgent data has a mark, and a flag to send it") {
  beck::io_context ctx(context_options());
  tcp::acceptor acceptor(ctx, any_port);
  tcp::socket a(ctx);
  a.connect(acceptor.local_endpoint());
  tcp::socket b = acceptor.accept();
  CHECK(!b.at_mark());
  a.send(beck::buffer(std::string_view("!")), tcp::socket::message_out_of_band);
  b.wait(tcp::socket::wait_error);
  CHECK(b.at_mark());
  b.close();
  beck::error_code ec;
  CHECK(!b.at_mark(ec));
  CHECK(ec == beck::error::bad_descriptor);
}

CONFORMANCE_ON(kernel, "a program's own option is asked with the protocol") {
  beck::io_context ctx(context_options());
  for (const tcp protocol : {tcp::v4(), tcp::v6()}) {
    tcp::socket s(ctx.get_executor(), protocol);
    keep_alive_of_a_program option;
    option.value = 1;
    s.set_option(option);
    keep_alive_of_a_program found;
    s.get_option(found);
    CHECK(found.value == 1);
    CHECK(found.resized_to == sizeof(int));
    CHECK(found.is_v6 == (protocol == tcp::v6()));
  }
  udp::socket datagrams(ctx, udp::v4());
  datagrams.set_option(keep_alive_of_a_program());
}

CONFORMANCE_ON(kernel, "sockets and acceptors are opened on an executor") {
  beck::io_context ctx(context_options());
  const auto executor = beck::make_strand(ctx);
  tcp::acceptor acceptor(executor, tcp::v4());
  acceptor.bind(any_port);
  acceptor.listen();
  CHECK(acceptor.get_executor() == beck::any_io_executor(executor));
  tcp::socket bound(executor, any_port);
  CHECK(bound.local_endpoint().port() != 0);
  bound.connect(acceptor.local_endpoint());
  tcp::socket b = acceptor.accept();
  tcp::socket taken(executor, tcp::v4(), b.release());
  CHECK(taken.remote_endpoint() == bound.local_endpoint());
  CHECK(taken.get_executor() == beck::any_io_executor(executor));
  tcp::acceptor again(executor, tcp::v4(), acceptor.release());
  CHECK(again.is_open());
}

CONFORMANCE_ON(kernel, "an object's executor may become a more general one, with its operations") {
  using executor = beck::io_context::executor_type;
  beck::io_context ctx(context_options());
  beck::basic_socket_acceptor<tcp, executor> typed(ctx, any_port);
  const tcp::endpoint at = typed.local_endpoint();
  int accepted = 0;
  typed.async_accept([&](beck::error_code ec, tcp::socket) { accepted += !ec; });
  tcp::acceptor acceptor(std::move(typed));
  CHECK(!typed.is_open());
  CHECK(acceptor.get_executor() == beck::any_io_executor(ctx.get_executor()));
  beck::basic_stream_socket<tcp, executor> client(ctx);
  client.connect(at);
  ctx.run();
  CHECK(accepted == 1);
  tcp::socket general(ctx);
  general = std::move(client);
  CHECK(general.remote_endpoint() == at);
  const auto udp_socket = converted<udp::socket>(
      beck::basic_datagram_socket<udp, executor>(ctx.get_executor(), udp::v4()));
  CHECK(udp_socket.is_open());
  beck::basic_readable_pipe<executor> out(ctx);
  beck::basic_writable_pipe<executor> in(ctx);
  beck::connect_pipe(out, in);
  auto general_in = converted<beck::writable_pipe>(std::move(in));
  auto general_out = converted<beck::readable_pipe>(std::move(out));
  general_in.write_some(beck::buffer(std::string_view("x")));
  char byte = 0;
  CHECK(general_out.read_some(beck::buffer(&byte, 1)) == 1);
  const auto descriptor = converted<beck::posix::stream_descriptor>(
      beck::posix::basic_stream_descriptor<executor>(ctx.get_executor(), general_out.release()));
  CHECK(descriptor.is_open());
  // The same strand, whichever type its inner executor has.
  const beck::strand<executor> strand(ctx.get_executor());
  const beck::strand<beck::any_io_executor> same = strand;
  CHECK(beck::any_io_executor(same) == beck::any_io_executor(strand));
  static_assert(!std::is_constructible_v<beck::basic_stream_socket<tcp, executor>, tcp::socket>);
  static_assert(!std::is_constructible_v<beck::readable_pipe, beck::basic_writable_pipe<executor>>);
}
