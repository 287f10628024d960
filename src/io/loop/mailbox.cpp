// SPDX-License-Identifier: BSL-1.0
// The mailbox that the library instantiates, and the functions that it needs.
#include "io/loop/mailbox.hpp"

#include <beck/base/assert.hpp>

#include "io/system/wake.hpp"

namespace beck::detail {

template class basic_mailbox<mailbox_parts>;

queue_entry mailbox_parts::asleep_mark{};

void mailbox_parts::wake(int wake_fd) noexcept { wake_write(wake_fd); }
void mailbox_parts::drain(int wake_fd, std::uint64_t total) noexcept { wake_drain(wake_fd, total); }

const void* mailbox_parts::this_thread() noexcept {
  thread_local const char mark = 0;
  return &mark;
}

void mailbox_parts::refuse_foreign_post(const void* running_thread) noexcept {
  BECK_ASSERT(running_thread == nullptr || running_thread == this_thread(),
              "a simulated context was posted to from another thread while it runs");
}

}  // namespace beck::detail
