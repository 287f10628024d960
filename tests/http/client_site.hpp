// SPDX-License-Identifier: BSL-1.0
// A client and a scripted server on one context: the server answers each request with the next
// bytes of its script, and writes down what it was asked.
#pragma once

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/http/body_decoder.hpp>
#include <beck/http/client.hpp>
#include <beck/http/parser.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>

#include <doctest/doctest.h>

#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/context_options.hpp"

namespace beck::http::test {

/// What the server does behind the bytes of an answer.
enum class after { keep, end, reset };

/// One answer of the script.
struct answer {
  std::string text;
  after then;
};

/// A request as the server got it.
struct asked {
  std::size_t connection = 0;
  std::string head;
  std::string body;
};

inline std::string ok(std::string_view body, std::string_view more = {}) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(more) + "\r\n" + std::string(body);
}

/// A server with a script.
class scripted_server {
 public:
  scripted_server(io_context& context, const ip::tcp::endpoint& at)
      : ctx_(context), acceptor_(context, at) {
    co_spawn(ctx_, accept_all(), detached);
  }
  ip::tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }
  /// Adds an answer. Without one a connection that has sent a request stays silent.
  void will(std::string text, after then = after::keep) {
    script_.push_back({std::move(text), then});
  }
  /// Sends bytes that nobody has asked for on a connection.
  void push(std::size_t connection, std::string text) {
    auto kept = std::make_shared<std::string>(std::move(text));
    async_write(*sockets_.at(connection), buffer(*kept), [kept](error_code, std::size_t) {});
  }
  void close(std::size_t connection) { sockets_.at(connection)->close(); }
  void stop() {
    acceptor_.close();
    for (auto& each : sockets_) each->close();
  }
  std::size_t connections() const { return sockets_.size(); }

  std::vector<asked> requests;
  std::size_t ends = 0;        ///< connections that the client has ended
  bool answers_early = false;  ///< at the end of the head, without the body
  std::size_t dropped = 0;     ///< bytes behind early answers
  bool continues = false;      ///< sends "100 Continue" where it is expected

 private:
  task<> accept_all() {
    for (;;) {
      auto got = co_await acceptor_.async_accept();
      if (got.error()) co_return;
      sockets_.push_back(std::make_shared<ip::tcp::socket>(std::move(got).value()));
      co_spawn(ctx_, serve(sockets_.back(), sockets_.size() - 1), detached);
    }
  }
  task<> serve(std::shared_ptr<ip::tcp::socket> socket, std::size_t number) {
    std::string input;
    char part[4096];
    const mutable_buffer room(part, sizeof part);
    for (;;) {
      request_parser parser;
      request_head head;
      while (parser.parse(input, head) == parse_status::more) {
        auto got = co_await socket->async_read_some(room);
        if (got.error()) {
          ++ends;
          co_return;
        }
        input.append(part, got.value_);
      }
      asked one{number, input.substr(0, head.bytes()), {}};
      body_limits bounds;
      bounds.body_bytes = UINT64_MAX / 4;
      body_decoder decoder(head, bounds);
      if (continues && head.expects_continue()) {
        const std::string_view go = "HTTP/1.1 100 Continue\r\n\r\n";
        ignore(co_await async_write(*socket, buffer(go)));
      }
      input.erase(0, head.bytes());
      if (answers_early) dropped += input.size();
      while (!answers_early) {
        const body_part found = decoder.decode(input);
        one.body.append(found.data);
        input.erase(0, found.consumed);
        if (found.status != parse_status::more) break;
        if (found.consumed != 0) continue;
        auto got = co_await socket->async_read_some(room);
        if (got.error()) {
          ++ends;
          co_return;
        }
        input.append(part, got.value_);
      }
      requests.push_back(std::move(one));
      if (script_.empty() && answers_early) co_return;  // the rest is never read
      if (script_.empty()) continue;
      const answer next = std::move(script_.front());
      script_.pop_front();
      ignore(co_await async_write(*socket, buffer(next.text)));
      if (next.then == after::reset) {
        socket->set_option(socket_base::linger(true, 0));
        socket->close();
        co_return;
      }
      if (next.then == after::end) {
        error_code ec;
        socket->shutdown(ip::tcp::socket::shutdown_send, ec);
      }
      while (answers_early) {  // what comes is no request
        auto got = co_await socket->async_read_some(room);
        dropped += got.value_;
        if (!got.error()) continue;
        ++ends;
        co_return;
      }
    }
  }

  io_context& ctx_;
  ip::tcp::acceptor acceptor_;
  std::vector<std::shared_ptr<ip::tcp::socket>> sockets_;
  std::deque<answer> script_;
};

/// What became of a call.
struct outcome {
  error_code ec;  ///< of the head
  unsigned status = 0;
  std::string head_field;  ///< the field X
  std::string body;
  error_code body_ec;
  std::string url;
  std::string failure;
  bool done = false;
};

/// Waits for a response and reads its body.
inline task<> collect(detail::call_finish operation, outcome& to) {
  auto got = co_await std::move(operation);
  to.ec = got.error();
  to.failure = got->error_text();
  if (!got.error()) {
    const client_response r = std::move(got).value();
    to.status = beck::http::number_of(r.status());
    to.head_field = r.get("X");
    to.url = r.url();
    auto read = co_await r.body().async_read_all(10'000'000);
    to.body_ec = read.error();
    to.body = std::move(read.value_);
  }
  to.done = true;
}

/// A client and a scripted server on a context of the case's backend.
struct client_site {
  explicit client_site(const client_options& how = client_options())
      : ctx(context_options()),
        server(ctx, ip::tcp::endpoint(ip::address_v4::loopback(), 0)),
        web(std::make_unique<client>(ctx, how)) {}
  ~client_site() { end(); }
  /// Ends both, and runs until nothing is left: nothing of them waits for ever.
  void end() {
    web.reset();
    server.stop();
    ctx.restart();
    ctx.run();
  }

  std::string url(std::string_view path = "/") const {
    return "http://127.0.0.1:" + std::to_string(server.endpoint().port()) + std::string(path);
  }
  /// Runs handlers until `done()` is true. Fails the case if the context runs out of work.
  template <class Done>
  void run_until(Done done) {
    while (!done()) {
      ctx.restart();
      REQUIRE(ctx.run_one() != 0);
    }
  }
  outcome& start(detail::call_finish operation) {
    outcome& made = outcomes.emplace_back();
    co_spawn(ctx, collect(std::move(operation), made), detached);
    return made;
  }
  outcome& start(std::string_view path = "/") { return start(web->async_get(url(path))); }
  const outcome& finish(detail::call_finish operation) {
    outcome& made = start(std::move(operation));
    run_until([&] { return made.done; });
    return made;
  }
  const outcome& get(std::string_view path = "/") { return finish(web->async_get(url(path))); }
  /// Runs what can run now.
  void settle() {
    for (int i = 0; i < 50; ++i) {
      ctx.restart();
      ctx.poll();
    }
  }

  io_context ctx;
  scripted_server server;
  std::unique_ptr<client> web;
  std::deque<outcome> outcomes;
};

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace beck::http::test
