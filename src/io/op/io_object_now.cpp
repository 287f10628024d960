// SPDX-License-Identifier: BSL-1.0
// Synchronous operations: the same system calls as the attempts, on the caller's thread, beside
// whatever the loop does with the descriptor.
#include <cerrno>

#include <beck/io/io_object.hpp>

#include "io/loop/io_loop.hpp"
#include "io/op/perform.hpp"

namespace beck {

int io_object::perform_now(io_op& op) const noexcept {
  descriptor& d = *descriptor_;
  const object_use inside = use_of(d, name_of(op.kind), object_use::kind::beside_others);
  if (d.fd < 0) return -EBADF;
  system& sys = d.loop->sys();
  const std::size_t wanted = wanted_bytes(op);
  if (is_transfer(op.kind) && wanted == 0) return 0;
  for (;;) {
    const std::ptrdiff_t r = perform(sys, op);
    if (r == -EAGAIN) {
      if (d.user_non_blocking) return -EAGAIN;
      const int seen = sys.poll(d.fd, awaited_events(op.kind), INT64_MAX);
      if (seen < 0) return seen;
      continue;
    }
    if (r < 0 || !is_transfer(op.kind)) return static_cast<int>(r);
    if (r == 0 && is_receive(op.kind)) return eof_result;
    op.transferred += static_cast<std::size_t>(r);
    if (op.transferred == wanted || (op.flags & io_op::flag_all) == 0) return 0;
  }
}

}  // namespace beck
