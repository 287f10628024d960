// SPDX-License-Identifier: BSL-1.0
//
// A bank with one account, and its customer, who repeats a deposit under the same number until the
// bank has confirmed it. The bank has a bug in how it recognises repeated ones: docs/checking.md.
#pragma once

#include <beck/coro/co_spawn.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/net/tcp.hpp>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace example {

using beck::ip::tcp;
using namespace std::chrono_literals;

// A message is one byte, the length of its text, and then the text.
inline beck::awaitable<> send(tcp::socket& socket, const std::string& text) {
  const std::string message = static_cast<char>(text.size()) + text;
  co_await beck::async_write(socket, beck::buffer(message));
}
inline beck::awaitable<std::string> receive(tcp::socket& socket) {
  unsigned char length = 0;
  co_await beck::async_read(socket, beck::buffer(&length, 1));
  std::string text(length, '\0');
  co_await beck::async_read(socket, beck::buffer(text));
  co_return text;
}

struct bank {
  beck::io_context& context;
  tcp::acceptor acceptor;
  bool fixed;
  long balance = 0;
  long done = 0;  // the number of the last deposit

  beck::task<> accept() {
    while (auto accepted = co_await acceptor.async_accept())
      beck::co_spawn(context, serve(std::move(accepted).value()), beck::detached);
  }
  beck::awaitable<> serve(tcp::socket socket) try {
    for (;;) {
      const std::string text = co_await receive(socket);
      long number = 0, amount = 0;
      if (std::sscanf(text.c_str(), "%ld %ld", &number, &amount) != 2) co_return;
      bool is_new = number > done;  // else it is repeated: its confirmation was lost
      beck::steady_timer journal(context, 2ms);
      if (is_new) co_await journal.async_wait();  // until it is on a disk
      if (fixed) is_new = number > done;  // a fact checked before a co_await may be false after it
      if (is_new) balance += amount, done = number;
      co_await send(socket, text);
    }
  } catch (const beck::io_error&) {  // the connection is lost; the customer connects again
  }
};

inline beck::awaitable<> deposit(beck::io_context& context, tcp::endpoint bank,
                                 std::vector<long> amounts, long& confirmed) {
  tcp::socket socket(context);
  for (std::size_t i = 0; i < amounts.size();) {
    const std::string text = std::to_string(i + 1) + ' ' + std::to_string(amounts[i]);
    try {
      if (!socket.is_open()) co_await socket.async_connect(bank);
      co_await send(socket, text);
      const std::string answer = co_await receive(socket);
      if (answer == text) confirmed += amounts[i++];
    } catch (const beck::io_error&) {
      socket.close();
    }
    beck::steady_timer pause(context, 1ms);  // before it repeats over a new connection
    if (!socket.is_open()) co_await pause.async_wait();
  }
}

}  // namespace example
