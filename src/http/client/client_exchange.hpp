// SPDX-License-Identifier: BSL-1.0
// A call under way: its request, the connection that it has, and its response. client_exchange.cpp
// has its course with retry and redirects, client_request.cpp the sending side, client_body.cpp the
// body of the response, as received_response decodes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <beck/detail/ref_count.hpp>
#include <beck/http/url.hpp>
#include <beck/io/steady_timer.hpp>

#include "base/transitions.hpp"
#include "http/client/client_pool.hpp"
#include "http/client/received_response.hpp"
#include "http/message/field_lines.hpp"

namespace beck::http::detail {

using beck::detail::loop_time;

/// How the body of a request is sent.
enum class request_body_kind : std::uint8_t { none, whole, chunked, length };

/// What the caller has said of a request.
struct request_state {
  http::method method = http::method::get;
  char method_text[24] = {};
  std::uint8_t method_bytes = 0;
  request_body_kind kind = request_body_kind::none;
  bool expects_continue = false;
  bool closes = false;
  std::uint64_t length = 0;  ///< promised, for request_body_kind::length
  std::uint64_t sent = 0;    ///< bytes of a stream so far
  const_buffer body;         ///< for request_body_kind::whole
  field_lines fields;
  std::string upgrade;  ///< the protocol, if one is asked for
  std::string target;   ///< instead of that of the URL, if it is not empty

  std::string_view method_name() const noexcept { return {method_text, method_bytes}; }
  void set_method(http::method m, std::string_view name) noexcept;
  bool is_stream() const noexcept {
    return kind == request_body_kind::chunked || kind == request_body_kind::length;
  }
};

/// How much of a request was sent.
enum class request_progress : std::uint8_t {
  unsent,
  head,  ///< its head; a body may follow
  whole,
};

/// The operation of a call's user that is under way: there is one at a time.
enum class call_operation : std::uint8_t { none, write, finish, read };

/// A call under way. Shared by its response, or its call, and the coroutines that work for it.
/// Thread: that of its client's context.
class client_exchange {
 public:
  client_exchange(std::shared_ptr<client_pool> of, std::string_view url);
  ~client_exchange() { abandon(); }
  client_exchange(const client_exchange&) = delete;
  client_exchange& operator=(const client_exchange&) = delete;
  static void* operator new(std::size_t bytes) { return beck::detail::allocate_block(bytes); }
  static void operator delete(void* block) noexcept { beck::detail::free_block(block); }
  void add_share() noexcept { shares_.add(); }
  void drop_share() noexcept {
    if (shares_.drop()) delete this;
  }

  const any_io_executor& executor() const noexcept { return pool_->executor(); }
  request_state& request() noexcept { return request_; }
  /// Throws std::logic_error if the head of the request was sent.
  void require_not_begun() const;
  /// Sets the target of the request line; one that no server takes is an error of the call.
  void set_target(std::string_view text);
  /// Marks the request as finished by its call. Throws std::logic_error if it was.
  void take_for_finish();
  bool is_finishing() const noexcept { return finishing_; }

  /// The whole call, up to the head of the response; of a streamed request, what is left of it.
  static task<error_code> run(exchange_ref self);
  /// Returns whether an operation is under way: another one has to end with already_started.
  bool is_busy() const noexcept { return operation_ != call_operation::none; }
  /// Writes a part of a stream. Returns false if that has to wait.
  bool write_ready(const_buffer data, std::size_t& bytes, error_code& ec);
  static task<io_result<std::size_t>> write(exchange_ref self, const_buffer data);
  /// Reads the body of the response. Returns false if that has to wait.
  bool read_ready(mutable_buffer to, std::size_t& bytes, error_code& ec);
  static task<io_result<std::size_t>> read(exchange_ref self, mutable_buffer to);
  static task<io_result<std::string>> read_all(exchange_ref self, std::size_t limit);
  bool body_is_whole() const noexcept { return response_.is_whole(); }

  bool has_head() const noexcept { return response_.has_head(); }
  const response_head& head() const noexcept { return response_.head(); }
  std::string_view url_text() const noexcept { return url_text_.view(); }
  std::string error_text() const;
  taken_stream take_over();
  /// Notes the error of the call, and closes its connection.
  void fail(error_code ec) noexcept;
  /// Gives the connection back if nothing more is to come, else closes it.
  void abandon() noexcept;

 private:
  class operation_turn;

  // the course (client_exchange.cpp)
  task<error_code> attempt();
  task<error_code> get_connection();
  task<error_code> make_connection(place at);
  task<error_code> receive_head();
  parse_status parse_head(error_code& ec);
  error_code end_error() const noexcept;
  bool may_retry(error_code ec) const noexcept;
  bool redirect(error_code& ec);
  void drop_connection() noexcept;
  void set_url(std::string_view text);
  bool resolve_location(std::string& to) const;

  // the request (client_request.cpp)
  bool is_begun() const noexcept { return sent_ != request_progress::unsent; }
  bool is_sent() const noexcept { return sent_ == request_progress::whole; }
  void restart() noexcept;
  void note_sent() noexcept;
  void write_head();
  void send_request();
  void send_whole_body();
  error_code end_stream();
  bool is_refused_early();
  task<error_code> wait_for_continue();

  // the body of the response (client_body.cpp)
  bool decode();
  void end_body() noexcept;
  void fail_body(error_code ec) noexcept;
  std::int64_t patience() const noexcept;
  mutable_buffer direct_room(mutable_buffer to) const noexcept;
  task<error_code> receive_body(mutable_buffer to, std::size_t& bytes);
  duration keep_time() const noexcept;

  beck::detail::ref_count shares_;
  std::shared_ptr<client_pool> pool_;
  std::shared_ptr<client_connection> connection_;
  block_text url_text_;
  url url_;
  request_state request_;
  request_progress sent_ = request_progress::unsent;
  received_response response_;
  std::int64_t waited_ns_ = 0;  // for the body
  error_code failed_;           // the call, or its body
  std::string failure_text_;    // of the stream
  unsigned redirects_ = 0;
  url_error url_error_ = url_error::none;
  bool early_ = false;      // the head of the response came before the request was sent
  bool finishing_ = false;  // the call has ended the request
  call_operation operation_ = call_operation::none;
};

/// The turn of an operation: another one that begins meanwhile does not get it, and has to end.
class client_exchange::operation_turn {
 public:
  operation_turn(client_exchange& of, call_operation what) noexcept
      : exchange_(of.operation_ == call_operation::none ? &of : nullptr) {
    if (exchange_ != nullptr) of.operation_ = what;
  }
  operation_turn(const operation_turn&) = delete;
  operation_turn& operator=(const operation_turn&) = delete;
  ~operation_turn() {
    if (exchange_ != nullptr) exchange_->operation_ = call_operation::none;
  }
  bool is_taken() const noexcept { return exchange_ != nullptr; }

 private:
  client_exchange* exchange_;
};

}  // namespace beck::http::detail
