// SPDX-License-Identifier: BSL-1.0
// Passing descriptors by SCM_RIGHTS, as unix(7) and cmsg(3) describe it: one control message with
// an array of ints. Other control messages may precede it.
#include <beck/net/descriptor_passing.hpp>

#include <cstring>

#include <sys/socket.h>

#include <beck/base/assert.hpp>

#include "base/descriptor_number.hpp"
#include "net/control_messages.hpp"

namespace beck {
using namespace detail;
namespace {

static_assert(CMSG_SPACE(passed_descriptors::capacity * sizeof(int)) <= message_control::capacity);

/// SCM_PIDFD of Linux 6.5, which older headers do not have: a pidfd of the sender, which arrives if
/// SO_PASSPIDFD is set.
constexpr int sender_handle = 4;

/// Returns the place of the descriptors in the first control message of that type.
control_data find_descriptors(const message_control& control, const control_outcome& outcome,
                              int type) noexcept {
  return find_control(control.bytes, outcome.bytes, SOL_SOCKET, type);
}

/// Takes the descriptor at `place` out of the message; -1 stays there.
unique_fd taken_from(unsigned char* place) noexcept {
  int fd = -1;
  const int none = -1;
  std::memcpy(&fd, place, sizeof fd);
  std::memcpy(place, &none, sizeof none);
  return unique_fd(behind_standard(fd));  // without a free number it is lost, as in the kernel
}

}  // namespace

passed_descriptors::passed_descriptors(const int* fds, std::size_t count) noexcept {
  BECK_ASSERT(count != 0 && count <= capacity, "one message carries 1 to 16 descriptors");
  write(fds, count);
}

void passed_descriptors::write(const int* fds, std::size_t count) noexcept {
  std::memset(control_.bytes, 0, sizeof control_.bytes);
  cmsghdr entry{};
  entry.cmsg_len = CMSG_LEN(count * sizeof(int));
  entry.cmsg_level = SOL_SOCKET;
  entry.cmsg_type = SCM_RIGHTS;
  std::memcpy(control_.bytes, &entry, sizeof entry);
  std::memcpy(control_.bytes + CMSG_LEN(0), fds, count * sizeof(int));
  bytes_ = CMSG_SPACE(count * sizeof(int));
}

std::size_t received_descriptors::size() const noexcept {
  return find_descriptors(control_, outcome_, SCM_RIGHTS).bytes / sizeof(int);
}

unique_fd received_descriptors::take(std::size_t i) noexcept {
  BECK_ASSERT(i < size(), "not as many descriptors have come");
  const control_data found = find_descriptors(control_, outcome_, SCM_RIGHTS);
  return taken_from(control_.bytes + found.at + i * sizeof(int));
}

bool received_descriptors::truncated() const noexcept { return (outcome_.flags & MSG_CTRUNC) != 0; }

void received_descriptors::clear() noexcept {
  static_assert(room == CMSG_SPACE(passed_descriptors::capacity * sizeof(int)),
                "the kernel fills all of it with descriptors");
  const int types[] = {SCM_RIGHTS, sender_handle};
  for (const int type : types) {
    const control_data found = find_descriptors(control_, outcome_, type);
    for (std::size_t at = 0; at + sizeof(int) <= found.bytes; at += sizeof(int)) {
      taken_from(control_.bytes + found.at + at);
    }
  }
  outcome_ = control_outcome();
}

}  // namespace beck
