// SPDX-License-Identifier: BSL-1.0
//
// Sends the data of each client to all others. A silent client needs no buffer: the context lends
// one when data arrives. Data for a client waits in a queue of 64 KiB; a client that does not keep
// up is disconnected, so that it does not slow the others down.
//   broadcast_server [PORT]        no port: any free one; it is printed
#include <beck/beck.hpp>
#include <beck/io/buffer_lease.hpp>
#include <beck/io/write_queue.hpp>
#include <cstdio>
#include <list>

#include "number.hpp"

using beck::ip::tcp;

namespace {

struct client {
  explicit client(tcp::socket connected) : socket(std::move(connected)) {}
  tcp::socket socket;
  beck::write_queue out{socket, 64 * 1024};
};

class broadcast {
 public:
  beck::task<> serve(tcp::socket socket) {
    const auto here = clients_.emplace(clients_.end(), std::move(socket));
    for (;;) {
      auto heard = co_await beck::async_receive(here->socket);
      if (!heard) break;  // it has disconnected, or was too slow
      for (client& other : clients_) {
        if (&other != &*here && other.out.push(heard->buffer())) other.socket.close();
      }
    }
    clients_.erase(here);
  }

 private:
  std::list<client> clients_;
};

beck::task<> accept_all(beck::task_group& sessions, tcp::acceptor& acceptor, broadcast& all) {
  for (;;) {
    auto accepted = co_await acceptor.async_accept();
    if (!accepted) co_return;
    sessions.spawn(all.serve(std::move(accepted).value()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto port = beck::ip::make_port(argc > 1 ? example::number(argv[1]) : 0);
  beck::io_context context;
  tcp::acceptor acceptor(context, tcp::endpoint(tcp::v4(), port));
  std::printf("listening on port %d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  broadcast all;
  const auto body = [&](beck::task_group& sessions) { return accept_all(sessions, acceptor, all); };
  beck::co_spawn(context, beck::task_group::run(body), beck::detached);
  context.run();
}
