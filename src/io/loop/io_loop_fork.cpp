// SPDX-License-Identifier: BSL-1.0
// A loop in a child of fork (U16): what the kernel has belongs to the parent. The child may close
// and destroy its copies, which touches neither the parent's ring nor its epoll registrations, and
// exec. Where another thread was inside the loop at the fork, its copy may be in the middle of any
// change: then what is open is closed, and nothing else is touched.
#include <cerrno>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/detail/file_operation.hpp>

#include "io/loop/io_loop.hpp"
#include "io/op/transitions.hpp"

namespace beck::detail {

void io_loop::expect_own_process() const noexcept {
  BECK_ASSERT(!inherited() || driver_->wake_handle() < 0,
              "an io_context was run in a child of fork; it belongs to the parent");
}

bool io_loop::is_in_doubt() const noexcept {
  if (on_runner() || driver_->wake_handle() < 0) return false;
  return !slot_.looks_free() || (is_shared() && shared_->others_inside());
}

void io_loop::close_in_doubt(descriptor& d) noexcept {
  if (const int fd = std::exchange(d.fd, -1); fd >= 0) system_->close(fd);
  d.slot = slot_state::closed;  // whatever it was: no event led here
}

void io_loop::close_all_handles() noexcept {
  descriptors_.each([this](descriptor& d) { close_in_doubt(d); });
  driver_->close_handles();
}

void io_loop::give_up_what_the_kernel_has() noexcept {
  if (driver_->wake_handle() < 0) return;
  left_to_parent_ = true;
  closing_ = true;  // what the mail had at the fork, and what is started here, is cancelled
  descriptors_.each([this](descriptor& d) { give_up(d); });
  driver_->leave_to_parent();
  jobs_.leave_to_parent();
}

}  // namespace beck::detail
