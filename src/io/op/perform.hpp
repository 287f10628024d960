// SPDX-License-Identifier: BSL-1.0
// The one system call behind each kind of operation, for attempts and for synchronous forms alike:
// of sockets and pipes, which never waits, and of files.
#pragma once

#include <cstddef>

#include <beck/detail/file_operation.hpp>

#include "io/op/descriptor.hpp"
#include "io/system/system.hpp"

namespace beck::detail {

/// Makes the system call of `op`. Returns its value or -errno; -EAGAIN if nothing can be done now.
/// Never waits.
std::ptrdiff_t perform(system& sys, io_op& op) noexcept;

/// As perform(), for datagrams (perform_messages.cpp).
std::ptrdiff_t perform_messages(system& sys, io_op& op) noexcept;

/// Receives from the socket of `d`, and notes that control data came with the bytes.
inline std::ptrdiff_t receive_from(system& sys, descriptor& d, io_vector* parts,
                                   std::size_t count) noexcept {
  bool dropped_control = false;
  const std::ptrdiff_t r = sys.receive_vector(d.fd, parts, count, dropped_control);
  if (dropped_control) [[unlikely]]
    d.control.store(control_state::dropped, std::memory_order_relaxed);
  return r;
}

[[gnu::noinline]] inline std::ptrdiff_t receive_with_control(system& sys, descriptor& d, void* data,
                                                             std::size_t bytes) noexcept {
  io_vector part{data, bytes};
  return receive_from(sys, d, &part, 1);
}

inline std::ptrdiff_t receive_from(system& sys, descriptor& d, void* data,
                                   std::size_t bytes) noexcept {
  if (d.control.load(std::memory_order_relaxed) != control_state::none)
    return sys.receive(d.fd, data, bytes);
  return receive_with_control(sys, d, data, bytes);
}

/// As perform(), for transfers. Makes the two most frequent calls of sockets directly.
inline std::ptrdiff_t perform_transfer(system& sys, io_op& op) noexcept {
  char* const at = static_cast<char*>(op.address) + op.transferred;
  if (is_socket(*op.target)) [[likely]] {
    if (op.kind == op_kind::send) return sys.send(op.target->fd, at, op.length - op.transferred);
    if (op.kind == op_kind::receive) {
      return receive_from(sys, *op.target, at, op.length - op.transferred);
    }
  }
  return perform(sys, op);
}

/// Returns the number of bytes in all parts of a receive_vector or send_vector, and otherwise
/// `op.length`.
std::size_t vector_bytes(const io_op& op) noexcept;

/// Returns the number of bytes that a transfer asks for.
inline std::size_t wanted_bytes(const io_op& op) noexcept {
  return op.kind == op_kind::receive || op.kind == op_kind::send ? op.length : vector_bytes(op);
}

// The one system call behind each call on a file, for threads that may block, for synchronous forms
// and for the simulator; and the properties of a call that are known without making it.

/// Makes the system call of `op`. Returns its value or -errno. Waits for the device. Only reads
/// `op.target`, which other threads may use.
std::ptrdiff_t perform_file(system& sys, file_operation& op) noexcept;

/// Reads the bytes that are in memory. Returns their number; -EAGAIN if there are none, or the
/// system cannot tell. Never waits.
std::ptrdiff_t perform_cached(system& sys, const file_operation& op) noexcept;

inline bool is_file_read(file_call call) noexcept {
  return call == file_call::read || call == file_call::read_vector;
}
inline bool is_file_transfer(file_call call) noexcept { return call < file_call::sync_all; }
/// Returns whether the call finds a file by a path, so that it can be attempted in memory.
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

/// Returns 0, or -EINVAL for an offset that no file has. To pwritev2(2) and the ring the greatest
/// one, which is -1, means the file's current position.
int refused_offset(const file_operation& op) noexcept;

/// Returns where the next call in order begins. After an append that is the end of the file.
std::uint64_t position_of(system& sys, descriptor& d) noexcept;
/// Moves the position behind the bytes that `op`, a call in order, has moved.
void move_position(const file_operation& op) noexcept;

/// Returns the number of bytes that a transfer has still to move.
std::size_t bytes_left(const file_operation& op) noexcept;

/// Returns whether `op` is a transfer of nothing, which succeeds at once: sets its result.
inline bool needs_no_call(file_operation& op) noexcept {
  if (!is_file_transfer(op.call) || bytes_left(op) != 0) return false;
  op.result = 0;
  return true;
}

/// Returns the result of `op` for the value `r` of its call. Counts the bytes that have moved, and
/// notes syncs that have failed (S11). Not for file_call::open.
int result_of_call(file_operation& op, std::ptrdiff_t r) noexcept;

}  // namespace beck::detail
