// SPDX-License-Identifier: BSL-1.0
// The system call behind each kind of operation, in the form that never waits: of sockets and
// pipes, and of files.
#pragma once

#include <cstddef>

#include <beck/detail/file_operation.hpp>

#include "io/op/descriptor.hpp"
#include "io/system/system.hpp"

// The one system call behind each kind of operation, for attempts and for synchronous forms alike.
namespace beck::detail {

/// Value or -errno; -EAGAIN: not now. Never waits.
std::ptrdiff_t perform(system& sys, io_op& op) noexcept;

/// The same for datagrams (perform_messages.cpp).
std::ptrdiff_t perform_messages(system& sys, io_op& op) noexcept;

/// The same for transfers; the two most frequent ones of sockets without a detour.
inline std::ptrdiff_t perform_transfer(system& sys, io_op& op) noexcept {
  char* const at = static_cast<char*>(op.address) + op.transferred;
  if (is_socket(*op.target)) [[likely]] {
    if (op.kind == op_kind::send) return sys.send(op.target->fd, at, op.length - op.transferred);
    if (op.kind == op_kind::receive) {
      return sys.receive(op.target->fd, at, op.length - op.transferred);
    }
  }
  return perform(sys, op);
}

/// The bytes in all parts of a receive_vector or send_vector.
std::size_t vector_bytes(const io_op& op) noexcept;

/// The bytes that a transfer asks for in all.
inline std::size_t wanted_bytes(const io_op& op) noexcept {
  return op.kind == op_kind::receive || op.kind == op_kind::send ? op.length : vector_bytes(op);
}

// The one system call behind each call on a file, for threads that may block, for synchronous forms
// and for the simulator; and what can be said of a call without making it.

/// Value or -errno. Waits for the device; `target` may be shared with other threads, which it only
/// reads.
std::ptrdiff_t perform_file(system& sys, file_operation& op) noexcept;

/// As much of a read as is in memory already; -EAGAIN: nothing, or nobody knows. Never waits.
std::ptrdiff_t perform_cached(system& sys, const file_operation& op) noexcept;

inline bool is_file_read(file_call call) noexcept {
  return call == file_call::read || call == file_call::read_vector;
}
inline bool is_file_transfer(file_call call) noexcept { return call < file_call::sync_all; }
/// Whether the call finds a file by a path, and may be made when that path is in memory.
inline bool is_path_call(file_call call) noexcept {
  return call == file_call::open_in || call == file_call::status_in;
}
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
