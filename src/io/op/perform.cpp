// SPDX-License-Identifier: BSL-1.0
// One switch, no default: a new kind of operation does not compile until it has a case here.
#include "io/op/perform.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>

#include <beck/detail/vector_operation.hpp>

namespace beck::detail {
namespace {

int poll_now(system& sys, const io_op& op) noexcept {
  const int seen = sys.poll(op.target->fd, awaited_events(op), INT64_MIN);
  return seen > 0 ? 0 : seen == 0 ? -EAGAIN : seen;
}

bool is_connected_to(system& sys, int fd, const io_op& op) noexcept {
  unsigned char name[128];  // sockaddr_storage
  std::size_t bytes = sizeof name;
  return sys.remote_name(fd, name, bytes) == 0 && bytes == op.length &&
         std::memcmp(name, op.address, bytes) == 0;
}

/// Ends a connect that was cancelled and goes on in the kernel. connect(2) reports its outcome
/// once, whatever address it is given (net/ipv4/af_inet.c). Returns -EAGAIN if it has failed, and
/// the socket is like a new one.
int end_earlier_connect(system& sys, io_op& op) noexcept {
  descriptor& d = *op.target;
  const int r = sys.connect(d.fd, op.address, op.length);
  if (r == -EALREADY) return r;
  d.connecting.store(false, std::memory_order_relaxed);
  if (r < 0) return -EAGAIN;
  return is_connected_to(sys, d.fd, op) ? 0 : -EISCONN;
}

int connect_step(system& sys, io_op& op) noexcept {
  const int fd = op.target->fd;
  std::atomic<bool>& connecting = op.target->connecting;
  // woken: read the outcome, unless the wake-up was stale
  if ((op.flags & io_op::flag_tried) != 0) {
    const int ready = poll_now(sys, op);
    if (ready < 0) return ready;
    connecting.store(false, std::memory_order_relaxed);
    const int error = sys.pending_error(fd);
    // Linux keeps a TCP socket "connecting" until connect(2) is called again; without that the next
    // connect would succeed.
    if (error == 0) static_cast<void>(sys.connect(fd, op.address, op.length));
    return error;
  }
  if (connecting.load(std::memory_order_relaxed)) {
    if (const int r = end_earlier_connect(sys, op); r != -EAGAIN) return r;
  }
  const int r = sys.connect(fd, op.address, op.length);
  if (r == -EAGAIN) return -ECONNREFUSED;  // connect(2), AF_UNIX: the listener's backlog is full
  if (r != -EINPROGRESS) return r;
  op.flags |= io_op::flag_tried;
  connecting.store(true, std::memory_order_relaxed);
  return -EAGAIN;
}

/// Accepts; on success `op.length` becomes the size of the peer's address.
int accept_step(system& sys, io_op& op) noexcept {
  std::size_t bytes = op.length;
  const int accepted = sys.accept(op.target->fd, op.address, bytes);
  if (accepted >= 0) op.length = bytes;
  return accepted;
}

/// Reads or writes pipes, terminals and the like.
std::ptrdiff_t read_or_write(system& sys, io_op& op) noexcept {
  const descriptor& d = *op.target;
  io_vector whole{static_cast<char*>(op.address) + op.transferred, op.length - op.transferred};
  const bool single = op.kind == op_kind::receive || op.kind == op_kind::send;
  io_vector* const parts = single ? &whole : parts_of(op);
  const std::size_t count = single ? 1 : op.length;
  if (is_receive(op.kind)) return sys.read(d.fd, parts, count);
  return sys.write(d.fd, d.nature, parts, count);
}

}  // namespace

std::ptrdiff_t perform(system& sys, io_op& op) noexcept {
  const int fd = op.target->fd;
  if (!is_socket(*op.target) && is_transfer(op.kind)) return read_or_write(sys, op);
  switch (op.kind) {
    case op_kind::receive:
      return receive_from(sys, *op.target, static_cast<char*>(op.address) + op.transferred,
                          op.length - op.transferred);
    case op_kind::send:
      return sys.send(fd, static_cast<char*>(op.address) + op.transferred,
                      op.length - op.transferred);
    case op_kind::receive_vector:
      return receive_from(sys, *op.target, parts_of(op), op.length);
    case op_kind::send_vector:
      return sys.send_vector(fd, parts_of(op), op.length);
    case op_kind::receive_message:
    case op_kind::send_message:
      return perform_messages(sys, op);
    case op_kind::accept:
      return accept_step(sys, op);
    case op_kind::connect:
      return connect_step(sys, op);
    case op_kind::wait_write:
      if (op.length == io_op::by_event) return 0;
      return poll_now(sys, op);
    case op_kind::wait_read:
    case op_kind::wait_error:
      return poll_now(sys, op);
    case op_kind::receive_lease:  // op_engine makes the call: it has the buffers
    case op_kind::wait_timer:
    case op_kind::wait_signal:
    case op_kind::file:
    case op_kind::file_in_order:
    case op_kind::raw:
    case op_kind::job:
      break;
  }
  return -EOPNOTSUPP;
}

std::size_t vector_bytes(const io_op& op) noexcept {
  if (op.kind != op_kind::receive_vector && op.kind != op_kind::send_vector) return op.length;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < op.length; ++i) bytes += parts_of(op)[i].bytes;
  return bytes;
}

}  // namespace beck::detail
