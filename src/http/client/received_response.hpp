// SPDX-License-Identifier: BSL-1.0
// The response of a call, as it is parsed and decoded where it lies in the input of a connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <beck/detail/block.hpp>
#include <beck/http/body_decoder.hpp>
#include <beck/http/client_options.hpp>
#include <beck/http/parser.hpp>

#include "http/client/client_connection.hpp"

namespace beck::http::detail {

/// A text in a recycled block, with request_parser::padding readable bytes behind it.
class block_text {
 public:
  block_text() noexcept = default;
  ~block_text() { clear(); }
  block_text(const block_text&) = delete;
  block_text& operator=(const block_text&) = delete;
  /// Throws std::bad_alloc; then the text is unchanged.
  void assign(std::string_view text);
  void clear() noexcept {
    if (data_ != nullptr) beck::detail::free_block(data_);
    data_ = nullptr;
    bytes_ = 0;
  }
  const char* data() const noexcept { return data_; }
  std::string_view view() const noexcept { return {data_, bytes_}; }

 private:
  char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

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
      : bounds_(bounds), parser_(bounds.heads) {}

  /// Begins with the response to another request.
  void restart() noexcept;
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
  /// Parses what has come, and removes heads from the input, also those of 1xx. Returns `more`
  /// until the head of the response is there; `refused` with `ec` set. `upgrades`: the request asks
  /// for another protocol. Throws std::bad_alloc.
  parse_status parse_head(client_connection& from, method asked, bool upgrades, error_code& ec);

  // --- the body
  bool is_whole() const noexcept { return progress_ == response_progress::whole; }
  void set_whole() noexcept;
  const body_decoder& decoder() const noexcept { return decoder_; }
  /// Returns the number of decoded bytes that lie in the input.
  std::size_t ready_bytes() const noexcept { return data_bytes_; }
  /// Decodes the input up to the next piece of data. Returns `refused` for a malformed body, `done`
  /// behind its end, else `more`.
  parse_status decode(client_connection& from);
  /// Copies decoded bytes to a reader. Returns their number.
  std::size_t copy(client_connection& from, mutable_buffer to) noexcept;
  /// Drops the decoded bytes that lie in the input.
  void drop(client_connection& from) noexcept;
  /// Decodes bytes that a reader has received itself. Returns the number of those of the body.
  std::size_t decode_received(std::string_view text);
  /// Returns whether the body may end with the input.
  bool may_end_here() noexcept { return decoder_.end_of_input() == parse_status::done; }
  refusal reason() const noexcept { return decoder_.reason(); }

 private:
  void take_head(client_connection& from);

  const client_options& bounds_;
  response_parser parser_;
  response_head head_;
  block_text head_text_;
  body_decoder decoder_;
  response_progress progress_ = response_progress::none;
  bool is_continued_ = false;      // independent of the progress: it need not come
  std::size_t interim_bytes_ = 0;  // of 1xx responses
  std::size_t data_at_ = 0;        // decoded bytes of the body in the input: where they begin,
  std::size_t data_bytes_ = 0;     // their number,
  std::size_t data_end_ = 0;       // and the end of the framing behind them
};

}  // namespace beck::http::detail
