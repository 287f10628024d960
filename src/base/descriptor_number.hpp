// SPDX-License-Identifier: BSL-1.0
// Keeps the numbers 0 to 2 free of descriptors that the library opens. The kernel returns the
// lowest free number, so in a program without a standard stream a socket would take its number:
// printed text would go to the socket's peer, and each child would inherit the socket.
#pragma once

namespace beck::detail {

/// The first number after the standard streams.
inline constexpr int first_own_number = 3;

/// Moves a descriptor that was just opened, if its number is below first_own_number, after the
/// standard streams; it is close-on-exec there. Returns its number, or -errno, and then it is
/// closed. Returns other numbers, and errors, unchanged. Source: fcntl(2), F_DUPFD_CLOEXEC.
[[nodiscard]] int behind_standard(int fd) noexcept;
/// Does the same for both ends of a pipe or of a pair. Returns 0, or -errno after closing both and
/// setting them to -1.
[[nodiscard]] int behind_standard(int (&pair)[2]) noexcept;

}  // namespace beck::detail
