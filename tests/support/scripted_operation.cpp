// SPDX-License-Identifier: BSL-1.0
//
// The work of each operation, done with the system calls that io_uring replaces. None of them
// waits, even if the descriptor is blocking.
#include "support/scripted_operation.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace beck::testing {
namespace {

using kind = work_outcome::kind;

template <class T>
T* pointer(std::uint64_t address) {
  return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address));
}

work_outcome finished(long result, unsigned flags = 0) {
  return {kind::finished, result < 0 ? -errno : static_cast<int>(result), flags};
}

bool is_ready(int fd, short events) {
  pollfd watched{fd, events, 0};
  return ::poll(&watched, 1, 0) > 0;
}

/// Calls recv(2) without AddressSanitizer's check: the buffers of receives in flight are poisoned,
/// which a kernel ignores.
ssize_t receive_unseen(int fd, void* data, std::size_t bytes, int flags) {
  return ::syscall(SYS_recvfrom, fd, data, bytes, flags, nullptr, nullptr);
}

int socket_type(int fd) {
  int type = 0;
  socklen_t bytes = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 ? type : 0;
}

bool is_regular(int fd) {
  struct stat facts{};
  return ::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
}

bool is_byte_stream(int fd) {
  struct stat facts{};
  if (::fstat(fd, &facts) != 0) return false;
  return S_ISREG(facts.st_mode) || S_ISFIFO(facts.st_mode) || socket_type(fd) == SOCK_STREAM;
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK; }

// Returns the outcome of a transfer step. A full transfer continues until all bytes are moved; if
// an error ends it, the result is the number of bytes moved before.
work_outcome after_transfer(scripted_operation& operation, ssize_t count, std::size_t wanted,
                            bool limited) {
  const bool all = (operation.entry->msg_flags & unsigned{MSG_WAITALL}) != 0 &&
                   operation.entry->opcode != IORING_OP_READ &&
                   operation.entry->opcode != IORING_OP_WRITE;
  if (count < 0) {
    if (would_block() && (operation.entry->msg_flags & unsigned{MSG_DONTWAIT}) == 0)
      return {kind::blocked};
    return operation.moved > 0 ? finished(static_cast<long>(operation.moved)) : finished(-1);
  }
  operation.moved += static_cast<std::size_t>(count);
  const bool more_to_move = count > 0 && static_cast<std::size_t>(count) < wanted;
  if (all && more_to_move && !limited && is_byte_stream(operation.fd)) return {kind::moved};
  return finished(static_cast<long>(operation.moved));
}

unsigned unread_flag(int fd) {
  int bytes = 0;
  if (::ioctl(fd, FIONREAD, &bytes) != 0 || bytes <= 0) return 0;
  return IORING_CQE_F_SOCK_NONEMPTY;
}

work_outcome receive_into_provided(scripted_operation& operation, std::size_t bytes_max,
                                   provided_buffers& buffers) {
  const io_uring_sqe& entry = *operation.entry;
  provided_buffers::group& group = buffers.groups[entry.buf_group];
  const io_uring_buf* const buffer = group.front();
  if (buffer == nullptr) return {kind::finished, -ENOBUFS};
  std::size_t length = buffer->len;
  if (entry.len != 0) length = std::min<std::size_t>(length, entry.len);
  length = std::min(length, bytes_max);
  const ssize_t count = receive_unseen(operation.fd, pointer<void>(buffer->addr), length,
                                       static_cast<int>(entry.msg_flags) | MSG_DONTWAIT);
  if (count < 0) return would_block() ? work_outcome{kind::blocked} : finished(-1);
  if (count == 0) return finished(0);
  ++group.head;
  const unsigned flags = IORING_CQE_F_BUFFER | unsigned{buffer->bid} << IORING_CQE_BUFFER_SHIFT |
                         unread_flag(operation.fd);
  return {operation.is_multishot() ? kind::one_more : kind::finished, static_cast<int>(count),
          flags};
}

work_outcome receive(scripted_operation& operation, std::size_t bytes_max) {
  const io_uring_sqe& entry = *operation.entry;
  const std::size_t left = entry.len - operation.moved;
  const bool limited = bytes_max < left && is_byte_stream(operation.fd);
  const std::size_t length = limited ? bytes_max : left;
  const ssize_t count =
      receive_unseen(operation.fd, pointer<std::byte>(entry.addr) + operation.moved, length,
                     static_cast<int>(entry.msg_flags) | MSG_DONTWAIT);
  work_outcome outcome = after_transfer(operation, count, left, limited);
  if (count >= 0 && outcome.what == kind::finished) outcome.flags |= unread_flag(operation.fd);
  return outcome;
}

