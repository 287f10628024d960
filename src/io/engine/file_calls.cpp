// SPDX-License-Identifier: BSL-1.0
// Starts calls on files, attempts them in memory, and takes their results.
#include "io/engine/file_calls.hpp"

#include <cerrno>

#include <fcntl.h>

#include "io/engine/op_engine.hpp"
#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"
#include "io/op/perform.hpp"

namespace beck::detail {
namespace {

void link(file_operation& op) noexcept {
  descriptor& d = *op.target;
  op.newer = nullptr;
  op.older = d.files;
  if (d.files != nullptr) d.files->newer = &op;
  d.files = &op;
}

}  // namespace

file_calls::file_calls(op_engine& engine) noexcept : engine_(engine), core_(engine.core()) {}

void unlink_file(file_operation& op) noexcept {
  if (op.newer != nullptr) {
    op.newer->older = op.older;
  } else if (op.target->files == &op) {
    op.target->files = op.older;
  }
  if (op.older != nullptr) op.older->newer = op.newer;
  op.newer = op.older = nullptr;
}

/// Completes `op` if it needs no device: a transfer of nothing, a path in memory and, where a
/// thread would make the call, data in the page cache. Returns true if `op` has its result.
bool file_calls::attempt_cached(file_operation& op) noexcept {
  if (needs_no_call(op)) return true;
  if (is_path_call(op.call)) return attempt_in_memory(static_cast<status_operation&>(op));
  if (!is_file_read(op.call) || engine_.drv().makes_file_calls()) return false;
  while (core_.run_state.spend(runner::call_weight)) {
    ++core_.counters.attempts;
    const std::ptrdiff_t r = perform_cached(*core_.sys, op);
    if (r == -EAGAIN) {
      ++core_.counters.wrong_attempts;
      return false;
    }
    op.result = result_of_call(op, r);
    if (r > 0) core_.run_state.charge(static_cast<unsigned>(r / runner::bytes_per_weight));
    if (op.result < 0 || (op.flags & io_op::flag_all) == 0 || bytes_left(op) == 0) return true;
  }
  return false;
}

bool file_calls::attempt_in_memory(status_operation& op) noexcept {
  if ((op.flags & io_op::flag_tried) != 0 || !core_.run_state.spend(runner::call_weight))
    return false;
  ++core_.counters.attempts;
  op.flags |= io_op::flag_tried;
  op.resolve |= resolve_cached;
  const std::ptrdiff_t r = perform_file(*core_.sys, op);
  op.resolve &= ~resolve_cached;
  if (r == -EAGAIN) {
    ++core_.counters.wrong_attempts;
    return false;
  }
  op.result = result_of_call(op, r);
  return true;
}

bool status_operation::await_ready() noexcept {
  io_loop& loop = *target->loop;
  if (!is_path_call(call) || !loop.on_runner() || target->fd < 0 || is_closing(*target))
    return false;
  const object_use inside = use_for(*this);
  if (!loop.engine().files().attempt_in_memory(*this)) return false;
  ++loop.run_state().counters.inline_completions;
  return true;
}

bool file_calls::attempt_in_order(file_operation& op) noexcept {
  op.offset = position_of(*core_.sys, *op.target);
  if (!attempt_cached(op)) return false;
  move_position(op);
  return true;
}

bool file_calls::start(file_operation& op) noexcept {
  const descriptor& d = *op.target;
  if (core_.closing) {
    op.result = -ECANCELED;
  } else if (op.call == file_call::open && &d != &engine_.descriptors().vacant() &&
             !is_closing(d)) {
    op.result = d.fd >= 0 ? already_open_result : 0;
  } else {
    op.result = d.fd < 0 || is_closing(d) ? -EBADF : refused_offset(op);
  }
  if (op.result < 0 || attempt_cached(op)) return true;
  ++core_.outstanding;
  link(op);
  engine_.hand_over(op);
  return false;
}

void file_calls::take_result(file_operation& op, std::ptrdiff_t r) noexcept {
  descriptor& d = *op.target;
  int result = op.call == file_call::open && r >= 0 ? take_opened(op, static_cast<int>(r))
                                                    : result_of_call(op, r);
  if (result == 0 && (op.flags & io_op::flag_all) != 0 && bytes_left(op) != 0) {  // S10
    if ((op.flags & io_op::flag_cancelled) == 0) return engine_.drv().submit(op);
    result = -ECANCELED;
  }
  if (op.kind == op_kind::file_in_order) move_position(op);
  engine_.finish(op, result);
  engine_.descriptors().close_if_idle(d);
}

/// Opens the object of `op` with the file `fd`, which the kernel has opened. Returns the error, and
/// closes `fd`, if the object was closed or opened meanwhile, or `op` was cancelled.
int file_calls::take_opened(file_operation& op, int fd) noexcept {
  descriptor& d = *op.target;
  const bool unwanted = core_.closing || is_closing(d) || d.orphaned || d.fd >= 0;
  if (unwanted || (op.flags & io_op::flag_cancelled) != 0) {
    core_.sys->close(fd);
    return d.fd >= 0 && !is_closing(d) ? already_open_result : -ECANCELED;
  }
  open_locked(d, fd, static_cast<unsigned>(op.length));
  return 0;
}

void file_calls::open(descriptor& d, int fd, unsigned flags) noexcept {
  const descriptor_lock held(core_, d);
  open_locked(d, fd, flags);
}

void file_calls::open_locked(descriptor& d, int fd, unsigned flags) noexcept {
  engine_.descriptors().open_locked(d, fd, descriptor_nature::socket);
  d.position = 0;
  d.appends = (flags & O_APPEND) != 0;
  d.at_end = false;
  d.sync_error = 0;
  d.resident = resident_range();
  d.memory_alignment = d.offset_alignment = 0;
  if ((flags & O_DIRECT) != 0) {
    core_.sys->direct_alignment(fd, d.memory_alignment, d.offset_alignment);
  }
}

}  // namespace beck::detail
