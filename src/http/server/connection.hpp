// SPDX-License-Identifier: BSL-1.0
// One connection of a server: it waits for input without a buffer, parses heads in place, calls the
// handler, collects responses and sends them together. connection.cpp has its main loop and its
// ends, connection_stream.cpp the stream below it, connection_tunnel.cpp the change to another
// protocol. Its parts are request_side, handler_run and response_side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <beck/base/io_result.hpp>
#include <beck/detail/intrusive_list.hpp>
#include <beck/io/stream_layer.hpp>
#include <beck/net/socket_stream.hpp>

#include "coro/task_completion.hpp"
#include "http/server/connection_port.hpp"
#include "http/server/handler_run.hpp"
#include "http/server/phase_clock.hpp"
#include "http/server/request_side.hpp"
#include "http/server/response_side.hpp"

namespace beck::http::detail {

class worker;

/// The part of a connection that exists only from the first byte of a request to the last byte of
/// its response.
struct connection_exchange final : exchange_state {
  connection_exchange(connection& of, exchange_port& by, const limits& bounds) noexcept
      : exchange_state(by, request.head), request(bounds), after(of) {}
  /// Leaves the exchange to the object that the program has kept of it.
  void leave() noexcept {
    port = &after;
    response.clear();
  }
  static void* operator new(std::size_t bytes) { return beck::detail::allocate_block(bytes); }
  static void operator delete(void* block) noexcept { beck::detail::free_block(block); }

  incoming_request request;
  ended_port after;
};

enum class connection_state : std::uint8_t {
  fresh,         ///< it was accepted; a layer may make its handshake
  open,          ///< requests are served
  ending,        ///< no further request is served; responses are sent
  tunnel,        ///< a handler has taken over the stream
  tunnel_alone,  ///< as tunnel, and serve() has ended
  lost,          ///< its socket is closed
};

enum class connection_event : std::uint8_t {
  begin,      ///< there is a stream
  end,        ///< the present request is the last one
  take_over,  ///< a handler takes the stream
  leave,      ///< serve() ends before the tunnel
  lose,       ///< the socket is closed
};

/// The owner of a tunnel, which may have coroutines that wait without an operation on the stream.
class tunnel_owner {
 public:
  /// Called when the server has closed the connection, after the grace of a stop. Must not destroy
  /// the tunnel.
  virtual void take_cut() noexcept = 0;

 protected:
  ~tunnel_owner() = default;
};

/// A connection. Its coroutine owns it; operations under way share the ownership. Thread: that of
/// its context.
class connection : public std::enable_shared_from_this<connection> {
 public:
  explicit connection(std::shared_ptr<worker> of);
  ~connection();

  // --- its main loop
  /// Serves an accepted connection until it ends, over its socket or over a stream of `layer`.
  static task<> serve(std::shared_ptr<connection> self, stream_layer* layer);
  /// Called when serve() has ended, also by an exception.
  void ended() noexcept;
  /// Called instead when the context is destroyed: drops the waits of the handler, which may own
  /// the exchange and so the connection.
  void abandon() noexcept;
  /// Called by the clock when a time limit has passed.
  void on_due(timed_entry& entry, phase was);
  /// Called when the server is being stopped.
  void drain();

  // --- its end
  bool is_lost() const noexcept { return state_ == connection_state::lost; }
  bool may_go_on() const noexcept { return state_ == connection_state::open; }
  /// Serves no request after the present one.
  void serve_no_more() noexcept;
  /// Ends the connection at once; unsent output is lost.
  void lose() noexcept;
  /// As lose(), but a layer sends its end to the peer.
  void close() noexcept;
  /// As lose(), also while an exchange object owns the request, perhaps for ever.
  void cut() noexcept;

  /// Responds to a request whose body is too long, inside its middlewares.
  void refuse_body();
  /// Returns the text of the page for a message that is refused.
  std::string text_of_refusal(refusal why) const;

