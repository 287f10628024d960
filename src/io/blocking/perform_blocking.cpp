// SPDX-License-Identifier: BSL-1.0
// The kinds that may block: jobs and calls on files.
#include "io/blocking/perform_blocking.hpp"

#include <cerrno>

#include <beck/detail/job_operation.hpp>

#include "io/op/lent_buffers.hpp"
#include "io/op/perform_file.hpp"

namespace beck::detail {

std::ptrdiff_t perform_blocking(system& sys, io_op& op) noexcept {
  if (op.kind == op_kind::job) return static_cast<job_operation&>(op).perform(sys);
  if (!is_file(op.kind)) return -EOPNOTSUPP;
  return_buffers(op);  // this thread writes there now, not the kernel
  return perform_file(sys, static_cast<file_operation&>(op));
}

}  // namespace beck::detail
