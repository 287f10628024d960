// SPDX-License-Identifier: BSL-1.0
// A memory_server on its context: the listening socket, the connections, the clock, and the faults
// that concern connections. It lives as long as its coroutines, so that the server may go first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <variant>

#include <beck/coro/task.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/system_timer.hpp>
#include <beck/redis/memory_server.hpp>

#include "redis/memory/memory_engine.hpp"

namespace beck::redis::detail {

class memory_connection;

/// Thread: that of the context, or any while no thread runs it.
class memory_hub : public std::enable_shared_from_this<memory_hub> {
 public:
  memory_hub(io_context& context, const memory_server_options& how);
  ~memory_hub();
  memory_hub(const memory_hub&) = delete;
  memory_hub& operator=(const memory_hub&) = delete;

  /// Listens, and starts to accept. Throws io_error.
  void listen(const ip::tcp::endpoint& at);
  void listen(const local::stream_protocol::endpoint& at);
  ip::tcp::endpoint endpoint() const noexcept { return endpoint_; }
  void close() noexcept;

  memory_engine& engine() noexcept { return engine_; }
  const memory_server_options& options() const noexcept { return options_; }
  std::size_t connections() const noexcept { return connections_.size(); }
  /// Sets the engine's time to that of the context.
  void read_clock();
  /// Sends the replies that are ready, wakes connections that no longer wait, and sets the timer
  /// for those that do.
  void deliver();
  /// Removes a connection. Idempotent.
  void remove(memory_connection& gone) noexcept;

  void cut() noexcept;
  void pause(bool on) noexcept;
  bool is_paused() const noexcept { return paused_; }
  void cut_after(std::size_t bytes, std::size_t times) noexcept;
  /// Returns how many of `bytes` more may be sent on a connection that has sent `sent` before, and
  /// sets `cuts` if it is to be cut behind them.
  std::size_t allow(std::size_t sent, std::size_t bytes, bool& cuts) noexcept;

 private:
  static task<> accept_loop(std::shared_ptr<memory_hub> self);
  void start();
  std::shared_ptr<memory_connection> make_connection() noexcept;
  void begin(const std::shared_ptr<memory_connection>& one) noexcept;
  void set_timer();
  void on_timer();

  memory_server_options options_;
  any_io_executor executor_;
  memory_engine engine_;
  std::variant<ip::tcp::acceptor, local::stream_protocol::acceptor> acceptor_;
  ip::tcp::endpoint endpoint_;
  std::list<memory_connection*> connections_;  // in the order of their begin
  steady_timer clock_;
  system_timer date_;
  steady_timer timer_;  // of the wait that ends first
  std::int64_t timer_deadline_ = memory_wait::never;
  std::size_t cut_bytes_ = 0;
  std::size_t cuts_left_ = 0;
  bool paused_ = false;
  bool closed_ = false;
};

}  // namespace beck::redis::detail