  // --- its parts
  request_side& requests() noexcept { return requests_; }
  handler_run& handlers() noexcept { return handlers_; }
  response_side& responses() noexcept { return responses_; }
  /// Returns the present exchange. Requires that there is one.
  connection_exchange& active() noexcept { return *active_; }
  bool is_active() const noexcept { return active_ != nullptr; }
  /// As active(); makes an exchange if there is none. Throws std::bad_alloc.
  connection_exchange& make_active();
  /// Drops the exchange, if there is one. Requires that no exchange object owns it.
  void drop_active() noexcept;
  worker& server_worker() const noexcept { return *worker_; }
  const any_io_executor& executor() const noexcept;
  const limits& bounds() const noexcept;
  /// Returns whether a handler is suspended.
  bool is_handled() const noexcept;
  /// Stops the scope of a suspended handler. Returns false if there is none, or if it has a tunnel.
  bool stop_handler() noexcept;
  /// Stops the scope of a handler whose time is over, or ends the wait for its exchange object.
  /// Returns false if its response is whole, or if it has a tunnel.
  bool stop_late_handler() noexcept;

  // --- its stream
  /// Returns the stream to accept a connection into.
  socket_stream& carrier() noexcept { return plain_; }
  byte_stream& stream() noexcept { return *stream_; }
  bool is_tunnel() const noexcept {
    return state_ == connection_state::tunnel || state_ == connection_state::tunnel_alone;
  }
  class operation;
  /// See response::take_over().
  task<io_result<tunnel>> take_over();
  /// Returns the connection of a tunnel. Requires that the tunnel owns one.
  static connection& of(const tunnel& taken) noexcept { return *taken.connection_; }
  /// Called when the tunnel has ended.
  void return_tunnel() noexcept;

  beck::detail::list_hook hook;
  /// Links the connection in the list of new ones until its first head is whole, or in the list of
  /// those whose client has left while its request is handled.
  beck::detail::list_hook evict_hook;
  ip::tcp::endpoint peer;   ///< 0.0.0.0 and port 0 if it is not of TCP
  bool is_counted = false;  ///< by its address, in the worker
  bool is_local = false;    ///< accepted from a UNIX socket
  bool is_evicted = false;  ///< closed for a new connection
  /// Is told if the server closes the connection before the tunnel has ended.
  tunnel_owner* owner_of_tunnel = nullptr;

 private:
  class handler_call;
  class stoppable;

  void change(connection_event event) noexcept;
  task<bool> make_layer(stream_layer& layer);
  void end_exchange(std::exception_ptr& thrown);
  void refuse(refusal why);
  task<> close_gently();
  task<> finish_stream();
  static task<io_result<tunnel>> send_and_take_over(operation under_way);

  std::shared_ptr<worker> worker_;
  socket_stream plain_;  // the accepted socket; a layer takes it over
  owned_stream layered_;
  byte_stream* stream_ = &plain_;  // plain_, or that of the layer
  connection_state state_ = connection_state::fresh;
  request_side requests_;
  handler_run handlers_;
  response_side responses_;
  present_port port_;
  std::unique_ptr<connection_exchange> active_;
  beck::detail::scope* scope_ = nullptr;      // of a suspended handler, or of a handshake
  std::shared_ptr<connection> tunnel_keeps_;  // this object, while there is a tunnel
};

/// A read, a file or a change of the protocol that a handler has started.
class connection::operation {
 public:
  explicit operation(connection& of) : connection_(of.shared_from_this()) {
    of.handlers_.add_operation();
  }
  operation(operation&& other) noexcept = default;
  operation& operator=(operation&&) = delete;
  ~operation() { end(); }
  /// Returns the connection. Requires: end() was not called.
  const std::shared_ptr<connection>& of() const noexcept { return connection_; }
  void end() noexcept {
    if (connection_ != nullptr) std::exchange(connection_, nullptr)->handlers_.drop_operation();
  }

 private:
  std::shared_ptr<connection> connection_;
};

// --- of the parts, used for each request

inline response_state& response_side::state() noexcept { return connection_.active().response; }
inline const response_state& response_side::state() const noexcept {
  return connection_.active().response;
}
inline incoming_request& request_side::active() const noexcept {
  return connection_.active().request;
}
inline handler_state& handler_run::state() const noexcept { return connection_.active().handler; }

/// As task_completion, for an operation that stays under way until its completion.
template <class T>
class under_way_completion : public beck::detail::task_completion<T> {
  using base = beck::detail::task_completion<T>;

 public:
  under_way_completion(connection& of, typename base::handler done)
      : base(std::move(done)), under_way_(of) {}
  void operator()(const std::exception_ptr& failed, io_result<T> result) {
    under_way_.end();
    base::operator()(failed, std::move(result));
  }

 private:
  connection::operation under_way_;
};

}  // namespace beck::http::detail
