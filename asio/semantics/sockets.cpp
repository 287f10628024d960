// SPDX-License-Identifier: BSL-1.0
// Sockets: open and closed, options, modes, errors of synchronous functions, waits.
#include "rows.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace semantics::sockets {

using asio::ip::tcp;
using asio::ip::udp;
using namespace std::chrono_literals;

ROW("socket: is_open before and after open and close") {
  asio::io_context context;
  tcp::socket socket(context);
  trace words;
  words << socket.is_open();
  socket.open(tcp::v4());
  words << socket.is_open();
  socket.close();
  words << socket.is_open();
  socket.close();
  return words;
}
ROW("socket: native_handle of a closed one") {
  asio::io_context context;
  tcp::socket socket(context);
  return line(socket.native_handle());
}
ROW("socket: open twice") {
  asio::io_context context;
  tcp::socket socket(context, tcp::v4());
  asio::error_code ec;
  socket.open(tcp::v4(), ec);
  return line(ec, socket.is_open());
}
ROW("socket: is_open of a moved-from one") {
  asio::io_context context;
  tcp::socket socket(context, tcp::v4());
  tcp::socket moved(std::move(socket));
  const bool from = socket.is_open(), to = moved.is_open();
  socket.open(tcp::v4());
  return line(from, to, socket.is_open());
}
ROW("socket: functions of a closed one") {
  asio::io_context context;
  tcp::socket socket(context);
  char data[4];
  trace words;
  asio::error_code ec;
  socket.read_some(asio::buffer(data), ec), words << ec;
  socket.write_some(asio::buffer(data), ec), words << ec;
  socket.bind(any_port(), ec), words << ec;
  socket.local_endpoint(ec), words << ec;
  socket.remote_endpoint(ec), words << ec;
  socket.shutdown(tcp::socket::shutdown_both, ec), words << ec;
  socket.available(ec), words << ec;
  socket.set_option(tcp::no_delay(true), ec), words << ec;
  socket.cancel(ec), words << ec;
  socket.non_blocking(true, ec), words << ec;
  socket.wait(tcp::socket::wait_read, ec), words << ec;
  socket.close(ec), words << ec;
  return words;
}
ROW("socket: operations of a closed one") {
  asio::io_context context;
  tcp::socket socket(context);
  char data[4];
  trace words;
  socket.async_read_some(asio::buffer(data), note_size(words, "read"));
  socket.async_write_some(asio::buffer(data), note_size(words, "write"));
  socket.async_wait(tcp::socket::wait_read, note(words, "wait"));
  words << "started" << context.run();
  return words;
}
ROW("socket: accept of a closed acceptor") {
  asio::io_context context;
  tcp::acceptor acceptor(context);
  trace words;
  asio::error_code ec;
  acceptor.accept(ec), words << ec;
  acceptor.listen(5, ec), words << ec;
  acceptor.async_accept(note(words, "accept"));
  context.run();
  return words;
}
ROW("socket: remote_endpoint without a peer") {
  asio::io_context context;
  tcp::socket socket(context, tcp::v4());
  asio::error_code ec;
  const auto place = socket.remote_endpoint(ec);
  return line(ec, place, thrown_by([&] { socket.remote_endpoint(); }));
}
ROW("socket: local_endpoint before bind") {
  asio::io_context context;
  return line(tcp::socket(context, tcp::v4()).local_endpoint());
}
ROW("socket: reads and shutdown without a peer") {
  asio::io_context context;
  tcp::socket socket(context, tcp::v4());
  char data[4];
  asio::error_code read, shut;
  socket.read_some(asio::buffer(data), read);
  socket.shutdown(tcp::socket::shutdown_send, shut);
  return line(read, shut);
}
ROW("socket: a port in use") {
  asio::io_context context;
  tcp::acceptor first(context, any_port());
  asio::error_code ec;
  tcp::acceptor second(context, tcp::v4());
  second.bind(first.local_endpoint(), ec);
  return line(ec, thrown_by([&] { tcp::acceptor(context, first.local_endpoint()); }));
}
ROW("socket: bind twice") {
  asio::io_context context;
  udp::socket socket(context, udp::endpoint(asio::ip::address_v4::loopback(), 0));
  asio::error_code ec;
  socket.bind(udp::endpoint(asio::ip::address_v4::loopback(), 0), ec);
  return line(ec);
}
ROW("socket: options of a new socket") {
  asio::io_context context;
  tcp::socket socket(context, tcp::v4());
  tcp::no_delay no_delay;
  tcp::socket::keep_alive keep_alive;
  tcp::socket::reuse_address reuse;
  tcp::socket::linger linger;
  tcp::socket::broadcast broadcast;
  socket.get_option(no_delay);
  socket.get_option(keep_alive);
  socket.get_option(reuse);
  socket.get_option(linger);
  socket.get_option(broadcast);
  return line(no_delay.value(), keep_alive.value(), reuse.value(), linger.enabled(),
              linger.timeout(), broadcast.value());
}
ROW("socket: options of an acceptor that an endpoint made") {
  asio::io_context context;
  tcp::acceptor acceptor(context, any_port()), plain(context, any_port(), false);
  tcp::acceptor::reuse_address a, b;
  acceptor.get_option(a);
  plain.get_option(b);
  return line(a.value(), b.value());
}
ROW("socket: options that were set") {
  asio::io_context context;
  tcp::socket socket(context, tcp::v4());
  socket.set_option(tcp::no_delay(true));
  socket.set_option(tcp::socket::linger(true, 7));
  socket.set_option(tcp::socket::keep_alive(true));
  tcp::no_delay no_delay;
  tcp::socket::linger linger;
  tcp::socket::keep_alive keep_alive;
  socket.get_option(no_delay);
  socket.get_option(linger);
  socket.get_option(keep_alive);
  return line(no_delay.value(), linger.enabled(), linger.timeout(), bool(keep_alive), !keep_alive);
}
ROW("socket: an option with a number is doubled by the kernel") {
  asio::io_context context;
  tcp::socket socket(context, tcp::v4());
  socket.set_option(tcp::socket::receive_buffer_size(8192));
  tcp::socket::receive_buffer_size size;
  socket.get_option(size);
  return line(size.value());
}
ROW("socket: an option of the wrong kind of socket") {
  asio::io_context context;
  udp::socket socket(context, udp::v4());
  asio::error_code ec;
  socket.set_option(tcp::no_delay(true), ec);
  return line(ec);
}
ROW("socket: an option of IPv6 on IPv4") {
  asio::io_context context;
  tcp::socket socket(context, tcp::v4());
  asio::error_code ec;
  socket.set_option(asio::ip::v6_only(true), ec);
  return line(ec);
}
ROW("socket: v6_only of a new socket") {
  asio::io_context context;
  asio::error_code ec;
  tcp::socket socket(context);
  socket.open(tcp::v6(), ec);
  if (ec) return "no IPv6";
  asio::ip::v6_only only;
  socket.get_option(only);
  return line(only.value());
}
ROW("socket: an option's default value") {
  return line(tcp::no_delay().value(), tcp::socket::linger().timeout(),
              tcp::socket::receive_buffer_size().value());
}
ROW("socket: non_blocking after each way to connect") {
  asio::io_context context;
  tcp::acceptor acceptor(context, any_port());
  tcp::socket sync(context), async(context), accepted(context);
  sync.connect(acceptor.local_endpoint());
  async.async_connect(acceptor.local_endpoint(), [](asio::error_code) {});
  acceptor.async_accept(accepted, [](asio::error_code) {});
  context.run();
  return line(sync.non_blocking(), async.non_blocking(), accepted.non_blocking(),
              acceptor.accept().non_blocking());
}
/// Calls `native_non_blocking(mode)` of a socket, if the library has it.
template <class Socket>
std::string native_mode(const Socket& socket) {
  if constexpr (requires { socket.native_non_blocking(); }) {
    return line(socket.native_non_blocking());
  } else {
    return "not there";
  }
}
ROW("socket: native_non_blocking of a new socket and behind connect") {
  asio::io_context context;
  tcp_pair pair(context);
  tcp::socket fresh(context, tcp::v4());
  return line(native_mode(fresh), native_mode(pair.near), native_mode(pair.far));
}
ROW("socket: native_non_blocking behind an operation") {
  asio::io_context context;
  tcp_pair pair(context);
  char data[4];
  pair.near.async_read_some(asio::buffer(data), [](asio::error_code, std::size_t) {});
  const std::string during = native_mode(pair.near);
  pair.near.cancel();
  context.run();
  return line(during, native_mode(pair.near));
}
ROW("socket: O_NONBLOCK of a socket that is only used synchronously") {
  asio::io_context context;
  tcp_pair pair(context);
  return line((::fcntl(pair.near.native_handle(), F_GETFL) & O_NONBLOCK) != 0);
}
ROW("socket: FD_CLOEXEC") {
  asio::io_context context;
  tcp_pair pair(context);
  return line((::fcntl(pair.near.native_handle(), F_GETFD) & FD_CLOEXEC) != 0,
              (::fcntl(pair.far.native_handle(), F_GETFD) & FD_CLOEXEC) != 0);
}
ROW("socket: synchronous functions of a non-blocking one") {
  asio::io_context context;
  tcp_pair pair(context);
  tcp::acceptor acceptor(context, any_port());
  pair.near.non_blocking(true);
  acceptor.non_blocking(true);
  char data[4];
  asio::error_code read, accept;
  pair.near.read_some(asio::buffer(data), read);
  acceptor.accept(accept);
  return line(read, accept, pair.near.non_blocking());
}
ROW("socket: an operation of a non-blocking one waits") {
  asio::io_context context;
  tcp_pair pair(context);
  pair.near.non_blocking(true);
  char data[4];
  trace words;
  pair.near.async_read_some(asio::buffer(data), note_size(words, "read"));
  words << context.poll();
  pair.far.write_some(asio::buffer("x", 1));
  context.run();
  return words;
}
ROW("socket: release") {
  asio::io_context context;
  tcp_pair pair(context);
  char data[4];
  trace words;
  pair.near.async_read_some(asio::buffer(data), note_size(words, "read"));
  const int fd = pair.near.release();
  words << pair.near.is_open() << context.run() << (::write(fd, "x", 1) == 1);
  ::close(fd);
  return words;
}
ROW("socket: assign") {
  asio::io_context context;
  tcp_pair pair(context);
  tcp::socket other(context);
  other.assign(tcp::v4(), pair.near.release());
  asio::error_code twice, bad;
  other.assign(tcp::v4(), 0, twice);
  tcp::socket third(context);
  third.assign(tcp::v4(), -1, bad);
  return line(other.is_open(), other.write_some(asio::buffer("x", 1)), twice, bad);
}
template <class Socket>
std::string mark_of(const Socket& socket) {
  if constexpr (requires { socket.at_mark(); }) {
    return line(socket.at_mark());
  } else {
    return "not there";
  }
}
ROW("socket: available") {
  asio::io_context context;
  tcp_pair pair(context);
  pair.far.write_some(asio::buffer("abc", 3));
  pair.near.wait(tcp::socket::wait_read);
  return line(pair.near.available());
}
ROW("socket: at_mark") {
  asio::io_context context;
  tcp_pair pair(context);
  return mark_of(pair.near);
}
ROW("socket: async_wait") {
  asio::io_context context;
  tcp_pair pair(context);
  trace words;
  pair.near.async_wait(tcp::socket::wait_write, note(words, "write"));
  pair.near.async_wait(tcp::socket::wait_read, note(words, "read"));
  context.poll();
  context.poll();
  pair.far.write_some(asio::buffer("x", 1));
  context.run();
  words << pair.near.available();
  return words;
}
ROW("socket: async_wait for an error that does not come is cancelled") {
  asio::io_context context;
  tcp_pair pair(context);
  trace words;
  pair.near.async_wait(tcp::socket::wait_error, note(words, "error"));
  context.poll();
  pair.near.cancel();
  context.run();
  return words;
}
}  // namespace semantics::sockets
