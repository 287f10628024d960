// SPDX-License-Identifier: BSL-1.0
// The connections of servers that tests write themselves: commands are received and parsed, and
// answers are sent in their order.
#pragma once

#include <beck/redis/reply_writer.hpp>
#include <beck/redis/request_parser.hpp>

#include <beck/coro/event.hpp>
#include <beck/coro/task.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace beck::redis::test {

/// A connection of such a server. Thread: that of the context.
struct server_peer {
  explicit server_peer(io_context& ctx) : socket(ctx) {}

  void send(std::string_view bytes) {
    out += bytes;
    ready.set();
  }
  void end() {
    is_over = true;
    socket.close();
    ready.set();
  }
  /// Calls `take(command, answer)` for each command that has come, until `is_paused`.
  template <class Take>
  void execute(const bool& is_paused, Take take) {
    while (!is_paused && !is_over) {
      const parsed_request found = parser.parse(in);
      if (found.event == request_event::command) {
        reply_writer to(version);
        take(found.command, to);
        out += to.bytes();
      }
      in.erase(0, found.consumed);
      if (found.event != request_event::command) break;
    }
    ready.set();
  }

  ip::tcp::socket socket;
  request_parser parser;
  std::string in;   // that is not executed
  std::string out;  // that is not sent
  auto_reset_event ready;
  protocol version = protocol::resp3;  // of the answers
  bool is_over = false;
};

/// Receives until the end, and calls `execute()` with each part.
template <class Execute>
task<> receive_commands(std::shared_ptr<server_peer> p, Execute execute) {
  char part[4096];
  while (!p->is_over) {
    auto got = co_await p->socket.async_read_some(buffer(part));
    if (got.error()) break;
    p->in.append(part, got.value_);
    execute();
  }
  p->is_over = true;
  p->ready.set();
}

/// Sends until the end, and closes the connection.
inline task<> send_answers(std::shared_ptr<server_peer> p) {
  while (!p->is_over) {
    const std::string bytes = std::exchange(p->out, {});
    if (!bytes.empty()) beck::ignore(co_await async_write(p->socket, buffer(bytes)));
    if (p->out.empty()) beck::ignore(co_await p->ready.wait());
  }
  p->socket.close();
}

/// Opens an acceptor on an address.
inline void listen_at(ip::tcp::acceptor& on, const ip::tcp::endpoint& at) {
  on.open(at.protocol());
  on.set_option(ip::tcp::acceptor::reuse_address(true));
  on.bind(at);
  on.listen();
}

/// Returns "127.0.0.1:6379" of an endpoint.
inline std::string text_of(const ip::tcp::endpoint& at) {
  const auto host = at.address().to_string();
  return std::string(host.data(), host.size()) + ":" + std::to_string(at.port());
}

}  // namespace beck::redis::test
