// SPDX-License-Identifier: BSL-1.0
//
// A chat room: every line that a client sends goes to all others. Lines for a client
// wait in a channel of its own; a client that does not keep up is disconnected, so that it does not
// slow the others down.
//   chat_server [PORT]        no port: any free one; it is printed
#include <beck/beck.hpp>
#include <cstdio>
#include <list>
#include <memory>
#include <string>

#include "number.hpp"

using beck::ip::tcp;

namespace {

using line = std::shared_ptr<const std::string>;

struct member {
  explicit member(tcp::socket connected) : socket(std::move(connected)) {}
  tcp::socket socket;
  beck::channel<line> outbox{256};
};

class room {
 public:
  beck::task<> join(tcp::socket socket) {
    const auto here = members_.emplace(members_.end(), std::move(socket));
    auto both = beck::when_any(listen(*here), speak(*here));  // the first that ends stops the other
    beck::ignore(co_await std::move(both));
    members_.erase(here);
  }

 private:
  beck::task<> listen(member& from) {
    std::string buffer;
    for (;;) {
      auto read = beck::async_read_until(from.socket, beck::dynamic_buffer(buffer, 4096), '\n');
      const auto [error, size] = co_await std::move(read);
      if (error) co_return;  // disconnected, or the line is too long
      const auto said = std::make_shared<const std::string>(buffer.substr(0, size));
      buffer.erase(0, size);
      for (member& other : members_) {
        if (&other != &from && !other.outbox.try_send(said)) other.outbox.close();
      }
    }
  }

  static beck::task<> speak(member& to) {
    for (;;) {
      const auto next = co_await to.outbox.async_receive();
      if (!next) co_return;  // closed: the client did not keep up
      if (const auto s = co_await beck::async_write(to.socket, beck::buffer(**next)); !s) co_return;
    }
  }

  std::list<member> members_;
};

beck::task<> serve(beck::task_group& sessions, tcp::acceptor& acceptor, room& all) {
  for (;;) {
    auto accepted = co_await acceptor.async_accept();
    if (!accepted) co_return;
    sessions.spawn(all.join(std::move(accepted).value()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto port = beck::ip::make_port(argc > 1 ? example::number(argv[1]) : 0);
  beck::io_context context;
  tcp::acceptor acceptor(context, tcp::endpoint(tcp::v4(), port));
  std::printf("listening on port %d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  room all;
  const auto body = [&](beck::task_group& sessions) { return serve(sessions, acceptor, all); };
  beck::co_spawn(context, beck::task_group::run(body), beck::detached);
  context.run();
}
