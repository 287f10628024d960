// SPDX-License-Identifier: BSL-1.0
// A loop in a child of fork (U16): what the kernel has belongs to the parent. The child may close
// and destroy its copies, which touches neither the parent's ring nor its epoll registrations, and
// exec.
#include <cerrno>

#include <beck/io/file_operation.hpp>

#include "io/fork_count.hpp"
#include "io/io_loop.hpp"

namespace beck {

bool io_loop::inherited() const noexcept { return forks_ != fork_count(); }

void io_loop::leave_to_parent() noexcept {
  if (left_to_parent_ || driver_->wake_handle() < 0 || !inherited()) return;
  left_to_parent_ = true;
  for (std::uint32_t chunk = 0; chunk < descriptor_chunks::most && chunks_[chunk] != nullptr;
       ++chunk) {
    for (std::uint32_t i = 0; i < descriptor_chunks::size(chunk); ++i) {
      descriptor& d = chunks_[chunk][i];
      if (d.fd < 0 && d.files == nullptr) continue;
      for (direction& q : d.queue) {
        const bool in_kernel = q.current != nullptr && q.current->state == op_state::in_kernel;
        abandon(q);
        if (in_kernel) finish(*q.current, -ECANCELED);
      }
      d.in_kernel = 0;
      for (file_operation* op = d.files; op != nullptr;) {
        file_operation* const older = op->older;
        if (op->on_thread) {
          ++d.in_kernel;  // it ends with the threads, or is in the mail
        } else if (op->state == op_state::in_kernel) {
          finish(*op, -ECANCELED);
        }
        op = older;
      }
      d.registered = false;
      close_if_idle(d);  // it waited for a completion that goes to the parent
    }
  }
  driver_->leave_to_parent();
  jobs_.leave_to_parent();
}

}  // namespace beck
