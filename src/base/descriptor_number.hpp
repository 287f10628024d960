// SPDX-License-Identifier: BSL-1.0
// Keeps the numbers 0 to 2 free of descriptors that the library opens. The kernel hands out the
// lowest free number, so in a program without a standard stream a socket would become that stream:
// what is printed would go to its peer, and each child would inherit it.
#pragma once

namespace beck::detail {

/// The first number behind the standard streams.
inline constexpr int first_own_number = 3;

/// Moves a descriptor with a number below first_own_number, which was just opened, behind the
/// standard streams; it is close-on-exec there. Returns its number, or -errno, and then it is
/// closed. Passes on other numbers, and errors. Source: fcntl(2), F_DUPFD_CLOEXEC.
[[nodiscard]] int behind_standard(int fd) noexcept;
/// Does the same for both ends of a pipe or of a pair. Returns 0 or -errno, and then both are
/// closed and -1.
[[nodiscard]] int behind_standard(int (&pair)[2]) noexcept;

}  // namespace beck::detail
