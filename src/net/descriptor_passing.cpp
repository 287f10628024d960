// SPDX-License-Identifier: BSL-1.0
// SCM_RIGHTS, as unix(7) and cmsg(3) have it: one control message, an array of ints.
#include <beck/net/descriptor_passing.hpp>

#include <cstring>

#include <sys/socket.h>

#include <beck/base/assert.hpp>

namespace beck {
namespace {

static_assert(CMSG_SPACE(passed_descriptors::capacity * sizeof(int)) <= message_control::capacity);

/// Room for more than `capacity` would only be for alignment: the kernel fills it too.
std::size_t count_of(const message_control& control, const control_outcome& outcome) noexcept {
  cmsghdr entry;
  if (outcome.bytes < sizeof entry) return 0;
  std::memcpy(&entry, control.bytes, sizeof entry);
  if (entry.cmsg_level != SOL_SOCKET || entry.cmsg_type != SCM_RIGHTS) return 0;
  const std::size_t end = entry.cmsg_len < outcome.bytes ? entry.cmsg_len : outcome.bytes;
  return end < CMSG_LEN(0) ? 0 : (end - CMSG_LEN(0)) / sizeof(int);
}

}  // namespace

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

std::size_t received_descriptors::size() const noexcept { return count_of(control_, outcome_); }

unique_fd received_descriptors::take(std::size_t i) noexcept {
  BECK_ASSERT(i < size(), "not as many descriptors have come");
  unsigned char* const place = control_.bytes + CMSG_LEN(0) + i * sizeof(int);
  int fd = -1;
  const int none = -1;
  std::memcpy(&fd, place, sizeof fd);
  std::memcpy(place, &none, sizeof none);
  return unique_fd(fd);
}

bool received_descriptors::truncated() const noexcept { return (outcome_.flags & MSG_CTRUNC) != 0; }

void received_descriptors::clear() noexcept {
  for (std::size_t i = 0; i < size(); ++i) take(i);
  outcome_ = control_outcome();
}

}  // namespace beck
