// SPDX-License-Identifier: BSL-1.0
// Both ends of WebSocket connections in one place: a server whose streams are given to the case,
// and a client.
#pragma once

#include <beck/http/client.hpp>
#include <beck/websocket/connect.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "websocket/site.hpp"

namespace beck::websocket::test {

/// A server that keeps the streams that it has accepted, and a client, on one context.
struct pair_site {
  explicit pair_site(const limits& of_server = limits(), const limits& of_client = limits())
      : ends([this, of_server](http::request& q, http::response& r) -> task<> {
          const accept_options how = accept_options{.protocols = speaks, .limits = of_server};
          seen = std::string(q.get("X-More"));
          auto accepted = co_await accept(q, r, how);
          if (accepted.error()) {
            refused = accepted.error();
            co_return;
          }
          servers.push_back(std::move(accepted).value());
        }),
        client_limits(of_client),
        web(std::make_unique<http::client>(ends.ctx)) {}
  ~pair_site() {
    clients.clear();
    servers.clear();
    web.reset();
  }

  std::string url(std::string_view path = "/") const {
    return "ws://127.0.0.1:" + std::to_string(ends.server.endpoint().port()) + std::string(path);
  }
  /// Connects. Returns the error; without one there is one more of both streams.
  error_code connect(connect_options how = connect_options()) {
    how.limits = client_limits;
    const std::size_t before = servers.size();
    std::optional<error_code> done;
    co_spawn(ends.ctx, websocket::connect(*web, url(), how),
             [&](const std::exception_ptr& failed, io_result<stream> made) {
               if (failed) std::rethrow_exception(failed);
               if (!made.error()) clients.push_back(std::move(made.value_));
               done = made.error();
             });
    ends.run_until([&] { return done && (*done || servers.size() > before); });
    return *done;
  }
  stream& client() { return clients.front(); }
  stream& server() { return servers.front(); }

  /// Runs a task to its end, and returns its result.
  template <class T>
  T run(task<T> work) {
    std::optional<T> result;
    co_spawn(ends.ctx, std::move(work), [&](const std::exception_ptr& failed, T value) {
      if (failed) std::rethrow_exception(failed);
      result.emplace(std::move(value));
    });
    ends.run_until([&] { return result.has_value(); });
    return std::move(*result);
  }
  /// Starts a task, whose result `to` gets.
  template <class T>
  void start(task<T> work, std::optional<T>& to) {
    co_spawn(ends.ctx, std::move(work), [&to](const std::exception_ptr& failed, T value) {
      if (failed) std::rethrow_exception(failed);
      to.emplace(std::move(value));
    });
  }
  /// Runs what can run now.
  void settle() {
    for (int i = 0; i < 50; ++i) {
      ends.ctx.restart();
      ends.ctx.poll();
    }
  }

  std::string speaks;  ///< the subprotocols of the server
  std::string seen;    ///< the field X-More of the last request
  std::vector<stream> servers, clients;
  error_code refused;
  served ends;
  limits client_limits;
  std::unique_ptr<http::client> web;
};

inline const_buffer as_buffer(std::string_view text) { return {text.data(), text.size()}; }

/// Receives a message; its text has the error in front, if there is one.
inline task<std::string> read_text(stream& from) {
  flat_buffer data;
  auto got = co_await from.read(data);
  if (got.error()) co_return "error: " + got.error().message();
  co_return std::string(data.view().data(), data.size());
}

}  // namespace beck::websocket::test
