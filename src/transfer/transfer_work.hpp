// SPDX-License-Identifier: BSL-1.0
// The parts that several transfers share: a guard that keeps a descriptor open, memory for blocks,
// and the state of one async_copy.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>

#include <beck/coro/co_spawn.hpp>
#include <beck/detail/deferred_init.hpp>
#include <beck/detail/job_operation.hpp>
#include <beck/run/strand.hpp>
#include <beck/transfer/copy.hpp>
#include <beck/transfer/transfer_report.hpp>

#include "base/fork_count.hpp"
#include "io/loop/io_loop.hpp"

namespace beck::detail {

/// Keeps the file descriptor of `d` open for its lifetime. The object notices a close() at once,
/// but only the destructor of this guard closes the number. Thread: the one that runs the loop.
class open_hold {
 public:
  /// Holds `d` if it is open. `generation` is that of the slot when the operation was made: if it
  /// differs, the slot belongs to another object now.
  open_hold(descriptor& d, std::uint32_t generation) noexcept : d_(d) {
    d.loop->as_runner([&](io_loop&) {
      result_ = d.generation != generation || is_closing(d) ? cancelled_result
                : d.fd < 0                                  ? -EBADF
                                                            : 0;
      if (result_ == 0) ++d.in_kernel;
    });
  }
  ~open_hold() {
    if (result_ < 0 || forks_ != fork_count()) return;  // in a child of fork the count is 0 again
    d_.loop->as_runner([this](io_loop& loop) {
      --d_.in_kernel;
      loop.descriptors().close_if_idle(d_);
    });
  }
  open_hold(const open_hold&) = delete;
  open_hold& operator=(const open_hold&) = delete;

  /// Returns 0 if the descriptor is held, else the error: cancelled_result if the object was
  /// closed, -EBADF if it was not open.
  int result() const noexcept { return result_; }

 private:
  descriptor& d_;
  int result_ = cancelled_result;
  const unsigned forks_ = fork_count();
};

/// The result of an operation of this folder.
struct transfer_end {
  transfer_end() noexcept {}
  transfer_end(error_code ec, const transfer_report& what) noexcept : error(ec), report(what) {}
  error_code error;
  transfer_report report;
};

/// The completion handler of the task behind an operation: passes its result to the operation's
/// handler. A cancellation of the operation reaches the task through the same slot.
template <class Handler>
class transfer_handler {
 public:
  explicit transfer_handler(Handler&& done) : done_(static_cast<Handler&&>(done)) {}
  cancellation_slot get_cancellation_slot() const noexcept { return done_.get_cancellation_slot(); }
  void operator()(const std::exception_ptr& error, transfer_end end) {
    if (error) end.error = error::make_error_code(error::no_memory);  // tasks throw only bad_alloc
    done_(end.error, end.report);
  }

 private:
  Handler done_;
};

/// Returns an executor of the loop on which one handler runs at a time, for the task behind an
/// operation.
inline any_io_executor executor_for(io_loop& loop) {
  if (!loop.core().is_shared) return loop.executor();
  return make_strand_executor(loop.executor());
}

/// Memory aligned for direct transfers. data() is nullptr if there was no memory.
class aligned_memory {
 public:
  static constexpr std::align_val_t alignment{4096};

  explicit aligned_memory(std::size_t bytes) noexcept
      : data_(static_cast<char*>(::operator new(bytes, alignment, std::nothrow))) {}
  ~aligned_memory() { ::operator delete(data_, alignment); }
  aligned_memory(const aligned_memory&) = delete;
  aligned_memory& operator=(const aligned_memory&) = delete;

  char* data() const noexcept { return data_; }

 private:
  char* data_;
};

/// Returns whether the size of a file claims bytes at `offset`, where a read has found the end:
/// then its size is not its length. Example: a file of sysfs has the size 4,096, but few readable
/// bytes. For a file that has shrunk the size is correct.
inline bool claims_bytes_at(const descriptor& file, std::uint64_t offset) noexcept {
  const std::int64_t size = file.loop->sys().file_size(file.fd);
  return size > 0 && static_cast<std::uint64_t>(size) > offset;
}

/// Returns whether a read finds bytes at `offset`. For mechanisms that find none in files that the
/// kernel generates (copy_file_range(2), BUGS).
inline task<bool> has_bytes_at(descriptor& file, std::uint64_t offset) {
  const std::size_t bytes = std::max<std::size_t>(file.offset_alignment, 1);
  const aligned_memory memory(bytes);
  if (memory.data() == nullptr) throw std::bad_alloc();
  file_transfer read(op_kind::file, file_call::read, &file, offset, memory.data(), bytes);
  auto got = co_await std::move(read);
  co_return *got != 0;
}

/// Returns the options of a copy or a transmission with the bounds of its blocks applied: 1 to
/// 1,024 of them, each of whole pages, one page to 1 GiB.
template <class Options>
Options within_bounds(Options how) noexcept {
  constexpr std::size_t page = 4096;
  how.depth = std::clamp<std::size_t>(how.depth, 1, 1024);
  how.block_bytes = std::clamp<std::size_t>(how.block_bytes, page, std::size_t{1} << 30);
  how.block_bytes = (how.block_bytes + page - 1) / page * page;
  return how;
}

/// The state of one async_copy. Positions count from the first byte that is copied.
struct copy_work {
  copy_work(descriptor& source, descriptor& target, const copy_options& options) noexcept
      : from(source), to(target), how(within_bounds(options)), mechanism(options.only) {}

  io_loop& loop() const noexcept { return *to.loop; }
  std::uint64_t source_offset(std::uint64_t at) const noexcept { return how.from_offset + at; }
  std::uint64_t target_offset(std::uint64_t at) const noexcept { return how.to_offset + at; }

  /// Notes that all bytes before `at` have been copied, the last ones by `mechanism`.
  void reach(std::uint64_t at) {
    report.mechanism = mechanism;
    if (at <= report.bytes) return;
    report.bytes = at;
    how.progress.tell(at);
  }
  /// Sets the error of the copy, unless there is one already.
  void fail(const error_code& ec) noexcept {
    if (!error) error = ec;
  }
  /// Handles the end of the source at `at`, before the limit. If the length was not known before,
  /// the end becomes the limit; else the copy fails.
  void end_at(std::uint64_t at) noexcept {
    const bool ends_here =
        open_ended || (how.length == to_the_end && claims_bytes_at(from, source_offset(at)));
    if (!ends_here) return fail(error::make_error_code(error::eof));
    limit = std::min(limit, at);
  }

  descriptor& from;
  descriptor& to;
  const copy_options how;
  std::uint64_t position = 0;        ///< the first byte that is not yet copied
  std::uint64_t limit = to_the_end;  ///< the end of the copy
  bool open_ended = false;           ///< the limit is unknown until a read finds the end
  bool in_order = false;             ///< one block at a time
  bool keeps_holes = false;
  transfer_mechanism mechanism;  ///< the one in use or being tried
  transfer_report report;
  error_code error;
  deferred_init<aligned_memory> memory;  ///< of the blocks
};

/// Copies the bytes before `end` by reads and writes, and sets the position.
task<> copy_blocks(copy_work& work, std::uint64_t end);

}  // namespace beck::detail
