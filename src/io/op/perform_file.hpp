// SPDX-License-Identifier: BSL-1.0
// The one system call behind each call on a file, for threads that may block, for synchronous forms
// and for the simulator; and what can be said of a call without making it.
#pragma once

#include <cstddef>

#include <beck/detail/file_operation.hpp>

#include "io/op/descriptor.hpp"
#include "io/system/system.hpp"

namespace beck::detail {

/// Value or -errno. Waits for the device; `target` may be shared with other threads, which it only
/// reads.
std::ptrdiff_t perform_file(system& sys, const file_operation& op) noexcept;

/// As much of a read as is in memory already; -EAGAIN: nothing, or nobody knows. Never waits.
std::ptrdiff_t perform_cached(system& sys, const file_operation& op) noexcept;

inline bool is_file_read(file_call call) noexcept {
  return call == file_call::read || call == file_call::read_vector;
}
inline bool is_file_transfer(file_call call) noexcept { return call < file_call::sync_all; }
inline bool is_on_thread(const io_op& op) noexcept {
  return is_file(op.kind) && static_cast<const file_operation&>(op).on_thread;
}
inline bool is_vector(file_call call) noexcept {
  return call == file_call::read_vector || call == file_call::write_vector;
}

inline io_vector* parts_of_file(file_operation& op) noexcept {
  return static_cast<file_vector_transfer&>(op).parts();
}
inline const io_vector* parts_of_file(const file_operation& op) noexcept {
  return static_cast<const file_vector_transfer&>(op).parts();
}

/// 0, or -EINVAL for an offset that no file has. To pwritev2(2) and the ring the greatest one,
/// which is -1, means the file's current position.
int refused_offset(const file_operation& op) noexcept;

/// The bytes that a transfer has still to move.
std::size_t bytes_left(const file_operation& op) noexcept;

/// A transfer of nothing succeeds at once.
inline bool needs_no_call(file_operation& op) noexcept {
  if (!is_file_transfer(op.call) || bytes_left(op) != 0) return false;
  op.result = 0;
  return true;
}

/// What a call's value says: 0 or an error. Notes the bytes that have moved, and syncs that have
/// failed (S11). Not for open.
int result_of_call(file_operation& op, std::ptrdiff_t r) noexcept;

}  // namespace beck::detail
