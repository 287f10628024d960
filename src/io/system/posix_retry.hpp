// SPDX-License-Identifier: BSL-1.0
// How system calls report: a value, or -errno; EINTR (S9) is retried everywhere but in close(2).
#pragma once

#include <cerrno>
#include <cstddef>

namespace beck::detail {

/// Linux moves at most this much in one call; asking for more only shortens the answer.
inline constexpr std::size_t transfer_max = 0x7ffff000;

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
