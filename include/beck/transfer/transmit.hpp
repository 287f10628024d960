// SPDX-License-Identifier: BSL-1.0
// async_transmit: sends a part of a file over a stream, where possible inside the kernel, without a
// copy in the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <beck/base/buffer.hpp>
#include <beck/detail/functions.hpp>
#include <beck/detail/stream_object.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/run/op.hpp>
#include <beck/transfer/transfer_report.hpp>

namespace beck {

/// The options of async_transmit().
struct transmit_options {
  /// The only mechanism allowed: send_file or read_write. If it does not work, the transmission
  /// ends with its error; any other mechanism ends with invalid_argument.
  transfer_mechanism only = transfer_mechanism::automatic;
  /// The number of blocks that are read ahead for reads and writes: 1 to 1,024; beyond that the
  /// nearest bound is used. The transmission uses depth x block_bytes bytes of memory.
  std::size_t depth = 2;
  /// The size of a block for reads and writes: 4 KiB to 1 GiB, rounded up to 4 KiB; beyond that the
  /// nearest bound is used.
  std::size_t block_bytes = 131'072;
  /// Bytes that are sent before the file, such as the head of an HTTP response. On a socket they
  /// share packets with the first bytes of the file (MSG_MORE). They are sent when the first bytes
  /// of the file are in memory, also for an empty file, and counted only in
  /// transfer_report::prefix_bytes. The memory must stay valid until the completion.
  const_buffer prefix = {};
  /// A function that is called as `function(std::uint64_t bytes)` with the number of bytes of the
  /// file sent so far, whenever it grows, on a thread that runs the stream's context. It must
  /// outlive the operation and not throw.
  detail::progress_sink<std::uint64_t> progress = {};
};
static_assert(std::is_trivially_destructible_v<transmit_options>);

namespace detail {

/// A transmission; starts when awaited or given a token.
class [[nodiscard]] transmit_operation
    : public op<transmit_operation, void(error_code, transfer_report)> {
 public:
  static constexpr const char* waits_for = "transmit";

  transmit_operation(stream_object& to, file_object& from, std::uint64_t offset,
                     std::uint64_t bytes, const transmit_options& how) noexcept
      : to_(to.slot()), from_(from.slot()), offset_(offset), bytes_(bytes), how_(how) {}
  transmit_operation(transmit_operation&& other) noexcept
      : op(static_cast<op&&>(other)),
        to_(other.to_),
        from_(other.from_),
        offset_(other.offset_),
        bytes_(other.bytes_),
        how_(other.how_) {}

  void initiate(handler done);
  any_io_executor get_executor() const noexcept;

 private:
  descriptor* to_;
  descriptor* from_;
  std::uint64_t offset_;
  std::uint64_t bytes_;
  transmit_options how_;
};

}  // namespace detail

namespace functions {

/// Sends `bytes` bytes of a file from `offset` on; `to_the_end`: up to the present end of the file,
/// or until a read finds the end if the size is not the length (/proc, /sys, devices). Completes
/// with (error_code, transfer_report): the exact number of bytes sent of the file and of the
/// prefix, and the mechanism, also with an error.
///
/// Uses sendfile(2) whenever the stream has room, but only for bytes in the page cache. A thread of
/// the context reads other bytes ahead, so that the runner never waits for a device. Without
/// sendfile, `depth` blocks are read while others are written.
///
/// Errors: eof if the file ended before; broken_pipe, connection_reset and the like (never
/// SIGPIPE); those of reading the file; invalid_argument if the two belong to two contexts.
/// Requires: no other write to the stream is under way, as for async_write. Cancellation: by the
/// token, the coroutine's scope, or close() of one of the two; cancel() of the stream while it has
/// no room. Ends with operation_aborted. On a shared context it is cancelled only from inside a
/// strand.
/// Memory: some coroutine frames, and the blocks if bytes are read and written. Thread: as the
/// objects.
inline detail::transmit_operation async_transmit(
    detail::stream_object& to, file_object& from, std::uint64_t offset, std::uint64_t bytes,
    const transmit_options& how = transmit_options()) noexcept {
  return {to, from, offset, bytes, how};
}
/// As above. `token` takes (error_code, transfer_report).
template <class Token>
auto async_transmit(detail::stream_object& to, file_object& from, std::uint64_t offset,
                    std::uint64_t bytes, const transmit_options& how, Token&& token) {
  return detail::launch(async_transmit(to, from, offset, bytes, how), static_cast<Token&&>(token));
}

}  // namespace functions

}  // namespace beck
