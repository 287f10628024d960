// SPDX-License-Identifier: BSL-1.0
// The sending side of an attempt: the head of a request, a body that is given whole, and the parts
// of a stream.
#pragma once

#include <cstddef>
#include <cstdint>

#include "http/client/client_connection.hpp"
#include "http/client/client_request.hpp"

namespace beck::http::detail {

/// How much of a request was sent.
enum class request_progress : std::uint8_t {
  unsent,
  head,  ///< its head; a body may follow
  whole,
};

/// The output of one request: it owns how much of it was sent. `to`, the same connection in each
/// call, sends. Thread: that of its call.
class request_writer {
 public:
  /// Makes a writer of a request, which outlives it, and stays as it is from begin() on.
  explicit request_writer(const client_request& what) noexcept : request_(what) {}

  bool is_begun() const noexcept { return progress_ != request_progress::unsent; }
  bool is_whole() const noexcept { return progress_ == request_progress::whole; }
  /// Returns whether less was written than the caller has promised.
  bool is_short() const noexcept {
    return request_.kind == request_body_kind::length && sent_ != request_.length;
  }

  /// Adds the head to the output. Throws std::bad_alloc; then a part of it may be there.
  void begin(client_connection& to);
  /// Sends the request, but for a stream, and for a body that waits for "100 Continue".
  void send(client_connection& to);
  /// Sends a body that is given whole, and that has waited.
  void send_body(client_connection& to);
  /// Sends a part of a stream. Returns the number of bytes that it has taken: at least one, at most
  /// `bytes_max` and the rest of the promised length. Requires is_begun(), !is_whole(), data that
  /// is not empty, and is_short() if a length was promised.
  std::size_t write(client_connection& to, const_buffer data, std::size_t bytes_max);
  /// Ends a stream; flush() of the connection sends its end. Requires !is_short().
  void end(client_connection& to);

 private:
  const client_request& request_;
  std::uint64_t sent_ = 0;  // bytes of a stream
  request_progress progress_ = request_progress::unsent;
};

}  // namespace beck::http::detail