work_outcome send(scripted_operation& operation, std::size_t bytes_max) {
  const io_uring_sqe& entry = *operation.entry;
  const std::size_t left = entry.len - operation.moved;
  const bool limited = bytes_max < left && is_byte_stream(operation.fd);
  const std::size_t length = limited ? bytes_max : left;
  const ssize_t count =
      ::send(operation.fd, pointer<std::byte>(entry.addr) + operation.moved, length,
             static_cast<int>(entry.msg_flags) | MSG_DONTWAIT | MSG_NOSIGNAL);
  return after_transfer(operation, count, left, limited);
}

work_outcome message(scripted_operation& operation) {
  const io_uring_sqe& entry = *operation.entry;
  const int flags = static_cast<int>(entry.msg_flags) | MSG_DONTWAIT | MSG_NOSIGNAL;
  const ssize_t count = entry.opcode == IORING_OP_RECVMSG
                            ? ::recvmsg(operation.fd, pointer<msghdr>(entry.addr), flags)
                            : ::sendmsg(operation.fd, pointer<const msghdr>(entry.addr), flags);
  if (count < 0 && would_block() && (entry.msg_flags & unsigned{MSG_DONTWAIT}) == 0)
    return {kind::blocked};
  return finished(count);
}

work_outcome read_or_write(scripted_operation& operation, std::size_t bytes_max) {
  const io_uring_sqe& entry = *operation.entry;
  const bool reading = entry.opcode == IORING_OP_READ;
  const bool regular = is_regular(operation.fd);
  if (!regular && !is_ready(operation.fd, reading ? POLLIN : POLLOUT)) return {kind::blocked};
  const std::size_t length =
      is_byte_stream(operation.fd) ? std::min<std::size_t>(entry.len, bytes_max) : entry.len;
  void* const memory = pointer<void>(entry.addr);
  ssize_t count = 0;
  if (regular && entry.off != static_cast<std::uint64_t>(-1)) {
    const off_t where = static_cast<off_t>(entry.off);
    count = reading ? ::pread(operation.fd, memory, length, where)
                    : ::pwrite(operation.fd, memory, length, where);
  } else {
    count = reading ? ::read(operation.fd, memory, length) : ::write(operation.fd, memory, length);
  }
  if (count < 0 && would_block()) return {kind::blocked};
  return finished(count);
}

work_outcome accept_connection(scripted_operation& operation) {
  const io_uring_sqe& entry = *operation.entry;
  if (!is_ready(operation.fd, POLLIN)) return {kind::blocked};
  const int fd = ::accept4(operation.fd, pointer<sockaddr>(entry.addr),
                           pointer<socklen_t>(entry.addr2), static_cast<int>(entry.accept_flags));
  if (fd < 0 && would_block()) return {kind::blocked};
  if (fd >= 0 && operation.is_multishot()) return {kind::one_more, fd};
  return finished(fd);
}

work_outcome connect_socket(scripted_operation& operation) {
  const io_uring_sqe& entry = *operation.entry;
  if (operation.in_epoll) {
    if (!is_ready(operation.fd, POLLOUT)) return {kind::blocked};
    int error = 0;
    socklen_t bytes = sizeof error;
    ::getsockopt(operation.fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
    return {kind::finished, -error};
  }
  const int flags = ::fcntl(operation.fd, F_GETFL);
  ::fcntl(operation.fd, F_SETFL, flags | O_NONBLOCK);
  const int result = ::connect(operation.fd, pointer<const sockaddr>(entry.addr),
                               static_cast<socklen_t>(entry.off));
  const int error = result < 0 ? errno : 0;
  ::fcntl(operation.fd, F_SETFL, flags);
  if (error == EINPROGRESS) return {kind::blocked};
  return {kind::finished, -error};
}

work_outcome poll_now(scripted_operation& operation) {
  pollfd watched{operation.fd, static_cast<short>(operation.entry->poll32_events), 0};
  if (::poll(&watched, 1, 0) <= 0) return {kind::blocked};
  if ((watched.revents & POLLNVAL) != 0) return {kind::finished, -EBADF};
  return {kind::finished, watched.revents};
}

}  // namespace

const io_uring_buf* provided_buffers::group::front() const {
  if (ring == nullptr) return nullptr;
  // acquire: pairs with the application's release of the tail, after it wrote the buffers.
  const std::uint16_t tail = std::atomic_ref(ring->tail).load(std::memory_order_acquire);
  if (tail == head) return nullptr;
  // Not ring->bufs: in C++ the empty structure before it has a size, and moves the array
  // (Linux 6.1's header).
  return reinterpret_cast<const io_uring_buf*>(ring) + (head & (entries - 1));
}

