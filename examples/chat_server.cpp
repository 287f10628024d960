// SPDX-License-Identifier: BSL-1.0
// A chat: every line that a client sends goes to all others. Each client has a channel of lines to
// be written; one that does not keep up is dropped.
//   chat_server [PORT]        then: nc 127.0.0.1 PORT
#include <algorithm>
#include <beck/beck.hpp>
#include <beck/coro/when_all.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "number.hpp"

using beck::ip::tcp;

namespace {

using line = std::shared_ptr<const std::string>;
constexpr std::size_t line_bytes_max = 4096;
constexpr std::size_t lines_behind_max = 1000;

struct member {
  explicit member(tcp::socket connected) : socket(std::move(connected)) {}
  tcp::socket socket;
  beck::channel<line> outbox{beck::unbounded, lines_behind_max};
};
using room = std::vector<member*>;

beck::task<> read_lines(const room& everybody, member& self) {
  std::string text;
  for (;;) {
    const auto [error, size] = co_await beck::async_read_until(
        self.socket, beck::dynamic_buffer(text, line_bytes_max), '\n');
    if (error) break;  // the client has left, or its line is too long
    const auto said = std::make_shared<const std::string>(text, 0, size);
    for (member* other : everybody) {
      if (other != &self && !other->outbox.try_send(said)) other->socket.close();
    }
    text.erase(0, size);
  }
  self.outbox.close();
}

beck::task<> write_lines(member& self) {
  while (const auto said = co_await self.outbox.async_receive()) {  // until it is closed and empty
    const auto written = co_await beck::async_write(self.socket, beck::buffer(**said));
    if (!written) break;
  }
  self.socket.close();
}

beck::task<> session(room& everybody, tcp::socket socket) {
  member self(std::move(socket));
  everybody.push_back(&self);
  beck::ignore(co_await beck::when_all(read_lines(everybody, self), write_lines(self)));
  std::erase(everybody, &self);
}

beck::task<> serve(room& everybody, tcp::acceptor acceptor) {
  while (auto accepted = co_await acceptor.async_accept()) {
    beck::spawn(session(everybody, std::move(accepted).value()));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const auto port = beck::ip::make_port(argc > 1 ? example::number(argv[1]) : 0);
  room everybody;
  beck::io_context context;
  tcp::acceptor acceptor(context, tcp::endpoint(tcp::v4(), port));
  std::printf("listening on port %d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  beck::co_spawn(context, serve(everybody, std::move(acceptor)), beck::detached);
  context.run();
} catch (const std::exception& e) {
  std::fprintf(stderr, "chat_server: %s\n", e.what());
  return 1;
}
