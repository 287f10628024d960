// SPDX-License-Identifier: BSL-1.0
// A server whose answers a test writes: those that memory_server does not send, or not
// at that moment.
#pragma once

#include <beck/redis/reply_writer.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_context.hpp>
#include <beck/net/tcp.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "redis/server_peer.hpp"

namespace beck::redis::test {

/// Accepts connections on a port of its own, and answers as the test says. The first command of a
/// connection, HELLO, is answered by itself.
class hand_server {
 public:
  /// Takes a command and adds the answer, or nothing.
  using answer_function = std::function<void(const arguments& command, reply_writer& to)>;

  hand_server(io_context& ctx, answer_function answer)
      : ctx_(ctx), acceptor_(ctx), answer_(std::make_shared<answer_function>(std::move(answer))) {
    listen_at(acceptor_, ip::tcp::endpoint(ip::make_address("127.0.0.1"), 0));
    co_spawn(ctx_, accept(), detached);
  }
  ~hand_server() {
    cut();
    acceptor_.close();
  }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port()); }
  /// Sends bytes on the last connection.
  void send(std::string_view bytes) {
    if (last_) last_->send(bytes);
  }
  /// Sends a push of texts.
  template <class... Text>
  void push(const Text&... texts) {
    reply_writer to(protocol::resp3);
    to.push(sizeof...(texts));
    (to.bulk(texts), ...);
    send(to.bytes());
  }
  /// Closes the last connection.
  void cut() {
    if (last_) last_->end();
    last_.reset();
  }
  int connections() const { return connections_; }

 private:
  struct peer : server_peer {
    using server_peer::server_peer;
    bool is_greeted = false;
  };

  task<> accept() {
    for (;;) {
      auto made = std::make_shared<peer>(ctx_);
      auto accepted = co_await acceptor_.async_accept(made->socket);
      if (accepted.error()) co_return;
      made->socket.set_option(ip::tcp::no_delay(true));
      ++connections_;
      last_ = made;
      const auto execute_now = [p = made.get(), answer = answer_] { execute(*p, *answer); };
      co_spawn(ctx_, receive_commands(made, execute_now), detached);
      co_spawn(ctx_, send_answers(made), detached);
    }
  }
  static void execute(peer& p, const answer_function& answer) {
    p.execute(false, [&](const arguments& command, reply_writer& to) {
      if (std::exchange(p.is_greeted, true)) {
        answer(command, to);
      } else {
        to.map(0);
      }
    });
  }

  io_context& ctx_;
  ip::tcp::acceptor acceptor_;
  std::shared_ptr<answer_function> answer_;
  std::shared_ptr<peer> last_;
  int connections_ = 0;
};

}  // namespace beck::redis::test
