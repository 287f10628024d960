// SPDX-License-Identifier: BSL-1.0
// async_copy: copies the bytes of one file into another, with the best mechanism that the kernel
// has for the two files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <beck/detail/functions.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/run/op.hpp>
#include <beck/transfer/transfer_report.hpp>

namespace beck {

/// The options of async_copy(). Trivially destructible, as every struct of options, so that they
/// may be written in braces inside a co_await expression (docs/coroutines.md).
struct copy_options {
  std::uint64_t from_offset = 0;  ///< where in the source to begin, in bytes
  std::uint64_t to_offset = 0;    ///< where in the target to begin, in bytes
  /// The number of bytes; it is an error if the source ends before. Default: all bytes that the
  /// source has after from_offset when the copy starts.
  std::uint64_t length = to_the_end;
  /// The only mechanism allowed. If it does not work, the copy ends with its error.
  transfer_mechanism only = transfer_mechanism::automatic;
  /// The number of blocks in flight for reads and writes: 1 to 1,024; beyond that the nearest bound
  /// is used. The copy uses depth x block_bytes bytes of memory.
  std::size_t depth = 4;
  /// The size of a block for reads and writes: 4 KiB to 1 GiB, rounded up to 4 KiB; beyond that the
  /// nearest bound is used.
  std::size_t block_bytes = 262'144;
  /// A function that is called as `function(std::uint64_t bytes)` whenever the number of bytes
  /// complete from the front grows, with that number, on a thread that runs the target's context.
  /// It must outlive the copy and not throw.
  detail::progress_sink<std::uint64_t> progress = {};
};
static_assert(std::is_trivially_destructible_v<copy_options>);

namespace detail {

/// A copy; starts when awaited or given a token.
class [[nodiscard]] copy_operation : public op<copy_operation, void(error_code, transfer_report)> {
 public:
  static constexpr const char* waits_for = "copy";

  copy_operation(file_object& from, file_object& to, const copy_options& how) noexcept
      : from_(from.slot()), to_(to.slot()), how_(how) {}
  copy_operation(copy_operation&& other) noexcept
      : op(static_cast<op&&>(other)), from_(other.from_), to_(other.to_), how_(other.how_) {}

  void initiate(handler done);
  any_io_executor get_executor() const noexcept;

 private:
  descriptor* from_;
  descriptor* to_;
  copy_options how_;
};

}  // namespace detail

namespace functions {

/// Copies bytes of a file. Completes with (error_code, transfer_report): the number of bytes
/// complete from the front, and the mechanism, also with an error. The target is neither truncated
/// nor synced: it keeps its bytes after the last copied one, and is on the device only after its
/// async_sync_data().
///
/// Mechanisms, the first that works for the two files: copy_file_range(2), a chunk of 8 MiB at a
/// time on a thread of the context; reads and writes, `depth` blocks at a time. A change from one
/// to the next neither loses nor repeats bytes. If the target has no data after to_offset, holes of
/// the source become holes of the target. A target in append mode gets one block after the other.
///
/// Errors: eof if the source ended before (it was shorter than requested, or has shrunk meanwhile);
/// invalid_argument if source and target are the same bytes of one file; those of reading and
/// writing, such as misaligned for the last bytes of a direct target. Bytes appended to the source
/// after the start are not copied. Files without a size (devices, /proc), or with a size above
/// their length (/sys), are copied until a read finds the end; endless ones need a length. With
/// `only`, operation_not_supported if the mechanism finds no data in such a file.
///
/// Requires: no other code changes the size of the target meanwhile. The files may belong to two
/// contexts: then they are read and written, and the source must stay open until the end.
/// `only(send_file)` moves the target's file position, which this library does not use: do not run
/// two such copies into one target.
/// Cancellation: between chunks and blocks, by the token, the coroutine's scope, or close() of one
/// of the files; ends with operation_aborted, and the report has the number of copied bytes. Waits
/// for a chunk that a thread copies. On a shared context it is cancelled only from inside a strand.
/// Memory: depth x block_bytes if bytes are read and written (one allocation), and some coroutine
/// frames; no memory for each block or chunk. Thread: as the files.
inline detail::copy_operation async_copy(file_object& from, file_object& to,
                                         const copy_options& how = copy_options()) noexcept {
  return {from, to, how};
}
/// As above. `token` takes (error_code, transfer_report).
template <class Token>
auto async_copy(file_object& from, file_object& to, const copy_options& how, Token&& token) {
  return detail::launch(async_copy(from, to, how), static_cast<Token&&>(token));
}

}  // namespace functions

}  // namespace beck
