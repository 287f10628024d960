// SPDX-License-Identifier: BSL-1.0
// Clients of a memory_server for cases about it: commands as lines of words in, bytes out.
#pragma once

#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <beck/redis/memory_server.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "support/context_options.hpp"

namespace beck::redis::test {

/// Returns a line of words as a command: "SET k v". A word in single quotes may hold spaces and be
/// empty; "\n" in a word stands for CR LF.
inline std::string wire(std::string_view line) {
  std::string arguments;
  std::size_t count = 0;
  while (!line.empty()) {
    const bool is_quoted = line[0] == '\'';
    if (is_quoted) line.remove_prefix(1);
    const std::size_t end = std::min(line.find(is_quoted ? '\'' : ' '), line.size());
    std::string word(line.substr(0, end));
    line.remove_prefix(std::min(end + (is_quoted ? 2 : 1), line.size()));
    for (std::size_t at = 0; (at = word.find("\\n", at)) != std::string::npos; at += 2)
      word.replace(at, 2, "\r\n");
    arguments += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    ++count;
  }
  return "*" + std::to_string(count) + "\r\n" + arguments;
}

/// Returns lines, each of which ends with "|", as commands: "MULTI|INCR n|EXEC|".
inline std::string wires(std::string_view lines) {
  std::string all;
  while (!lines.empty()) {
    const std::size_t end = lines.find('|');
    all += wire(lines.substr(0, end));
    lines.remove_prefix(end + 1);
  }
  return all;
}

/// Returns bytes with "|" for CR LF, to compare and to print.
inline std::string shown(std::string text) {
  for (std::size_t at = 0; (at = text.find("\r\n", at)) != std::string::npos; ++at)
    text.replace(at, 2, "|");
  return text;
}

/// A connection of a client.
template <class Protocol>
struct basic_memory_peer {
  explicit basic_memory_peer(io_context& context) : socket(context) {}

  typename Protocol::socket socket;
  std::string received;  ///< as shown()
  error_code end;        ///< of the connection
  bool sent = false;
  bool done = false;

  /// Connects, sends `text` and receives until the end.
  task<> converse(typename Protocol::endpoint to, std::string text) {
    auto connected = co_await socket.async_connect(to);
    end = connected.error();
    const const_buffer all(text.data(), text.size());
    if (!end) ignore(co_await async_write(socket, all));
    sent = true;
    char part[4096];
    std::string bytes;
    while (!end) {
      const mutable_buffer room(part, sizeof part);
      auto got = co_await socket.async_read_some(room);
      end = got.error();
      bytes.append(part, got.value_);
      received = shown(bytes);
    }
    done = true;
    socket.close();
  }
};
using memory_client = basic_memory_peer<ip::tcp>;

/// A server and clients on one context of the case's backend.
class memory_site {
 public:
  explicit memory_site(const memory_server_options& how = memory_server_options())
      : ctx(context_options()),
        owner(std::make_unique<memory_server>(ctx, ip::tcp::endpoint(ip::address_v4::loopback(), 0),
                                              how)),
        server(*owner) {}

  /// Runs handlers until `done()` is true. Fails the case if the context runs out of work.
  template <class Done>
  void run_until(Done done) {
    while (!done()) {
      ctx.restart();
      REQUIRE(ctx.run_one() != 0);
    }
  }
  /// Runs until a client has received that many characters more, or has ended.
  void run_until_received(memory_client& by, std::size_t characters) {
    run_until([&] {
      const bool is_half = by.received.ends_with('\r');  // of a line end
      return by.done || (by.received.size() >= characters && !is_half);
    });
  }
  /// Starts a client that sends these commands.
  memory_client& start(std::string_view lines) { return start_bytes(wires(lines)); }
  memory_client& start_bytes(std::string bytes) {
    memory_client& made = clients.emplace_back(ctx);
    co_spawn(ctx, made.converse(server.endpoint(), std::move(bytes)), detached);
    return made;
  }
  /// Returns everything that the server sends before it ends the connection.
  std::string talk(std::string_view lines) {
    memory_client& made = start(lines);
    run_until([&] { return made.done; });
    return made.received;
  }
  /// Sends more.
  void send(memory_client& from, std::string_view lines) {
    auto sent = std::make_shared<std::string>(wires(lines));
    async_write(from.socket, buffer(*sent), [sent](error_code, std::size_t) {});
  }
  /// Starts a client, and waits until it has received this.
  memory_client& start(std::string_view lines, std::string_view expected) {
    memory_client& made = start(lines);
    run_until_received(made, expected.size());
    CHECK(made.received == expected);
    return made;
  }
  /// Sends more, and waits until the client has received this besides.
  void ask(memory_client& from, std::string_view lines, std::string_view expected) {
    const std::size_t before = from.received.size();
    send(from, lines);
    expect(from, before, expected);
  }
  /// Waits until a client has received this behind its first `before` characters.
  void expect(memory_client& by, std::size_t before, std::string_view expected) {
    run_until_received(by, before + expected.size());
    CHECK(by.received.substr(before) == expected);
  }

  io_context ctx;
  std::unique_ptr<memory_server> owner;
  memory_server& server;
  std::deque<memory_client> clients;
};

}  // namespace beck::redis::test
