// SPDX-License-Identifier: BSL-1.0
// What threads of a shared context wait for and whom they wake, where the driver plays them.
#include "io/shared/shared_runners.hpp"
#include "io/shared/virtual_threads.hpp"

namespace beck::detail {

void shared_runners::open(int wake_fd, virtual_threads* threads) noexcept {
  constexpr int called_by_name = 0;  // virtual threads wait for no descriptor
  virtual_ = threads;
  baton_.open(threads == nullptr ? wake_fd : called_by_name);
}

void shared_runners::wake_ups_owed::deliver_to(virtual_threads& threads) const noexcept {
  for (const baton::wake_up* owed : {&work, &other, &outer}) {
    if (owed->sleepers != 0) threads.wake_sleepers(owed->word, owed->sleepers);
    if (owed->wake_fd >= 0) threads.wake_kernel();
  }
}

void shared_runners::meet_virtual_others() noexcept { virtual_->meet(); }

void shared_runners::yield() noexcept {
  if (virtual_ == nullptr) return real_atomics::yield();
  virtual_->spin();
}

void shared_runners::wait_at_futex(std::int64_t deadline) noexcept {
  if (virtual_ == nullptr) {
    baton_.sleep(deadline);
    return;
  }
  virtual_->meet();
  baton_.sleep(deadline, [this](const auto& word, std::uint32_t expected, std::int64_t until) {
    return virtual_->sleep(word, expected, until);
  });
}

}  // namespace beck::detail
