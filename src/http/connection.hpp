// SPDX-License-Identifier: BSL-1.0
// One connection of a server: it waits for input without a buffer, parses heads where they lie,
// calls the handler, collects replies and sends them together. connection.cpp has the course of a
// connection, connection_stream.cpp the stream below it, connection_tunnel.cpp its way out of HTTP,
// connection_handler.cpp the calls of handlers, connection_refusal.cpp the replies to refused
// messages, connection_body.cpp the bodies of requests, connection_watch.cpp clients that leave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <beck/base/flat_buffer.hpp>
#include <beck/base/io_result.hpp>
#include <beck/coro/event.hpp>
#include <beck/detail/intrusive_list.hpp>
#include <beck/http/body_decoder.hpp>
#include <beck/http/handler.hpp>
#include <beck/http/parser.hpp>
#include <beck/io/stream_layer.hpp>
#include <beck/net/socket_stream.hpp>

#include "coro/task_completion.hpp"
#include "http/phase_clock.hpp"
#include "http/reply_side.hpp"
#include "http/reply_state.hpp"
#include "http/route_match.hpp"

namespace beck::http::detail {

class worker;
class date_line;

/// The received bytes that are not consumed. They lie in the buffer that the context has lent, or,
/// if more has to be received behind them, in memory of their own. Behind them
/// request_parser::padding bytes are readable.
class input {
 public:
  std::string_view view() const noexcept {
    if (!lease_.empty()) return {lease_.data() + at_, lease_.size() - at_};
    const const_buffer own = own_.data();
    return {static_cast<const char*>(own.data()), own.size()};
  }
  bool empty() const noexcept { return lease_.empty() && own_.empty(); }
  void consume(std::size_t bytes) noexcept;
  /// Adds received bytes. Throws std::bad_alloc.
  void add(buffer_lease&& received);
  /// Moves the bytes out of the lent buffer. Throws std::bad_alloc.
  void keep();
  /// Drops all bytes and frees the memory.
  void release() noexcept {
    lease_.reset();
    own_.release();
  }

 private:
  void append(std::string_view text);

  buffer_lease lease_;
  std::size_t at_ = 0;  // consumed bytes of lease_
  flat_buffer own_;
};

/// The part of a connection that it has only from the first byte of a request to the last byte of
/// its reply.
struct exchange_state {
  explicit exchange_state(const limits& bounds) : parser(bounds.heads()) {}
  ~exchange_state() { drop_text(); }
  exchange_state(const exchange_state&) = delete;
  exchange_state& operator=(const exchange_state&) = delete;
  static void* operator new(std::size_t bytes) { return beck::detail::allocate_block(bytes); }
  static void operator delete(void* block) noexcept { beck::detail::free_block(block); }

  void drop_text() noexcept {
    if (text != nullptr) beck::detail::free_block(text);
    text = nullptr;
  }

  /// Returns whether an exchange object has the request.
  bool is_taken() const noexcept { return taken_by != nullptr; }

  request_parser parser;
  request_head head;
  route_match route;
  body_decoder decoder;
  reply_state reply;
  char* text = nullptr;        ///< the head's text, if it has been copied
  std::size_t head_bytes = 0;  ///< of the head that are in the input still
  std::size_t data_at = 0;     ///< decoded bytes of the body in the input: where they begin,
  std::size_t data_bytes = 0;  ///< their number,
  std::size_t data_end = 0;    ///< and the end of the framing behind them; 0: there are none
  std::uint64_t body_bytes_max = 0;
  std::int64_t began = 0;      ///< when the head was whole
  std::int64_t waited_ns = 0;  ///< for the body
  std::int64_t wait_began = 0;
  std::shared_ptr<connection> taken_by;  ///< while an exchange object has the request
  manual_reset_event exchange_gone;
  refusal body_refusal = refusal::none;
  bool continue_due = false;      ///< the client waits for "100 Continue"
  bool peer_ended = false;        ///< the input ended inside the body
  bool waits_for_events = false;  ///< as the route says
  bool waits_for_end = false;     ///< client_gone is set
  bool knows_end = false;         ///< the handler was told that the client has left
  bool is_stopped = false;        ///< so was its scope, as the server is being stopped
  client_wait::handler client_gone;
};

/// A connection. Its coroutine owns it; operations under way share the ownership. Thread: that of
/// its context.
class connection : public std::enable_shared_from_this<connection> {
 public:
  explicit connection(std::shared_ptr<worker> of);
  ~connection();

  /// Runs an accepted connection to its end: over its socket, or over what `layer` makes of that.
  static task<> serve(std::shared_ptr<connection> self, stream_layer* layer);
  /// Called when serve() has ended, also by an exception.
  void ended() noexcept;
  /// Called instead when the context is destroyed: drops what waits for the outbox, which may own
  /// the exchange, and with it the connection.
  void abandon() noexcept;
  /// Returns the stream to accept into.
  socket_stream& carrier() noexcept { return plain_; }
  /// Returns the place in the clock's lists that it has for receiving.
  timed_entry& receiving() noexcept { return receiving_; }
  /// Called by the clock.
  void on_due(timed_entry& entry, phase was);
  /// Called when the server is being stopped.
  void drain();
  /// Ends the connection at once; what was not sent is lost.
  void lose() noexcept;
  /// As lose(), but a layer says the end to the peer.
  void close() noexcept;
  /// As lose(), also while an exchange object has the request, which may be kept for ever.
  void cut() noexcept;

