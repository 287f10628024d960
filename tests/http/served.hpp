// SPDX-License-Identifier: BSL-1.0
// A server and peers of it on one context, for cases about the server: text in, responses out.
#pragma once

#include <beck/coro/co_spawn.hpp>
#include <beck/http/body_decoder.hpp>
#include <beck/http/parser.hpp>
#include <beck/http/server.hpp>
#include <beck/io/read_write.hpp>

#include <doctest/doctest.h>

#include <deque>
#include <exception>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/masked_layer.hpp"
#include "support/context_options.hpp"

namespace beck::http::test {

/// A response as a client sees it.
struct seen_response {
  unsigned status = 0;
  std::string fields;  ///< the text of the head
  std::string body;
  bool whole = false;
};

/// Adds the texts of the exceptions that leave the server's handlers to `texts`.
inline void note_thrown(http::server& server, std::vector<std::string>& texts) {
  server.on_finish([&texts](const exchange_record& one) {
    try {
      if (one.thrown) std::rethrow_exception(one.thrown);
    } catch (const std::exception& e) {
      texts.emplace_back(e.what());
    }
  });
}

/// Takes the responses in `text` apart. `heads`: their requests had the method HEAD.
inline std::vector<seen_response> responses_in(std::string_view text, bool heads = false) {
  std::vector<seen_response> all;
  while (!text.empty()) {
    response_parser parser;
    response_head head;
    const method asked = heads ? method::head : method::get;
    if (parser.parse(text, asked, head) != parse_status::done) {
      all.push_back({0, std::string(text), {}, false});
      break;
    }
    seen_response one{
        beck::http::number_of(head.status()), std::string(text.substr(0, head.bytes())), {}, false};
    body_limits bounds;
    bounds.body_bytes = UINT64_MAX / 4;
    body_decoder decoder(head, bounds);
    text.remove_prefix(head.bytes());
    if (one.status >= 200) {
      for (;;) {
        const body_part part = decoder.decode(text);
        one.body += part.data;
        text.remove_prefix(part.consumed);
        if (part.status != parse_status::more || part.consumed == 0) break;
      }
      one.whole = decoder.is_done() || decoder.end_of_input() == parse_status::done;
    }
    all.push_back(one);
  }
  return all;
}

/// What a peer does and has got.
struct peer {
  explicit peer(io_context& context) : socket(context) {}

  ip::tcp::socket socket;
  std::string received;
  error_code end;  ///< of the connection: eof, connection_reset
  bool sent = false;
  bool done = false;
  mask in, out;  ///< if the server has a layer

  std::vector<seen_response> responses(bool heads = false) const {
    return responses_in(received, heads);
  }
};

/// A server on a context of the case's backend.
class served {
 public:
  template <class Handler>
  explicit served(Handler handler, const limits& bounds = limits(),
                  const io_context::options& where = context_options())
      : ctx(where), server(std::move(handler), bounds) {
    const ip::tcp::endpoint any_port(ip::address_v4::loopback(), 0);
    if (with_layer) {
      server.listen(any_port, layer);
    } else {
      server.listen(any_port);
    }
    server.serve().start(ctx, [this](std::exception_ptr error) {
      ended = true;
      failed = std::move(error);
    });
    while (server.endpoint().port() == 0) ctx.poll();
  }

  /// Runs handlers until `done()` is true. Fails the case if the context runs out of work.
  template <class Done>
  void run_until(Done done) {
    while (!done()) {
      ctx.restart();
      REQUIRE(ctx.run_one() != 0);
    }
  }

  /// Starts a peer that connects, sends `text` (in pieces of `piece` bytes, if that is not 0) and
  /// receives until the end of the connection.
  peer& start(std::string text, std::size_t piece = 0) {
    peer& made = peers.emplace_back(ctx);
    co_spawn(ctx, converse(made, std::move(text), piece), detached);
    return made;
  }
  /// Sends `text` and returns everything that was received until the server closed the connection.
  std::string talk(std::string text, std::size_t piece = 0) {
    peer& made = start(std::move(text), piece);
    run_until([&] { return made.done; });
    return made.received;
  }
  std::vector<seen_response> ask(std::string text, std::size_t piece = 0) {
    return responses_in(talk(std::move(text), piece));
  }
  /// Starts a peer that connects and sends `text`, but does not receive.
  peer& start_deaf(std::string text) {
    peer& made = peers.emplace_back(ctx);
    co_spawn(ctx, connect(made, std::move(text), 0), detached);
    return made;
  }
  /// Sends more to a server.
  void send(peer& from, std::string text) {
    auto sent = std::make_shared<std::string>(with_layer ? from.out.of(std::move(text)) : text);
    async_write(from.socket, buffer(*sent), [sent](error_code, std::size_t) {});
  }
  /// Waits until a peer has received `responses` whole responses.
  void wait_for(const peer& of, std::size_t responses) {
    run_until([&] {
      const auto all = of.responses();
      return of.done || (all.size() >= responses && all[responses - 1].whole);
    });
  }
  /// Stops the server and waits until it has ended.
  void stop(duration grace = server::default_grace) {
    server.stop(grace);
    run_until([&] { return ended; });
  }

  const bool with_layer = layered;
  masked_layer layer;
  io_context ctx;
  http::server server;
  std::deque<peer> peers;
  bool ended = false;
  std::exception_ptr failed;

 private:
  task<> connect(peer& one, std::string text, std::size_t piece) {
    auto connected = co_await one.socket.async_connect(server.endpoint());
    one.end = connected.error();
    if (with_layer && !one.end) {
      char answer[mask_answer.size()];
      auto asked = co_await async_write(one.socket, buffer(mask_question));
      auto answered = co_await async_read(one.socket, buffer(answer));
      one.end = asked.error() ? asked.error() : answered.error();
      text = one.out.of(std::move(text));
    }
    std::string_view left = text;
    while (!one.end && !left.empty()) {
      const std::size_t bytes = piece != 0 ? std::min(piece, left.size()) : left.size();
      const const_buffer next(left.data(), bytes);
      auto sent = co_await async_write(one.socket, next);
      if (sent.error()) break;  // the server may have responded all the same
      left.remove_prefix(bytes);
    }
    one.sent = true;
  }
  task<> converse(peer& one, std::string text, std::size_t piece) {
    co_await connect(one, std::move(text), piece);
    char part[4096];
    while (!one.end) {
      const mutable_buffer to(part, sizeof part);
      auto got = co_await one.socket.async_read_some(to);
      one.end = got.error();
      if (with_layer) one.in.apply(part, got.value_);
      one.received.append(part, got.value_);
    }
    one.done = true;
    one.socket.close();
  }
};

/// Keeps the lines of a context's log.
inline void keep_lines(served& s, std::vector<std::string>& lines) {
  s.ctx.on_log([](const char* line,
                  void* all) { static_cast<std::vector<std::string>*>(all)->emplace_back(line); },
               &lines);
}

inline std::string get(std::string_view path, std::string_view more = {}) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" + std::string(more) + "\r\n";
}
inline std::string last_get(std::string_view path) { return get(path, "Connection: close\r\n"); }

/// Responds with the path of the request.
inline void say_path(request& q, response& r) { r.send(q.path()); }

/// Responds with the number of bytes of the body.
inline task<> count_body(request& q, response& r) {
  std::size_t total = 0;
  char part[100];
  for (;;) {
    auto [ec, n] = co_await q.body().async_read_some(beck::buffer(part));
    if (ec == error::eof) break;
    if (ec) co_return;
    total += n;
  }
  const std::string text = std::to_string(total);
  r.send(text);
}

inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace beck::http::test