bool scripted_operation::is_multishot() const {
  switch (entry->opcode) {
    case IORING_OP_POLL_ADD:
      return (entry->len & IORING_POLL_ADD_MULTI) != 0;
    case IORING_OP_RECV:
      return (entry->ioprio & IORING_RECV_MULTISHOT) != 0;
    case IORING_OP_ACCEPT:
      return (entry->ioprio & IORING_ACCEPT_MULTISHOT) != 0;
    default:
      return false;
  }
}

unsigned scripted_operation::wanted_events() const {
  switch (entry->opcode) {
    case IORING_OP_POLL_ADD:
      return (entry->poll32_events & ~unsigned{EPOLLET}) | EPOLLET;
    case IORING_OP_SEND:
    case IORING_OP_SENDMSG:
    case IORING_OP_WRITE:
    case IORING_OP_CONNECT:
      return unsigned{EPOLLOUT} | EPOLLET;
    default:
      return unsigned{EPOLLIN} | EPOLLET;
  }
}

int scripted_operation::cancelled_result() const {
  return moved > 0 ? static_cast<int>(moved) : -ECANCELED;
}

bool is_known_opcode(unsigned opcode) {
  switch (opcode) {
    case IORING_OP_NOP:
    case IORING_OP_RECV:
    case IORING_OP_SEND:
    case IORING_OP_RECVMSG:
    case IORING_OP_SENDMSG:
    case IORING_OP_READ:
    case IORING_OP_WRITE:
    case IORING_OP_READV:
    case IORING_OP_WRITEV:
    case IORING_OP_OPENAT:
    case IORING_OP_FSYNC:
    case IORING_OP_ACCEPT:
    case IORING_OP_CONNECT:
    case IORING_OP_SHUTDOWN:
    case IORING_OP_CLOSE:
    case IORING_OP_POLL_ADD:
    case IORING_OP_POLL_REMOVE:
    case IORING_OP_ASYNC_CANCEL:
    case IORING_OP_TIMEOUT:
    case IORING_OP_TIMEOUT_REMOVE:
      return true;
    default:
      return false;
  }
}

bool is_valid_entry(const io_uring_sqe& entry) {
  // Links, drains and registered descriptors are not modelled, because the driver does not need
  // them (U12).
  constexpr unsigned known_flags = IOSQE_ASYNC | IOSQE_BUFFER_SELECT | IOSQE_CQE_SKIP_SUCCESS;
  if ((entry.flags & ~known_flags) != 0 || !is_known_opcode(entry.opcode)) return false;
  const bool selects = (entry.flags & IOSQE_BUFFER_SELECT) != 0;
  if (entry.opcode == IORING_OP_RECV) return selects || (entry.ioprio & IORING_RECV_MULTISHOT) == 0;
  return !selects;
}

work_outcome do_work(scripted_operation& operation, std::size_t bytes_max,
                     provided_buffers& buffers) {
  const io_uring_sqe& entry = *operation.entry;
  switch (entry.opcode) {
    case IORING_OP_NOP:
      return {kind::finished};
    case IORING_OP_RECV:
      if ((entry.flags & IOSQE_BUFFER_SELECT) != 0) {
        return receive_into_provided(operation, bytes_max, buffers);
      }
      return receive(operation, bytes_max);
    case IORING_OP_SEND:
      return send(operation, bytes_max);
    case IORING_OP_RECVMSG:
    case IORING_OP_SENDMSG:
      return message(operation);
    case IORING_OP_READ:
    case IORING_OP_WRITE:
      return read_or_write(operation, bytes_max);
    case IORING_OP_READV:  // of files
      return finished(::preadv(operation.fd, pointer<const iovec>(entry.addr),
                               static_cast<int>(entry.len), static_cast<off_t>(entry.off)));
    case IORING_OP_WRITEV:
      return finished(::pwritev(operation.fd, pointer<const iovec>(entry.addr),
                                static_cast<int>(entry.len), static_cast<off_t>(entry.off)));
    case IORING_OP_OPENAT:
      return finished(::openat(entry.fd, pointer<const char>(entry.addr),
                               static_cast<int>(entry.open_flags), entry.len));
    case IORING_OP_ACCEPT:
      return accept_connection(operation);
    case IORING_OP_CONNECT:
      return connect_socket(operation);
    case IORING_OP_POLL_ADD:
      return poll_now(operation);
    case IORING_OP_FSYNC:
      return finished(::fsync(operation.fd));
    case IORING_OP_SHUTDOWN:
      return finished(::shutdown(operation.fd, static_cast<int>(entry.len)));
    case IORING_OP_CLOSE:
      return finished(::close(operation.fd));
    default:
      return {kind::finished, -EINVAL};
  }
}

}  // namespace beck::testing
