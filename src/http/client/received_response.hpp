// SPDX-License-Identifier: BSL-1.0
// The response to an attempt: its head is parsed where it lies in the input of a connection, and
// copied out of it; body_reader has its body.
#pragma once

#include <cstddef>
#include <cstdint>

#include <beck/http/client_options.hpp>
#include <beck/http/parser.hpp>

#include "http/client/body_reader.hpp"
#include "http/client/client_input.hpp"
#include "http/client/client_request.hpp"

namespace beck::http::detail {

/// What is known of a response.
enum class response_progress : std::uint8_t {
  none,    ///< no byte of it has come
  heard,   ///< some bytes of a head have
  head,    ///< its head has
  whole,   ///< its body was decoded, or belongs to another protocol
  failed,  ///< the call has: there is no response
};

/// The response. Thread: that of its call.
class received_response {
 public:
  explicit received_response(const client_options& bounds)
      : bounds_(bounds), parser_(bounds.heads), body_(bounds) {}

  /// Forgets it, as the call has failed.
  void fail() noexcept;

  // --- the head
  bool is_heard() const noexcept { return progress_ != response_progress::none; }
  bool has_head() const noexcept {
    return progress_ == response_progress::head || progress_ == response_progress::whole;
  }
  const response_head& head() const noexcept { return head_; }
  /// Returns whether the head is that of the stream of another protocol.
  bool is_upgraded() const noexcept {
    return has_head() && head_.status() == status::switching_protocols;
  }
  /// Returns whether "100 Continue" has come, or is not waited for any more.
  bool is_continued() const noexcept { return is_continued_; }
  void stop_continue_wait() noexcept { is_continued_ = true; }
  /// Parses the input, and removes heads from it, also those of 1xx. Returns `more` until the head
  /// of the response is there; `refused` with an error(). Throws std::bad_alloc.
  parse_status parse_head(client_input& from, const client_request& asked);
  /// Returns why the head was refused; no error if it was not.
  const error_code& error() const noexcept { return error_; }

  // --- the body
  bool is_whole() const noexcept { return progress_ == response_progress::whole; }
  void set_whole() noexcept;
  body_reader& body() noexcept { return body_; }
  const body_reader& body() const noexcept { return body_; }

 private:
  void take_head(client_input& from, const client_request& asked);

  const client_options& bounds_;
  response_parser parser_;
  response_head head_;
  block_text head_text_;
  body_reader body_;
  response_progress progress_ = response_progress::none;
  bool is_continued_ = false;      // independent of the progress: it need not come
  std::size_t interim_bytes_ = 0;  // of 1xx responses
  error_code error_;
};

}  // namespace beck::http::detail
