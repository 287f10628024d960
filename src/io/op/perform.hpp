// SPDX-License-Identifier: BSL-1.0
// The one system call behind each kind of operation, for attempts and for synchronous forms alike.
#pragma once

#include <cstddef>

#include "io/op/descriptor.hpp"
#include "io/system/system.hpp"

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

}  // namespace beck::detail
