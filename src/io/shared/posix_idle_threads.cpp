// SPDX-License-Identifier: BSL-1.0
// futex(2), and the eventfd of posix_system.hpp, for the library's idle_threads.
#include <cerrno>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fatal_call.hpp"
#include "io/shared/idle_threads.hpp"
#include "io/system/posix_system.hpp"

namespace beck::detail {

template class basic_idle_threads<idle_threads_parts>;

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

bool idle_threads_parts::futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                                    std::int64_t deadline) noexcept {
  timespec until{};
  const timespec* limit = nullptr;
  if (deadline != INT64_MAX) {
    const std::int64_t from_zero = deadline > 0 ? deadline : 0;
    until.tv_sec = from_zero / 1'000'000'000;
    until.tv_nsec = from_zero % 1'000'000'000;
    limit = &until;
  }
  // FUTEX_WAIT_BITSET: its limit is absolute, on the steady clock.
  const long result = ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
                                limit, nullptr, FUTEX_BITSET_MATCH_ANY);
  if (result == 0) return true;
  switch (errno) {
    case ETIMEDOUT:
      return false;
    case EAGAIN:  // the word has changed
    case EINTR:   // look again
      return true;
    default:
      end_without_call("futex", errno);
  }
}

void idle_threads_parts::futex_wake(const void* word, unsigned count) noexcept {
  // EFAULT: the thread that slept there is awake, and the word is gone.
  if (::syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, nullptr, nullptr, 0) < 0 &&
      errno != EFAULT)
    end_without_call("futex", errno);
}

void idle_threads_parts::wake(int wake_fd) noexcept { wake_write(wake_fd); }
void idle_threads_parts::drain(int wake_fd, std::uint64_t total) noexcept {
  wake_drain(wake_fd, total);
}

}  // namespace beck::detail
