// SPDX-License-Identifier: BSL-1.0
// The body of a response: decoded where it lies in the input of a connection, and received only
// when it is read, within its limits of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <beck/coro/task.hpp>
#include <beck/http/body_decoder.hpp>
#include <beck/http/client_options.hpp>

#include "http/client/client_connection.hpp"

namespace beck::http::detail {

/// The body of one response: it owns the state of its decoding, and the time that was waited for
/// it. `from` is that of the same connection in each call. Thread: that of its call.
class body_reader {
 public:
  explicit body_reader(const client_options& bounds) noexcept : bounds_(bounds) {}

  /// Begins with the body behind a head. `limit`: of its bytes; UINT64_MAX: that of the client.
  void begin(const head& of, std::uint64_t limit) noexcept;
  /// Returns whether the end of the body was decoded; data of it may still lie in the input.
  bool is_done() const noexcept { return decoder_.is_done(); }
  /// Returns whether decoded data lies in the input.
  bool has_data() const noexcept { return data_bytes_ != 0; }
  /// Returns the number of bytes of data that are to come, as far as it is known.
  std::uint64_t known_bytes() const noexcept { return decoder_.known_bytes(); }
  /// Returns the number of bytes of data that were decoded.
  std::uint64_t bytes() const noexcept { return decoder_.bytes(); }
  /// Returns why the body was refused.
  refusal reason() const noexcept { return decoder_.reason(); }
  /// Returns whether the body may end with the input, and ends it.
  bool may_end_here() noexcept { return decoder_.end_of_input() == parse_status::done; }

  /// Decodes the input up to the next piece of data. Returns `refused` for a malformed body, `done`
  /// behind its end, else `more`.
  parse_status decode(client_input& from);
  /// Copies decoded data to a reader. Returns the number of bytes.
  std::size_t copy(client_input& from, mutable_buffer to) noexcept;
  /// Drops the decoded data that lies in the input.
  void drop(client_input& from) noexcept;
  /// Waits for more of the body. `bytes`: the number received directly into `to`. Errors: those of
  /// the wait, body_late. Requires !has_data(). Lifetime: that of this object.
  task<error_code> receive(std::shared_ptr<client_connection> from, mutable_buffer to,
                           std::size_t& bytes);

 private:
  std::int64_t patience() const noexcept;
  mutable_buffer direct_room(const client_input& from, mutable_buffer to) const noexcept;

  const client_options& bounds_;
  body_decoder decoder_;
  body_framing framing_ = body_framing::none;
  std::size_t data_at_ = 0;     // decoded bytes of the body in the input: where they begin,
  std::size_t data_bytes_ = 0;  // their number,
  std::size_t data_end_ = 0;    // and the end of the framing behind them
  std::int64_t waited_ns_ = 0;
};

}  // namespace beck::http::detail
