// SPDX-License-Identifier: BSL-1.0
// Accepting and connecting: what was refused, cancelled or closed, ranges of endpoints.
#include "rows.hpp"

namespace semantics::connecting {

using asio::ip::tcp;

/// Returns an endpoint at which nothing listens.
tcp::endpoint refused(asio::io_context& context) {
  return tcp::acceptor(context, any_port()).local_endpoint();
}

ROW("socket: connect refused") {
  asio::io_context context;
  tcp::socket socket(context);
  asio::error_code sync, async;
  socket.connect(refused(context), sync);
  const bool open = socket.is_open();
  socket.close();
  socket.async_connect(refused(context), store(async));
  context.run();
  return line(sync, open, async, socket.is_open());
}
ROW("socket: connect twice") {
  asio::io_context context;
  tcp_pair pair(context);
  asio::error_code ec, async;
  const auto place = pair.near.remote_endpoint();
  pair.near.connect(place, ec);
  pair.near.async_connect(place, store(async));
  context.run();
  return line(ec, async);
}
ROW("socket: connect to an address of the other family") {
  asio::io_context context;
  tcp::socket socket(context, tcp::v4());
  asio::error_code ec, async;
  socket.connect(tcp::endpoint(asio::ip::address_v6::loopback(), 1), ec);
  socket.async_connect(tcp::endpoint(asio::ip::address_v6::loopback(), 1), store(async));
  context.run();
  return line(ec, async);
}
ROW("accept: into an open socket") {
  asio::io_context context;
  tcp::acceptor acceptor(context, any_port());
  tcp::socket client(context), open(context, tcp::v4());
  client.connect(acceptor.local_endpoint());
  asio::error_code ec, async;
  acceptor.accept(open, ec);
  acceptor.async_accept(open, store(async));
  context.run();
  return line(ec, async);
}
ROW("accept: with the endpoint of the peer") {
  asio::io_context context;
  tcp::acceptor acceptor(context, any_port());
  tcp::socket client(context), peer(context);
  client.connect(acceptor.local_endpoint());
  tcp::endpoint place;
  acceptor.accept(peer, place);
  return line(place == client.local_endpoint(), place == peer.remote_endpoint());
}
ROW("accept: several that wait, in their order") {
  asio::io_context context;
  tcp::acceptor acceptor(context, any_port());
  trace words;
  tcp::endpoint first;
  acceptor.async_accept([&](asio::error_code, tcp::socket peer) {
    words << "a" << (peer.remote_endpoint() == first);
  });
  acceptor.async_accept([&](asio::error_code, tcp::socket) { words << "b"; });
  context.poll();
  tcp::socket one(context), two(context);
  one.connect(acceptor.local_endpoint());
  first = one.local_endpoint();
  two.connect(acceptor.local_endpoint());
  context.run();
  return words;
}
ROW("accept: cancelled, and closed") {
  asio::io_context context;
  tcp::acceptor acceptor(context, any_port());
  trace words;
  acceptor.async_accept(note(words, "first"));
  acceptor.cancel();
  words << "cancelled" << context.run();
  context.restart();
  acceptor.async_accept(note(words, "second"));
  acceptor.close();
  words << "closed" << context.run();
  return words;
}
ROW("accept: the socket behind an error") {
  asio::io_context context;
  tcp::acceptor acceptor(context, any_port());
  trace words;
  acceptor.async_accept(
      [&](asio::error_code ec, tcp::socket peer) { words << ec << peer.is_open(); });
  acceptor.close();
  context.run();
  return words;
}
ROW("accept: a socket with another executor") {
  asio::io_context context, other;
  tcp::acceptor acceptor(context, any_port());
  tcp::socket client(context);
  client.connect(acceptor.local_endpoint());
  bool is_other = false;
  acceptor.async_accept(other, [&](asio::error_code, tcp::socket peer) {
    is_other = peer.get_executor() == asio::any_io_executor(other.get_executor());
  });
  context.run();
  return line(is_other);
}
ROW("connect: a range of endpoints") {
  asio::io_context context;
  tcp::acceptor acceptor(context, any_port());
  const std::vector<tcp::endpoint> places = {refused(context), acceptor.local_endpoint()};
  tcp::socket socket(context);
  const auto reached = asio::connect(socket, places);
  return line(reached == acceptor.local_endpoint(), socket.is_open());
}
ROW("connect: an empty range") {
  asio::io_context context;
  tcp::socket socket(context);
  asio::error_code ec, async;
  const std::vector<tcp::endpoint> none;
  asio::connect(socket, none, ec);
  tcp::endpoint reached(tcp::v4(), 5);
  asio::async_connect(socket, none, [&](asio::error_code e, tcp::endpoint place) {
    async = e;
    reached = place;
  });
  context.run();
  return line(ec, async, reached, socket.is_open());
}
ROW("connect: all refuse") {
  asio::io_context context;
  const std::vector<tcp::endpoint> places = {refused(context), refused(context)};
  tcp::socket socket(context);
  asio::error_code ec, async;
  asio::connect(socket, places, ec);
  const bool open = socket.is_open();
  asio::async_connect(socket, places, store(async));
  context.run();
  return line(ec, open, async, socket.is_open());
}
ROW("connect: a condition leaves endpoints out") {
  asio::io_context context;
  tcp::acceptor first(context, any_port()), second(context, any_port());
  const std::vector<tcp::endpoint> places = {first.local_endpoint(), second.local_endpoint()};
  tcp::socket socket(context);
  trace words;
  asio::async_connect(
      socket, places,
      [&](const asio::error_code& ec, const tcp::endpoint& next) {
        words << ec;
        return next == second.local_endpoint();
      },
      [&](asio::error_code ec, tcp::endpoint place) {
        words << ec << (place == second.local_endpoint());
      });
  context.run();
  return words;
}
ROW("connect: cancelled by close") {
  asio::io_context context;
  tcp::acceptor acceptor(context, any_port());
  tcp::socket socket(context);
  trace words;
  asio::async_connect(socket, std::vector{acceptor.local_endpoint()}, note(words, "connect"));
  socket.close();
  context.run();
  return words;
}

}  // namespace semantics::connecting
