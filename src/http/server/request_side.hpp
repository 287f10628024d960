// SPDX-License-Identifier: BSL-1.0
// The requests of a server's connection: heads are parsed in place; bodies are decoded in place,
// and received only when the handler reads them. request_side.cpp has heads and the waits for them,
// request_body.cpp bodies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <beck/base/io_result.hpp>
#include <beck/detail/block.hpp>
#include <beck/http/body_decoder.hpp>
#include <beck/http/parser.hpp>
#include <beck/io/byte_stream.hpp>

#include "base/transitions.hpp"
#include "http/server/input.hpp"
#include "http/server/phase_clock.hpp"

namespace beck::http::detail {

class connection;

/// A request, from the first byte of its head to the last byte of its response.
struct incoming_request {
  explicit incoming_request(const limits& bounds) : parser(bounds.heads) {}
  ~incoming_request() { drop_text(); }
  incoming_request(const incoming_request&) = delete;
  incoming_request& operator=(const incoming_request&) = delete;

  void drop_text() noexcept {
    if (text != nullptr) beck::detail::free_block(text);
    text = nullptr;
  }

  request_parser parser;
  request_head head;
  body_decoder decoder;
  char* text = nullptr;        ///< the head's text, if it has been copied
  std::size_t head_bytes = 0;  ///< bytes of the head that are still in the input
  std::size_t data_at = 0;     ///< decoded bytes of the body in the input: where they begin,
  std::size_t data_bytes = 0;  ///< their number,
  std::size_t data_end = 0;    ///< and the end of the framing after them; 0: there are none
  std::uint64_t body_bytes_max = 0;
  std::int64_t waited_ns = 0;  ///< for the body
  std::int64_t wait_began = 0;
  refusal body_refusal = refusal::none;
  bool bound_by_route = false;  ///< body_bytes_max is a setting of the route
  bool continue_due = false;    ///< the client waits for "100 Continue"
};

/// The state of the input from the client.
enum class input_state : std::uint8_t {
  open,    ///< more bytes may come
  late,    ///< the time of a head, or of a handshake, was over
  last,    ///< the client has ended after the last request, which was received
  ended,   ///< its end was received
  failed,  ///< an error was received
};

/// The requests, one after the other. Thread: that of its connection, of which it is a part.
class request_side {
 public:
  explicit request_side(connection& of) noexcept : connection_(of), receiving_(of) {}

  connection& parent() noexcept { return connection_; }
  /// Returns the received bytes that are not consumed.
  std::string_view read_ahead() const noexcept { return input_.view(); }
  input_state state() const noexcept { return state_; }
  /// Returns the number of the requests whose heads were accepted.
  std::uint64_t begun() const noexcept { return begun_; }
  /// Returns whether nothing more will be received, because of an end or an error.
  bool has_ended() const noexcept {
    return state_ == input_state::ended || state_ == input_state::failed;
  }
  /// Returns the entry in the clock's lists.
  timed_entry& timed() noexcept { return receiving_; }
  void enter(phase next) noexcept;

  // --- heads, for the main loop of the connection
  /// Parses the head of the next request as far as it has arrived.
  parse_status parse_head();
  /// Prepares a wait for input: it holds no lent buffer, and between two requests no memory at all.
  /// Returns false if the connection has ended, or the time of the head is over.
  bool begin_waiting();
  /// Takes the result of a receive. Returns false if the connection ends here.
  bool end_waiting(io_result<buffer_lease>&& received);
  /// Begins with the request whose head was parsed.
  void begin() noexcept;
  /// Moves the text of the head to a block, so that the handler may wait while input arrives.
  /// Throws std::bad_alloc.
  void copy_head();
  /// Drops the head of a handler that has ended, if the head is in the input.
  void drop_head() noexcept;
  /// Notes that the time of a head or of a handshake is over.
  void be_late() noexcept;
  /// Notes whether the client has announced that no request follows this one.
  void note_last() noexcept;
  /// Waits for the peer's end, so that a close does not reset the connection before the peer has
  /// read the last response. Drops the received bytes.
  task<> linger();
  /// Returns whether a close would reset the connection.
  bool has_unread() const noexcept { return state_ != input_state::ended || !input_.empty(); }

  // --- the body
  /// Sets the bound of the request's body before any of it is read; 0: the limit of the server.
  /// Refuses a length that is too large before a handler sees it.
  void bound_body(std::uint64_t bytes_max) noexcept;
  /// As bound_body(), for a lower bound that a router inside the handler has found. Returns false
  /// if the body is too long.
  bool lower_bound(std::uint64_t bytes_max) noexcept;
  bool body_is_whole() const noexcept;
  bool read_ready(mutable_buffer to, std::size_t& bytes, error_code& ec);
  static task<io_result<std::size_t>> read_body(std::shared_ptr<connection> keep,
                                                mutable_buffer to);
  /// Returns whether the connection can read the unread rest of the body after the response. It can
  /// if the rest has arrived, or was announced, and is short enough.
  bool can_drop_rest() const noexcept;
  /// Reads the rest of the body that the handler has not read, as the head of the response has
  /// announced. Returns false if the connection has to end, because the body does not come.
  task<bool> drop_body();
  /// Called by the clock when a wait for the body has reached its limit.
  void check_body_wait() noexcept;

 private:
  incoming_request& active() const noexcept;
  void note_error(const error_code& why) noexcept;

  // request_body.cpp
  bool decode();
  void copy_data(mutable_buffer to, std::size_t& bytes) noexcept;
  bool body_failed(error_code& ec) const noexcept;
  void count_wait() noexcept;
  void send_continue();

  connection& connection_;
  timed_entry receiving_;
  input input_;
  input_state state_ = input_state::open;
  std::uint64_t begun_ = 0;
};

}  // namespace beck::http::detail
