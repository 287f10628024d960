// SPDX-License-Identifier: BSL-1.0
// The handlers of a server's connection: chooses one for each request, calls and awaits it, and
// completes its response. handler_run.cpp has that, handler_client.cpp clients that leave
// meanwhile, exchange_report.cpp the reports to the log and to an observer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

#include <beck/http/handler.hpp>
#include <beck/http/refusal.hpp>

#include "http/server/exchange_state.hpp"

namespace beck::http::detail {

class connection;

/// The failure of a handler that has ended without a response.
inline constexpr const char* no_response_text = "the handler did not respond";

/// The handlers, one after the other. Thread: that of its connection, of which it is a part.
class handler_run {
 public:
  explicit handler_run(connection& of) noexcept : connection_(of) {}

  connection& parent() noexcept { return connection_; }
  handler_state& state() const noexcept;

  // --- for the main loop of the connection
  /// Chooses the handler of the request, and checks the length of its body.
  route_choice choose();
  /// Calls a handler that is a function. Returns the exception that it threw.
  std::exception_ptr call_plain(const route_choice& chosen);
  /// Calls a handler of another kind, or one with middlewares around it; `left` gets the work that
  /// is left, unless an exchange object has it. Returns the exception that the call threw.
  std::exception_ptr call(const route_choice& chosen, request& q, response& r, pending& left);
  /// Completes the response of a handler that has ended, and reports to the observer. Instead
  /// returns a refusal if the request has to be refused.
  [[nodiscard]] refusal end(std::exception_ptr& thrown);
  /// Returns whether the server has an observer of exchanges.
  bool has_observer() const noexcept;
  /// Writes to the log of the context that a handler threw, or ended without a response. Not if the
  /// client is the cause.
  void log_failure(const std::exception_ptr& thrown) noexcept;
  /// Reports an exchange that has ended to the observers. Requires has_observer().
  void report(refusal why, const std::exception_ptr& thrown = nullptr);

  /// See exchange_port::limit_time().
  void limit_time(duration after);

  // --- while the handler is suspended
  /// Called when the handler suspends: sends the queued output of earlier exchanges, and starts to
  /// watch the client.
  void suspend() noexcept;
  /// Called when an exchange object that owned the request is destroyed.
  void return_exchange() noexcept;
  /// Returns whether the client has left.
  bool client_left() noexcept;
  /// Ends the handler's wait for the end of its client, if there is one.
  void end_client_wait(error_code ec) noexcept;
  /// Stops a handler that waits for events, because the server is being stopped.
  void stop_waiting() noexcept;

  /// Counts a read, a file or a change of the protocol that a handler has started. It uses the
  /// exchange: a handler that ends before its operations loses the connection.
  void add_operation() noexcept { ++operations_; }
  void drop_operation() noexcept;

 private:
  // handler_run.cpp
  void end_operations() noexcept;
  bool is_excused() const noexcept;
  bool ends_without_head() const noexcept;
  bool is_unfinished() const noexcept;
  void answer_instead(const std::exception_ptr& thrown, std::string_view text);
  void count_late();
  void on_late(time_point due) noexcept;

  // handler_client.cpp
  beck::detail::stream_object::peer_status peer() const noexcept;
  void watch_client();
  void on_client_event();
  void note_left() noexcept;

  connection& connection_;
  std::size_t operations_ = 0;  // under way
  bool is_watching_ = false;    // for the end of the client, then for a reset
  bool client_left_ = false;    // the end or the reset was seen
};

}  // namespace beck::http::detail
