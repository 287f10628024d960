// SPDX-License-Identifier: BSL-1.0
// The form in which system calls report: a value, or -errno. EINTR (S9) is retried everywhere but
// in close(2).
#pragma once

#include <cerrno>
#include <cstddef>

namespace beck::detail {

/// The most bytes that Linux moves in one call; a larger request is only cut to this length.
inline constexpr std::size_t transfer_max = 0x7ffff000;

/// Makes `call` until it does not end with EINTR. Returns its value, or -errno.
template <class Call>
auto retried(Call call) noexcept -> decltype(call()) {
  for (;;) {
    const auto result = call();
    if (result >= 0) [[likely]]
      return result;
    if (errno != EINTR) return static_cast<decltype(call())>(-errno);
  }
}

}  // namespace beck::detail
