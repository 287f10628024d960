// SPDX-License-Identifier: BSL-1.0
// A server whose answers a test writes: those that memory_server does not send, or not
// at that moment.
#pragma once

#include <beck/redis/reply_writer.hpp>
#include <beck/redis/request_parser.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/event.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace beck::redis::test {

/// Accepts connections on a port of its own, and answers as the test says. The first command of a
/// connection, HELLO, is answered by itself.
class hand_server {
 public:
  /// Takes a command and adds the answer, or nothing.
  using answer_function = std::function<void(const arguments& command, reply_writer& to)>;

  hand_server(io_context& ctx, answer_function answer)
      : ctx_(ctx), acceptor_(ctx), state_(std::make_shared<state>()) {
    state_->answer = std::move(answer);
    acceptor_.open(ip::tcp::v4());
    acceptor_.bind(ip::tcp::endpoint(ip::make_address("127.0.0.1"), 0));
    acceptor_.listen();
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
    if (!last_) return;
    last_->out += bytes;
    last_->ready.set();
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
    if (last_) last_->socket.close();
    if (last_) last_->is_over = true;
    if (last_) last_->ready.set();
    last_.reset();
  }
  int connections() const { return connections_; }

 private:
  struct state {
    answer_function answer;
  };
  struct peer {
    explicit peer(io_context& ctx) : socket(ctx) {}
    ip::tcp::socket socket;
    std::string out;
    auto_reset_event ready;
    bool is_over = false;
  };

  task<> accept() {
    for (;;) {
      auto made = std::make_shared<peer>(ctx_);
      auto accepted = co_await acceptor_.async_accept(made->socket);
      if (accepted.error()) co_return;
      made->socket.set_option(ip::tcp::no_delay(true));
      ++connections_;
      last_ = made;
      co_spawn(ctx_, read(made, state_), detached);
      co_spawn(ctx_, write(made), detached);
    }
  }
  static task<> read(std::shared_ptr<peer> p, std::shared_ptr<state> s) {
    request_parser parser;
    std::string in;
    char part[4096];
    bool is_greeted = false;
    for (;;) {
      auto got = co_await p->socket.async_read_some(buffer(part));
      if (got.error()) break;
      in.append(part, got.value_);
      for (;;) {
        const parsed_request found = parser.parse(in);
        if (found.event == request_event::command) {
          reply_writer to(protocol::resp3);
          if (std::exchange(is_greeted, true)) {
            s->answer(found.command, to);
          } else {
            to.map(0);
          }
          p->out += to.bytes();
        }
        in.erase(0, found.consumed);
        if (found.event != request_event::command) break;
      }
      p->ready.set();
    }
    p->is_over = true;
    p->ready.set();
  }
  static task<> write(std::shared_ptr<peer> p) {
    while (!p->is_over) {
      const std::string bytes = std::exchange(p->out, {});
      if (!bytes.empty()) beck::ignore(co_await async_write(p->socket, buffer(bytes)));
      if (p->out.empty()) beck::ignore(co_await p->ready.wait());
    }
  }

  io_context& ctx_;
  ip::tcp::acceptor acceptor_;
  std::shared_ptr<state> state_;
  std::shared_ptr<peer> last_;
  int connections_ = 0;
};

}  // namespace beck::redis::test
