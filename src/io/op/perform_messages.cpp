// SPDX-License-Identifier: BSL-1.0
// Datagrams: one call for one message, or for as many messages of a batch as the socket has or
// takes.
#include <cerrno>
#include <cstring>

#include <sys/socket.h>

#include <beck/detail/message_operation.hpp>

#include "io/op/perform.hpp"

namespace beck::detail {
namespace {

bool is_unix(const message_header& header) noexcept {
  sa_family_t family = AF_UNSPEC;
  if (header.address_bytes < sizeof family) return false;
  std::memcpy(&family, header.address, sizeof family);
  return family == AF_UNIX;
}

std::ptrdiff_t receive_one(system& sys, message_operation& op) noexcept {
  message_header& header = op.prepared_header();
  if (header.part_count > message_operation::parts_max) return -EMSGSIZE;
  // Not of a stream: TCP would drop the bytes instead of copying them.
  const int truncation = op.is_of_stream() ? 0 : MSG_TRUNC;
  const std::ptrdiff_t r = sys.receive_message(op.target->fd, header, op.call_flags() | truncation);
  if (r < 0) return r;
  op.note_received();
  op.transferred = static_cast<std::size_t>(r);
  if (op.is_of_stream()) return r == 0 && header.part_count != 0 ? eof_result : 0;
  return (header.flags & MSG_TRUNC) != 0 && !op.may_be_cut() ? -EMSGSIZE : 0;
}

/// Makes `call`, which sends. poll(2) reports an unconnected UNIX socket as writable although the
/// queue of its receiver is full, and no event reports room there (net/unix/af_unix.c,
/// unix_dgram_poll). A full queue is an error then, unless a second call finds room.
template <class Call>
std::ptrdiff_t send_or_tell(system& sys, int fd, const message_header& first, Call call) noexcept {
  std::ptrdiff_t r = call();
  if (r == -EAGAIN && is_unix(first) && sys.poll(fd, poll_out, INT64_MIN) > 0) {
    r = call();
    if (r == -EAGAIN) r = -ENOBUFS;
  }
  return r;
}

std::ptrdiff_t send_one(system& sys, message_operation& op) noexcept {
  const message_header& header = op.prepared_header();
  if (header.part_count > message_operation::parts_max) return -EMSGSIZE;
  const int fd = op.target->fd;
  const std::ptrdiff_t r =
      send_or_tell(sys, fd, header, [&] { return sys.send_message(fd, header, op.call_flags()); });
  if (r < 0) return r;
  op.transferred = static_cast<std::size_t>(r);
  return 0;
}

std::ptrdiff_t send_several(system& sys, message_operation& op) noexcept {
  auto* const headers = static_cast<message_header*>(op.address);
  const int fd = op.target->fd;
  while (op.transferred < op.length) {
    message_header* const next = headers + op.transferred;
    const std::size_t left = op.length - op.transferred;
    const std::ptrdiff_t r =
        send_or_tell(sys, fd, *next, [&] { return sys.send_messages(fd, next, left); });
    if (r < 0) return r;
    op.transferred += static_cast<std::size_t>(r);
  }
  return 0;
}

}  // namespace

message_header& message_operation::located_header() noexcept {
  char* const self = reinterpret_cast<char*>(this);
  header_.parts = reinterpret_cast<io_vector*>(self + parts_offset_);
  if (address_offset_ != 0) header_.address = self + address_offset_;
  if (control_offset_ != 0) header_.control = self + control_offset_;
  return header_;
}

message_header& message_operation::prepared_header() noexcept {
  located_header();
  header_.address_bytes = address_room_;
  header_.control_bytes = control_room_;
  return header_;
}

std::ptrdiff_t perform_messages(system& sys, io_op& op) noexcept {
  auto& message = static_cast<message_operation&>(op);
  const bool receives = op.kind == op_kind::receive_message;
  if (op.address == nullptr) return receives ? receive_one(sys, message) : send_one(sys, message);
  if (!receives) return send_several(sys, message);
  const std::ptrdiff_t r =
      sys.receive_messages(op.target->fd, static_cast<message_header*>(op.address), op.length);
  if (r < 0) return r;
  op.transferred = static_cast<std::size_t>(r);
  return 0;
}

}  // namespace beck::detail
