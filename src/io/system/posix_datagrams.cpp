// SPDX-License-Identifier: BSL-1.0
// Messages: recvfrom(2), sendto(2), recvmsg(2), sendmsg(2), recvmmsg(2), sendmmsg(2). Descriptors
// that arrive with a message are close-on-exec from the start.
#include <cerrno>
#include <cstddef>

#include <sys/socket.h>

#include <beck/detail/message_operation.hpp>

#include "io/system/posix_system.hpp"

namespace beck::detail {
namespace {

static_assert(sizeof(message_header) == sizeof(mmsghdr));
static_assert(offsetof(message_header, address) == offsetof(msghdr, msg_name));
static_assert(offsetof(message_header, address_bytes) == offsetof(msghdr, msg_namelen));
static_assert(offsetof(message_header, parts) == offsetof(msghdr, msg_iov));
static_assert(offsetof(message_header, part_count) == offsetof(msghdr, msg_iovlen));
static_assert(offsetof(message_header, control) == offsetof(msghdr, msg_control));
static_assert(offsetof(message_header, control_bytes) == offsetof(msghdr, msg_controllen));
static_assert(offsetof(message_header, flags) == offsetof(msghdr, msg_flags));
static_assert(offsetof(message_header, bytes) == offsetof(mmsghdr, msg_len));

mmsghdr* as_messages(message_header* messages) noexcept {
  return reinterpret_cast<mmsghdr*>(messages);
}

/// Returns whether a message has one buffer and no control data: recvfrom(2) and sendto(2) then
/// copy less into the kernel.
bool is_simple(const message_header& message) noexcept {
  return message.part_count == 1 && message.control == nullptr;
}

/// Receives into one buffer. With MSG_TRUNC the result tells whether a datagram was cut.
std::ptrdiff_t receive_simple(int fd, message_header& message, int flags) noexcept {
  socklen_t name_bytes = message.address_bytes;
  const io_vector& part = *message.parts;
  const std::ptrdiff_t r = retried([&] {
    return ::recvfrom(fd, part.data, part.bytes, flags | MSG_DONTWAIT,
                      static_cast<sockaddr*>(message.address),
                      message.address == nullptr ? nullptr : &name_bytes);
  });
  if (r < 0) return r;
  message.address_bytes = name_bytes;
  const bool cut = static_cast<std::size_t>(r) > part.bytes;
  message.flags = cut ? MSG_TRUNC : 0;
  return cut ? static_cast<std::ptrdiff_t>(part.bytes) : r;
}

}  // namespace

std::ptrdiff_t posix_system::receive_message(int fd, message_header& message, int flags) noexcept {
  if (is_simple(message)) return receive_simple(fd, message, flags);
  msghdr* const header = &as_messages(&message)->msg_hdr;
  // recvmsg(2) tells it in the header. With the flag it would return the whole length.
  const int all = (flags & ~MSG_TRUNC) | MSG_DONTWAIT | MSG_CMSG_CLOEXEC;
  return retried([=] { return ::recvmsg(fd, header, all); });
}

std::ptrdiff_t posix_system::send_message(int fd, const message_header& message,
                                          int flags) noexcept {
  if (is_simple(message)) {
    return retried([&] {
      return ::sendto(fd, message.parts->data, message.parts->bytes,
                      flags | MSG_DONTWAIT | MSG_NOSIGNAL,
                      static_cast<const sockaddr*>(message.address), message.address_bytes);
    });
  }
  // sendmsg(2) does not write to it
  const msghdr* const header = &as_messages(const_cast<message_header*>(&message))->msg_hdr;
  return retried([=] { return ::sendmsg(fd, header, flags | MSG_DONTWAIT | MSG_NOSIGNAL); });
}

std::ptrdiff_t posix_system::receive_messages(int fd, message_header* messages,
                                              std::size_t count) noexcept {
  return retried([=] {
    return ::recvmmsg(fd, as_messages(messages), static_cast<unsigned>(count),
                      MSG_DONTWAIT | MSG_CMSG_CLOEXEC, nullptr);
  });
}

std::ptrdiff_t posix_system::send_messages(int fd, message_header* messages,
                                           std::size_t count) noexcept {
  return retried([=] {
    return ::sendmmsg(fd, as_messages(messages), static_cast<unsigned>(count),
                      MSG_DONTWAIT | MSG_NOSIGNAL);
  });
}

}  // namespace beck::detail