  /// A read, a file or a change of the protocol that a handler has under way. It uses the exchange:
  /// one that ends before its operations loses the connection.
  class operation {
   public:
    explicit operation(connection& of) : connection_(of.shared_from_this()) { ++of.operations_; }
    operation(operation&& other) noexcept = default;
    operation& operator=(operation&&) = delete;
    ~operation() { end(); }
    /// Returns the connection. Requires: end() was not called.
    const std::shared_ptr<connection>& of() const noexcept { return connection_; }
    void end() noexcept {
      if (connection_ != nullptr) --std::exchange(connection_, nullptr)->operations_;
    }

   private:
    std::shared_ptr<connection> connection_;
  };

  // --- for tunnel
  /// Throws std::logic_error unless the handler may take the connection over.
  void require_tunnel() const;
  static task<io_result<tunnel>> take_over(operation under_way);
  /// Called when the tunnel has ended.
  void return_tunnel() noexcept;
  byte_stream& stream() noexcept { return *stream_; }
  std::string_view read_ahead() const noexcept { return input_.view(); }

  // --- for request, exchange and handlers of the library
  ip::address client_address(const request_head& head) const noexcept;
  route_match& route() noexcept { return active_->route; }
  bool enter_route(const route_choice& chosen) noexcept;
  /// Returns the place of a handler's object for this context; empty at first. `key`: its address.
  std::shared_ptr<void>& local(const void* key);
  /// Called when the exchange object that had the request has ended.
  void return_exchange() noexcept;

  /// Returns whether the client has left.
  bool client_left() noexcept;
  /// Calls `done` when the client has left.
  void wait_for_end(client_wait::handler done);
  void end_client_wait(error_code ec) noexcept;

  // --- for request_body
  bool read_ready(mutable_buffer to, std::size_t& bytes, error_code& ec);
  static task<io_result<std::size_t>> read_body(std::shared_ptr<connection> self,
                                                mutable_buffer to);
  bool body_is_whole() const noexcept;
  const any_io_executor& executor() const noexcept;

  // --- for replies
  reply_side& replies() noexcept { return replies_; }
  exchange_state& active() noexcept { return *active_; }
  phase_clock& clock() const noexcept;
  date_line& date() const noexcept;
  bool is_lost() const noexcept { return lost_; }
  /// Returns whether the connection ends behind a reply whose head is written now.
  bool ends_behind_reply() const noexcept;
  /// Serves no further request.
  void serve_no_more() noexcept { ending_ = true; }
  /// Counts a reply that ends with the connection, before its end.
  void note_cut() noexcept;

  beck::detail::list_hook hook;
  /// Linked among the newcomers until the first head is whole, and among those whose client has
  /// left while its request is handled.
  beck::detail::list_hook evict_hook;
  ip::tcp::endpoint peer;   ///< 0.0.0.0 and port 0 if it is none of TCP
  bool is_counted = false;  ///< by its address, for the worker
  bool is_local = false;    ///< accepted from a UNIX socket
  bool is_evicted = false;  ///< makes room for another one

 private:
  class handler_call;
  class stoppable;

  // the stream (connection_stream.cpp)
  task<bool> make_layer(stream_layer& layer);

  // the course (connection.cpp)
  parse_status parse_head();
  bool begin_waiting();
  bool end_waiting(io_result<buffer_lease>&& received);
  route_choice begin_exchange();
  void bound_body(std::uint64_t bytes_max) noexcept;
  void copy_head();
  std::exception_ptr call_plain(const route_choice& chosen);
  std::exception_ptr call_callback(const route_choice& chosen);
  task<> call_coroutine(const route_choice& chosen, request& q, response& r);
  void end_operations() noexcept;
  void end_exchange(std::exception_ptr thrown);
  void log_failure(const std::exception_ptr& thrown) noexcept;
  bool is_excused() const noexcept;
  void answer_instead(std::string_view why);
  phase idle_phase() const noexcept;
  void report(refusal why, const std::exception_ptr& thrown = nullptr);
  bool may_go_on() const noexcept;
  task<> close_gently();
  task<> finish_stream();
  void handler_suspended() noexcept;

  // the client (connection_watch.cpp)
  unsigned peer_events() noexcept;
  static void watch_client(std::shared_ptr<connection> self);
  void on_client_event();
  void note_left() noexcept;
  void stop_waiting() noexcept;

  // the body of the request (connection_body.cpp)
  bool decode();
  void copy_data(mutable_buffer to, std::size_t& bytes) noexcept;
  bool body_failed(error_code& ec) const noexcept;
  void count_wait() noexcept;
  void send_continue();
  bool can_drop_rest() const noexcept;
  task<bool> drop_body();

  // replies of the server's own (connection_refusal.cpp)
  void refuse(refusal why);

  std::shared_ptr<worker> worker_;
  socket_stream plain_;  // what was accepted; a layer takes it over
  owned_stream layered_;
  byte_stream* stream_ = &plain_;  // one of both
  timed_entry receiving_;
  input input_;
  reply_side replies_;
  std::unique_ptr<exchange_state> active_;
  beck::detail::scope* handler_scope_ = nullptr;  // of a suspended handler, or of a handshake
  std::shared_ptr<connection> tunnel_keeps_;      // this, while there is a tunnel
  std::size_t operations_ = 0;                    // under way
  refusal late_ = refusal::none;
  bool lost_ = false;
  bool handshake_late_ = false;
  bool ending_ = false;           // no further request is served
  bool peer_ended_ = false;       // the input has ended
  bool watched_ = false;          // for the end of the client
  bool client_left_ = false;      // its end, or a reset, was seen
  bool is_tunnel_ = false;        // a handler has taken the stream over
  bool course_ended_ = false;     // serve() has
  bool nothing_follows_ = false;  // the client has said that it sends nothing more
};

/// As task_completion, for an operation that is under way until then.
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
