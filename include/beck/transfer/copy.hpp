// SPDX-License-Identifier: BSL-1.0
// async_copy: copies the bytes of one file into another, with the best mechanism that the kernel
// has for the two files.
#pragma once

#include <beck/detail/functions.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/run/op.hpp>
#include <beck/transfer/transfer_report.hpp>

namespace beck {

/// The options of async_copy(). Every setter returns the object.
class copy_options {
 public:
  /// Makes the defaults: all bytes, from the beginnings, with the best mechanism.
  copy_options() noexcept {}

  /// Sets where in the source to begin, in bytes. Default: 0.
  copy_options& from_offset(std::uint64_t at) noexcept {
    from_offset_ = at;
    return *this;
  }
  /// Sets where in the target to begin, in bytes. Default: 0.
  copy_options& to_offset(std::uint64_t at) noexcept {
    to_offset_ = at;
    return *this;
  }
  /// Sets the number of bytes; it is an error if the source ends before. Default: all bytes that
  /// the source has after from_offset when the copy starts.
  copy_options& length(std::uint64_t bytes) noexcept {
    length_ = bytes;
    return *this;
  }
  /// Sets the number of blocks in flight for reads and writes, 1 to 1,024. The copy uses depth x
  /// block_bytes bytes of memory. Default: 4.
  copy_options& depth(std::size_t blocks) noexcept;
  /// Sets the size of a block for reads and writes: 4 KiB to 1 GiB, rounded up to 4 KiB. Default:
  /// 256 KiB.
  copy_options& block_bytes(std::size_t bytes) noexcept;
  /// Allows only this mechanism. If it does not work, the copy ends with its error.
  copy_options& only(transfer_mechanism which) noexcept {
    only_ = which;
    return *this;
  }
  /// Calls `function(std::uint64_t bytes)` whenever the number of bytes complete from the front
  /// grows, with that number, on a thread that runs the target's context. `function` must outlive
  /// the copy and not throw.
  template <class Function>
  copy_options& progress(Function& function) noexcept {
    progress_ = detail::progress_sink::to(function);
    return *this;
  }

  /// Returns where in the source to begin.
  std::uint64_t from_offset() const noexcept { return from_offset_; }
  /// Returns where in the target to begin.
  std::uint64_t to_offset() const noexcept { return to_offset_; }
  /// Returns the number of bytes, or to_the_end.
  std::uint64_t length() const noexcept { return length_; }
  /// Returns the number of blocks in flight.
  std::size_t depth() const noexcept { return depth_; }
  /// Returns the size of a block in bytes.
  std::size_t block_bytes() const noexcept { return block_bytes_; }
  /// Returns the only mechanism allowed, or automatic.
  transfer_mechanism only() const noexcept { return only_; }
  /// Returns the progress function.
  const detail::progress_sink& progress() const noexcept { return progress_; }

 private:
  std::uint64_t from_offset_ = 0;
  std::uint64_t to_offset_ = 0;
  std::uint64_t length_ = to_the_end;
  std::size_t depth_ = 4;
  std::size_t block_bytes_ = 262'144;
  detail::progress_sink progress_;
  transfer_mechanism only_ = transfer_mechanism::automatic;
};

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
