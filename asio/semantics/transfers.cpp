// SPDX-License-Identifier: BSL-1.0
// Reads and writes of sockets: ends, cancellation, sizes of zero, datagrams.
#include "rows.hpp"

#include <csignal>
#include <optional>

namespace semantics::transfers {

using asio::ip::tcp;
using asio::ip::udp;
using namespace std::chrono_literals;

udp::endpoint loopback() { return {asio::ip::address_v4::loopback(), 0}; }

/// Two sockets of UDP with addresses.
struct udp_pair {
  explicit udp_pair(asio::io_context& context)
      : near(context, loopback()), far(context, loopback()) {}
  udp::socket near;
  udp::socket far;
};

ROW("read: the end of the stream, again and again") {
  asio::io_context context;
  local_pair pair(context);
  pair.far.close();
  char data[4];
  trace words;
  asio::error_code ec;
  pair.near.read_some(asio::buffer(data), ec), words << ec;
  pair.near.async_read_some(asio::buffer(data), note_size(words, "read"));
  context.run();
  pair.near.read_some(asio::buffer(data), ec), words << ec;
  return words;
}
ROW("read: the end of the stream behind shutdown of the peer") {
  asio::io_context context;
  tcp_pair pair(context);
  pair.far.write_some(asio::buffer("ab", 2));
  pair.far.shutdown(tcp::socket::shutdown_send);
  char data[4];
  trace words;
  pair.near.async_read_some(asio::buffer(data), note_size(words, "first"));
  context.run();
  context.restart();
  pair.near.async_read_some(asio::buffer(data), note_size(words, "second"));
  context.run();
  return words;
}
ROW("read: behind shutdown of its own side") {
  asio::io_context context;
  tcp_pair pair(context);
  pair.near.shutdown(tcp::socket::shutdown_receive);
  char data[4];
  trace words;
  pair.near.async_read_some(asio::buffer(data), note_size(words, "read"));
  context.run();
  return words;
}
ROW("read: the peer resets the connection") {
  asio::io_context context;
  tcp_pair pair(context);
  pair.far.set_option(tcp::socket::linger(true, 0));
  pair.far.close();
  char data[4];
  trace words;
  pair.near.async_read_some(asio::buffer(data), note_size(words, "read"));
  context.run();
  return words;
}
ROW("read: a size of zero, synchronously") {
  asio::io_context context;
  local_pair pair(context);
  asio::error_code ec = asio::error::eof;
  const std::size_t n = pair.near.read_some(asio::mutable_buffer(), ec);
  return line(n, ec);
}
ROW("read: a size of zero") {
  asio::io_context context;
  local_pair pair(context);
  trace words;
  pair.near.async_read_some(asio::mutable_buffer(), note_size(words, "read"));
  words << "started" << context.run();
  return words;
}
ROW("read: a size of zero at the end of the stream") {
  asio::io_context context;
  local_pair pair(context);
  pair.far.close();
  asio::error_code ec = asio::error::not_found;
  pair.near.read_some(asio::mutable_buffer(), ec);
  trace words;
  words << ec;
  pair.near.async_read_some(asio::mutable_buffer(), note_size(words, "read"));
  context.run();
  return words;
}
ROW("write: a size of zero") {
  asio::io_context context;
  local_pair pair(context);
  trace words;
  asio::error_code ec = asio::error::eof;
  words << pair.near.write_some(asio::const_buffer(), ec) << ec;
  pair.near.async_write_some(asio::const_buffer(), note_size(words, "write"));
  context.run();
  words << pair.far.available();
  return words;
}
ROW("write: a size of zero to a closed peer") {
  asio::io_context context;
  local_pair pair(context);
  pair.far.close();
  asio::error_code ec = asio::error::eof;
  pair.near.write_some(asio::const_buffer(), ec);
  return line(ec);
}
ROW("write: to a closed peer, without a signal") {
  asio::io_context context;
  local_pair pair(context);
  std::signal(SIGPIPE, SIG_DFL);
  pair.far.close();
  asio::error_code ec, async;
  pair.near.write_some(asio::buffer("x", 1), ec);
  asio::async_write(pair.near, asio::buffer("x", 1), store(async));
  context.run();
  return line(ec, async);
}
ROW("write: behind shutdown of its own side") {
  asio::io_context context;
  tcp_pair pair(context);
  pair.near.shutdown(tcp::socket::shutdown_send);
  asio::error_code ec;
  pair.near.write_some(asio::buffer("x", 1), ec);
  return line(ec);
}
ROW("read: the handler never runs inside the call") {
  asio::io_context context;
  local_pair pair(context);
  pair.far.write_some(asio::buffer("x", 1));
  char data[4];
  trace words;
  asio::post(context, [&] {
    pair.near.async_read_some(asio::buffer(data), note_size(words, "read"));
    words << "end";
  });
  context.run();
  return words;
}
ROW("read: the handlers of two reads, in their order") {
  asio::io_context context;
  local_pair pair(context);
  char a[1], b[1];
  trace words;
  pair.near.async_read_some(asio::buffer(a), note_size(words, "a"));
  pair.near.async_read_some(asio::buffer(b), note_size(words, "b"));
  context.poll();
  pair.far.write_some(asio::buffer("xy", 2));
  context.run();
  words << a[0] << b[0];
  return words;
}
/// Starts a read whose data is there, and ends it before the context runs.
template <class End>
std::string read_ended_at_once(End end) {
  asio::io_context context;
  local_pair pair(context);
  pair.far.write_some(asio::buffer("x", 1));
  char data[4];
  trace words;
  pair.near.async_read_some(asio::buffer(data), note_size(words, "read"));
  end(pair.near);
  context.run();
  return words;
}
ROW("cancel: a read that waits") {
  asio::io_context context;
  local_pair pair(context);
  char data[4];
  trace words;
  pair.near.async_read_some(asio::buffer(data), note_size(words, "read"));
  context.poll();
  pair.near.cancel();
  words << "cancelled" << context.run() << pair.near.is_open();
  return words;
}
ROW("cancel: a read whose data was there when it started") {
  return read_ended_at_once([](auto& socket) { socket.cancel(); });
}
ROW("cancel: a read whose data came later, before run") {
  asio::io_context context;
  local_pair pair(context);
  char data[4];
  trace words;
  pair.near.async_read_some(asio::buffer(data), note_size(words, "read"));
  context.poll();
  pair.far.write_some(asio::buffer("x", 1));
  pair.near.cancel();
  context.run();
  return words;
}
ROW("cancel: without an operation") {
  asio::io_context context;
  local_pair pair(context);
  asio::error_code ec = asio::error::eof;
  pair.near.cancel(ec);
  return line(ec);
}
ROW("close: with a read and a write that wait") {
  asio::io_context context;
  tcp_pair pair(context);
  char data[4];
  const std::string much(50'000'000, 'x');
  trace words;
  pair.near.async_read_some(asio::buffer(data), note(words, "read"));
  asio::async_write(pair.near, asio::buffer(much), note(words, "write"));
  context.poll();
  pair.near.close();
  words << "closed" << context.run();
  return words;
}
ROW("close: inside of a handler, the others come later") {
  asio::io_context context;
  local_pair pair(context);
  char data[4];
  trace words;
  pair.near.async_read_some(asio::buffer(data), note_size(words, "read"));
  asio::post(context, [&] {
    pair.near.close();
    words << "end";
  });
  context.run();
  return words;
}
ROW("close: a read whose data was there when it started") {
  return read_ended_at_once([](auto& socket) { socket.close(); });
}
ROW("destructor: a read that waits") {
  asio::io_context context;
  std::optional<local_pair> pair(std::in_place, context);
  char data[4];
  trace words;
  pair->near.async_read_some(asio::buffer(data), note_size(words, "read"));
  pair.reset();
  words << "destroyed" << context.run();
  return words;
}
ROW("move: a read that waits goes along") {
  asio::io_context context;
  local_pair pair(context);
  char data[4];
  trace words;
  pair.near.async_read_some(asio::buffer(data), note_size(words, "read"));
  auto moved = std::move(pair.near);
  pair.far.write_some(asio::buffer("x", 1));
  words << context.run() << moved.is_open();
  return words;
}
ROW("shutdown: ends a read that waits") {
  asio::io_context context;
  tcp_pair pair(context);
  char data[4];
  trace words;
  pair.near.async_read_some(asio::buffer(data), note_size(words, "read"));
  context.poll();
  pair.near.shutdown(tcp::socket::shutdown_both);
  context.run();
  return words;
}
/// Reads with message_peek, if the library has it.
template <class Socket>
std::string peek(Socket& socket) {
  if constexpr (requires { Socket::message_peek; }) {
    char data[2];
    const std::size_t peeked = socket.receive(asio::buffer(data), Socket::message_peek);
    const std::size_t n = socket.receive(asio::buffer(data));
    return line(peeked, n, socket.available());
  } else {
    return "not there";
  }
}
ROW("receive: message_peek") {
  asio::io_context context;
  local_pair pair(context);
  pair.far.send(asio::buffer("abc", 3));
  return peek(pair.near);
}
ROW("read: into a sequence of buffers") {
  asio::io_context context;
  local_pair pair(context);
  pair.far.write_some(asio::buffer("abc", 3));
  char a[2], b[2];
  std::array<asio::mutable_buffer, 2> parts = {asio::buffer(a), asio::buffer(b)};
  const std::size_t n = pair.near.read_some(parts);
  return line(n, a[0], a[1], b[0]);
}

ROW("datagram: longer than the buffer, receive_from") {
  asio::io_context context;
  udp_pair pair(context);
  pair.far.send_to(asio::buffer("hello", 5), pair.near.local_endpoint());
  char data[3];
  udp::endpoint from;
  asio::error_code ec;
  const std::size_t n = pair.near.receive_from(asio::buffer(data), from, 0, ec);
  return line(ec, n, from == pair.far.local_endpoint(), std::string(data, n));
}
ROW("datagram: longer than the buffer, async_receive_from") {
  asio::io_context context;
  udp_pair pair(context);
  char data[3];
  udp::endpoint from;
  trace words;
  pair.near.async_receive_from(asio::buffer(data), from, note_size(words, "receive"));
  context.poll();
  pair.far.send_to(asio::buffer("hello", 5), pair.near.local_endpoint());
  context.run();
  words << (from == pair.far.local_endpoint());
  return words;
}
ROW("datagram: longer than the buffer, the next one is whole") {
  asio::io_context context;
  udp_pair pair(context);
  pair.near.connect(pair.far.local_endpoint());
  pair.far.connect(pair.near.local_endpoint());
  pair.far.send(asio::buffer("hello", 5));
  pair.far.send(asio::buffer("ab", 2));
  char data[3];
  trace words;
  pair.near.async_receive(asio::buffer(data), note_size(words, "first"));
  pair.near.async_receive(asio::buffer(data), note_size(words, "second"));
  context.run();
  return words;
}
ROW("datagram: longer than the buffer, of a UNIX socket") {
  asio::io_context context;
  asio::local::datagram_protocol::socket near(context), far(context);
  asio::local::connect_pair(near, far);
  far.send(asio::buffer("hello", 5));
  char data[3];
  asio::error_code ec;
  const std::size_t n = near.receive(asio::buffer(data), 0, ec);
  return line(ec, n);
}
ROW("datagram: empty") {
  asio::io_context context;
  udp_pair pair(context);
  pair.far.send_to(asio::const_buffer(), pair.near.local_endpoint());
  char data[3];
  udp::endpoint from;
  trace words;
  pair.near.async_receive_from(asio::buffer(data), from, note_size(words, "receive"));
  context.run();
  words << (from == pair.far.local_endpoint());
  return words;
}
ROW("datagram: into no buffer") {
  asio::io_context context;
  udp_pair pair(context);
  pair.far.send_to(asio::buffer("hello", 5), pair.near.local_endpoint());
  udp::endpoint from;
  trace words;
  pair.near.async_receive_from(asio::mutable_buffer(), from, note_size(words, "receive"));
  context.run();
  return words;
}
ROW("datagram: too long to send") {
  asio::io_context context;
  udp_pair pair(context);
  const std::string much(70000, 'x');
  asio::error_code ec;
  trace words;
  words << pair.far.send_to(asio::buffer(much), pair.near.local_endpoint(), 0, ec) << ec;
  pair.far.async_send_to(asio::buffer(much), pair.near.local_endpoint(), note_size(words, "send"));
  context.run();
  return words;
}
ROW("datagram: refused by a closed port") {
  asio::io_context context;
  udp_pair pair(context);
  const auto place = pair.far.local_endpoint();
  pair.far.close();
  pair.near.connect(place);
  char data[3];
  trace words;
  pair.near.send(asio::buffer("x", 1));
  pair.near.async_receive(asio::buffer(data), note_size(words, "receive"));
  context.run();
  return words;
}
ROW("datagram: send without a peer") {
  asio::io_context context;
  udp_pair pair(context);
  asio::error_code ec;
  pair.near.send(asio::buffer("x", 1), 0, ec);
  return line(ec);
}
ROW("datagram: available is the size of the next one") {
  asio::io_context context;
  udp_pair pair(context);
  pair.far.send_to(asio::buffer("hello", 5), pair.near.local_endpoint());
  pair.far.send_to(asio::buffer("ab", 2), pair.near.local_endpoint());
  return line(pair.near.available());
}
ROW("datagram: receive is cancelled") {
  asio::io_context context;
  udp_pair pair(context);
  char data[3];
  udp::endpoint from;
  trace words;
  pair.near.async_receive_from(asio::buffer(data), from, note_size(words, "receive"));
  pair.near.cancel();
  context.run();
  return words;
}
ROW("datagram: send_to opens no closed socket") {
  asio::io_context context;
  udp::socket socket(context);
  asio::error_code ec;
  socket.send_to(asio::buffer("x", 1), udp::endpoint(asio::ip::address_v4::loopback(), 9), 0, ec);
  return line(ec);
}

}  // namespace semantics::transfers
