// SPDX-License-Identifier: BSL-1.0
// The responses of a server's connection: builds the head, the framing and the body of a response
// from the calls of a handler, by the rules of HTTP. response_side.cpp has heads and parts of
// bodies, response_file.cpp files as bodies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <beck/http/status.hpp>

#include "http/server/exchange_state.hpp"
#include "http/server/response_output.hpp"

namespace beck::http::detail {

/// The responses, one after the other. Thread: that of its connection, of which it is a part.
class response_side {
 public:
  explicit response_side(connection& of) noexcept : connection_(of), output_(of) {}

  connection& parent() noexcept { return connection_; }
  response_output& output() noexcept { return output_; }
  /// Returns the state of the response that the handler has set. Requires an exchange.
  response_state& state() noexcept;
  const response_state& state() const noexcept;
  /// Returns whether the response has a body. A response to HEAD has none, with any fields.
  bool body_allowed() const noexcept;

  // --- for response
  void send(std::string_view body);
  /// Takes a part of the body. Returns false if the handler has to wait for room. Throws
  /// std::bad_alloc; the connection is then lost, because nothing can follow an incomplete part.
  bool write_ready(const_buffer data, std::size_t& bytes, error_code& ec);
  /// Takes a part of `data` once there is room, then calls `done`.
  void wait_for_room(const_buffer data, response_write::handler done) noexcept;
  bool waits_for_room() const noexcept { return bool(room_done_); }
  void cancel_room() noexcept;
  /// Returns true if everything was sent, or with an error in `ec`; false if the handler has to
  /// wait.
  bool flush_ready(error_code& ec);
  /// Calls `done` when everything was sent.
  void wait_for_flush(response_flush::handler done) noexcept;
  bool waits_for_flush() const noexcept { return bool(flush_done_); }
  void cancel_flush() noexcept;
  bool send_cached(file_object& from, std::uint64_t offset, std::uint64_t bytes, error_code& ec);
  static task<io_result<std::uint64_t>> send_file(std::shared_ptr<connection> keep,
                                                  file_object& from, std::uint64_t offset,
                                                  std::uint64_t bytes);

  // --- for the connection
  /// Calls the functions of response::before_head(). Throws what they throw, and std::logic_error
  /// if one of them has sent a response.
  void call_hooks();
  /// As call_hooks(); returns the exception.
  std::exception_ptr try_hooks() noexcept;
  /// Responds with an error page of the server itself, and drops what the handler has set.
  void answer(const page_cause& cause);
  /// Ends the response of a handler that has ended without an exception.
  void finish();
  /// Counts a response that ends early, with the connection.
  void note_cut() noexcept;
  /// Sends the head, after which the stream belongs to a handler.
  void send_tunnel_head();
  /// Lets the handler continue if the output has reached the state that it waits for.
  void wake() noexcept;
  /// Ends the waits of the handler with an error.
  void cancel_waits() noexcept;
  /// Drops the waits of the handler, whose callbacks may own the connection.
  void drop_waits() noexcept;

 private:
  std::string set_answer(const page_cause& cause);
  void begin_head() noexcept;
  void write_head(bool has_body_length, std::uint64_t length);
  void begin_stream();
  bool may_take_parts() const noexcept;
  void append_part(std::string_view text);

  // files (response_file.cpp)
  error_code begin_file(std::uint64_t bytes, bool is_all = true);
  task<io_result<std::uint64_t>> transmit(file_object& from, std::uint64_t offset,
                                          std::uint64_t bytes);
  task<io_result<std::uint64_t>> copy(file_object& from, std::uint64_t offset, std::uint64_t bytes);
  task<io_result<std::uint64_t>> copy_to_end(file_object& from, std::uint64_t offset);
  task<error_code> write_block(const_buffer block, std::uint64_t& written);

  connection& connection_;
  response_output output_;
  const_buffer room_data_;
  response_write::handler room_done_;   // empty: no wait for room
  response_flush::handler flush_done_;  // empty: no wait until everything was sent
};

}  // namespace beck::http::detail
