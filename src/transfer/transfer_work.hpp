// SPDX-License-Identifier: BSL-1.0
// Work of transfers that outlives a call: the descriptors of both sides with their generations, and
// the state of one async_copy.
#pragma once

#include <algorithm>
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

// What the operations of this folder are made of: descriptors that stay open while a thread uses
// their numbers, calls on such a thread, memory for blocks, and the way from a task's end to the
// handler of an operation.
namespace beck::detail {

/// Keeps the number of a descriptor from being closed: a close() meanwhile takes effect, and the
/// number goes with this. Thread: on the runner of the loop.
class open_hold {
 public:
  /// `generation`: of the slot when the operation was made.
  open_hold(descriptor& d, std::uint32_t generation) noexcept : d_(d) {
    d.loop->as_runner([&](io_loop&) {
      result_ = d.generation != generation || is_closing(d) ? cancelled_result
                : d.fd < 0                                  ? -EBADF
                                                            : 0;
      if (result_ == 0) ++d.in_kernel;
    });
  }
  ~open_hold() {
    if (result_ < 0 || forks_ != fork_count()) return;  // a child of fork counts from 0
    d_.loop->as_runner([this](io_loop& loop) {
      --d_.in_kernel;
      loop.close_if_idle(d_);
    });
  }
  open_hold(const open_hold&) = delete;
  open_hold& operator=(const open_hold&) = delete;

  /// 0, or why it is not open.
  int result() const noexcept { return result_; }

 private:
  descriptor& d_;
  int result_ = cancelled_result;
  const unsigned forks_ = fork_count();
};

/// What an operation of this folder ends with.
struct transfer_end {
  transfer_end() noexcept {}
  transfer_end(error_code ec, const transfer_report& what) noexcept : error(ec), report(what) {}
  error_code error;
  transfer_report report;
};

/// The end of the task behind an operation. It is cancelled as the operation is.
template <class Handler>
class transfer_handler {
 public:
  explicit transfer_handler(Handler&& done) : done_(static_cast<Handler&&>(done)) {}
  cancellation_slot get_cancellation_slot() const noexcept { return done_.get_cancellation_slot(); }
  void operator()(const std::exception_ptr& error, transfer_end end) {
    if (error) end.error = error::make_error_code(error::no_memory);  // nothing else is thrown
    done_(end.error, end.report);
  }

 private:
  Handler done_;
};

/// Where a task runs that works for a loop: one thing at a time.
inline any_io_executor executor_for(io_loop& loop) {
  if (!loop.is_shared()) return loop.executor();
  return make_strand_executor(loop.executor());
}

/// What options may ask for.
inline std::size_t blocks_within_bounds(std::size_t blocks) noexcept {
  return std::clamp<std::size_t>(blocks, 1, 1024);
}
inline std::size_t block_within_bounds(std::size_t bytes) noexcept {
  constexpr std::size_t page = 4096;
  return (std::clamp<std::size_t>(bytes, page, std::size_t{1} << 30) + page - 1) / page * page;
}

/// Memory that direct transfers accept too; empty if there is none.
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

// What a copy knows while it runs. Positions count from where the copy begins.

struct copy_work {
  copy_work(descriptor& source, descriptor& target, const copy_options& options) noexcept
      : from(source), to(target), how(options), mechanism(options.only()) {}

  io_loop& loop() const noexcept { return *to.loop; }
  std::uint64_t source_offset(std::uint64_t at) const noexcept { return how.from_offset() + at; }
  std::uint64_t target_offset(std::uint64_t at) const noexcept { return how.to_offset() + at; }

  /// Everything before `at` has been copied, the last of it by `mechanism`.
  void reach(std::uint64_t at) {
    report.mechanism = mechanism;
    if (at <= report.bytes) return;
    report.bytes = at;
    how.progress().tell(at);
  }
  /// The first error counts.
  void fail(const error_code& ec) noexcept {
    if (!error) error = ec;
  }

  descriptor& from;
  descriptor& to;
  const copy_options how;
  std::uint64_t position = 0;        ///< the front of what is left
  std::uint64_t limit = to_the_end;  ///< where it ends
  bool open_ended = false;           ///< the source says by itself where that is
  bool in_order = false;             ///< one block at a time
  bool keeps_holes = false;
  transfer_mechanism mechanism;  ///< that is being tried
  transfer_report report;
  error_code error;
  deferred_init<aligned_memory> memory;  ///< of the blocks
};

/// Copies up to `end` by reads and writes, and sets the position.
task<> copy_blocks(copy_work& work, std::uint64_t end);

}  // namespace beck::detail
