// SPDX-License-Identifier: BSL-1.0
// One request over one connection, and its response. A retry, or a redirect, is another attempt.
#pragma once

#include <cstddef>
#include <memory>

#include <beck/base/duration.hpp>
#include <beck/coro/task.hpp>
#include <beck/http/client_options.hpp>
#include <beck/http/client_response.hpp>

#include "http/client/client_connection.hpp"
#include "http/client/client_request.hpp"
#include "http/client/received_response.hpp"
#include "http/client/request_writer.hpp"

namespace beck::http::detail {

/// An attempt: it owns the connection from begin() until the response is whole, and both
/// directions of the exchange on it. Functions return errors; its call decides whether they end it.
/// Thread: that of its call, of which it is a part.
class client_attempt {
 public:
  /// Makes an attempt without a connection. The arguments outlive it.
  client_attempt(const client_request& what, const client_options& bounds)
      : request_(what), bounds_(bounds), output_(what), response_(bounds) {}
  ~client_attempt() { close(); }
  client_attempt(const client_attempt&) = delete;
  client_attempt& operator=(const client_attempt&) = delete;

  /// Returns the connection; nullptr before begin(), and after the end of the attempt.
  const std::shared_ptr<client_connection>& connection() const noexcept { return connection_; }
  const request_writer& output() const noexcept { return output_; }
  const received_response& response() const noexcept { return response_; }

  // --- the request; each requires a connection
  /// Takes a connection, and adds the head of the request to its output. Throws std::bad_alloc.
  void begin(std::shared_ptr<client_connection> with);
  /// Sends the request: see request_writer.
  void send() { output_.send(*connection_); }
  /// Writes a part of a stream. Returns false if that has to wait.
  bool write_ready(const_buffer data, std::size_t& bytes, error_code& ec);
  /// Ends a stream.
  error_code end_stream();
  /// Waits for "100 Continue", but not for ever, then sends a whole body; not after another
  /// response.
  task<error_code> wait_for_continue();

  // --- the response; each requires a connection
  /// Waits for the head of the response, once the request is sent.
  task<error_code> receive_head();
  /// Decodes the body up to its next piece, and returns whether there is one. At its end the
  /// connection serves other calls.
  bool decode(error_code& ec);
  /// Reads the body. Returns false if that has to wait. `bytes` may have come with an error behind
  /// them.
  bool read_ready(mutable_buffer to, std::size_t& bytes, error_code& ec);
  /// Waits for more of the body: see body_reader.
  task<error_code> receive_body(mutable_buffer to, std::size_t& bytes) {
    return response_.body().receive(connection_, to, bytes);
  }
  /// Returns the stream after status 101.
  taken_stream take_over();

  // --- its end
  /// Returns whether another attempt may be made after an error: only if the connection was idle
  /// before, and may have ended before the request reached the server.
  bool may_retry(const error_code& ec) const noexcept;
  /// Closes the connection and returns its place. Requires a connection.
  place surrender() noexcept;
  /// Drops the bytes of the body that have arrived; the call reads no more of it. If they are the
  /// last ones, the connection serves other calls. Returns the error of the body.
  error_code drop_rest();
  /// Closes the connection, if there is one.
  void close() noexcept;
  /// Forgets the response, as the call has failed.
  void fail() noexcept { response_.fail(); }

 private:
  parse_status parse_head();
  bool is_refused_early();
  error_code end_error() const noexcept;
  void end_body() noexcept;
  duration keep_time() const noexcept;

  const client_request& request_;
  const client_options& bounds_;
  std::shared_ptr<client_connection> connection_;
  request_writer output_;
  received_response response_;
  bool is_early_ = false;  // the head of the response came before the request was sent
};

}  // namespace beck::http::detail
