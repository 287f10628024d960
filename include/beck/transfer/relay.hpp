// SPDX-License-Identifier: BSL-1.0
// relay: carries bytes between two streams in both directions until both have ended, as a
// proxy does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <beck/base/duration.hpp>
#include <beck/coro/task.hpp>
#include <beck/detail/functions.hpp>
#include <beck/detail/stream_object.hpp>
#include <beck/transfer/transfer_report.hpp>

namespace beck {

namespace detail {

/// One direction of a relay.
struct relay_direction {
  std::uint64_t bytes = 0;                                       ///< that were passed on
  transfer_mechanism mechanism = transfer_mechanism::automatic;  ///< that was used last
  bool ended = false;  ///< its source has ended, and the end was passed on
};

}  // namespace detail

/// The state of a relay: the bytes and the mechanism of each direction.
struct relay_report {
  detail::relay_direction forth;  ///< from the first stream to the second
  detail::relay_direction back;   ///< from the second stream to the first
};

/// The options of relay().
struct relay_options {
  /// The only mechanism allowed: splice, which ends with invalid_argument where it does not work,
  /// or read_write, through a buffer. Any other one ends with invalid_argument. Default: splice
  /// where that works.
  transfer_mechanism only = transfer_mechanism::automatic;
  /// The most bytes of each direction that a buffer holds; 0 counts as 1. (A pipe holds as many as
  /// the kernel allows, 64 KiB by default.)
  std::size_t buffer_bytes = 65'536;
  /// How long the relay continues without progress after one stream has refused bytes: that stream
  /// may be silent, or the other one leave its bytes unread, for this long. The end may take twice
  /// that time. Default: 10 s.
  duration linger_timeout = duration::seconds(10);
  /// A function that is called as `function(const relay_report&)` whenever bytes were passed on or
  /// a direction has ended. It must outlive the relay, and must not throw.
  detail::progress_sink<const relay_report&> progress = {};
};
static_assert(std::is_trivially_destructible_v<relay_options>);

namespace functions {

/// Carries bytes both ways until both streams have ended. The end of one stream (eof) is passed on
/// to the other as the end of its input (shutdown(2), if it is a socket), and the other direction
/// continues. An error of either stream ends the relay with that error; both streams stay open. If
/// a stream refuses bytes (broken_pipe, connection_reset), it is first read to its end, so that a
/// reason sent by its peer before the close is passed on; if that peer stays silent instead, the
/// relay ends after relay_options::linger_timeout. The value is the report, also with an error.
/// Each direction is spliced through its own pipe if the kernel can do that for its two streams,
/// else it goes through a buffer; the report names the mechanism. Memory is bounded: a stream that
/// is not read stops the stream that sends to it.
/// Requires: both streams belong to one context and outlive the relay; no other operation reads
/// from them, writes to them or waits for them; the coroutine runs on that context, on a shared one
/// inside a strand. Cancellation: a stop of the task, or a time limit: `co_await timeout(relay(a,
/// b), 1h)`; bytes that were taken from a stream and not passed on are lost.
task<io_result<relay_report>> relay(detail::stream_object& a, detail::stream_object& b,
                                    relay_options how = {});

}  // namespace functions

}  // namespace beck
