// SPDX-License-Identifier: BSL-1.0
// Reads the pushes of a server, within the limit of their bytes, and passes them on.
#pragma once

#include <cstddef>
#include <cstdint>

#include <beck/redis/resp3.hpp>
#include <beck/redis/value.hpp>

namespace beck::redis::detail {

/// Receives the pushes of a server.
class push_sink {
 public:
  /// Takes a push, between two replies or inside of one. Must not call the session. An
  /// exception ends the connection.
  virtual void take_push(const value& message) = 0;
  /// Takes a push that was over its limit: the elements of `message` end before the one that was
  /// too large, and a null is in its place. As take_push().
  virtual void take_cut_push(const value& message) { static_cast<void>(message); }

 protected:
  ~push_sink() = default;
};

enum class push_reading : std::uint8_t {
  none,
  whole,
  cut,  ///< it is over its limit: the rest is dropped
};

enum class push_reading_event : std::uint8_t { begin, cut, end };

/// The push that is being read. Thread: that of the session.
class push_reader {
 public:
  /// `sink`: nullptr drops the pushes. `bytes_max`: of each.
  push_reader(push_sink* sink, std::size_t bytes_max) noexcept
      : sink_(sink), bytes_max_(bytes_max) {}

  /// Takes the next token of a push. Returns whether the push is complete: pass_on() comes next.
  /// Throws std::bad_alloc.
  bool take(const token& next);
  /// Returns the push.
  const value& message() const noexcept { return message_; }
  /// Passes the push to the sink, and forgets it. Throws as the sink.
  void pass_on();
  /// Returns whether a part of a push has come.
  bool is_reading() const noexcept { return state_ != push_reading::none; }
  /// Takes the end of the connection.
  void lose() noexcept;
  /// Frees memory that an idle connection does not need.
  void trim() noexcept {
    if (message_.elements() == 0) message_.shrink();
  }

 private:
  push_sink* const sink_;
  const std::size_t bytes_max_;
  value message_;
  std::size_t bytes_ = 0;  // so far
  push_reading state_ = push_reading::none;
};

}  // namespace beck::redis::detail
