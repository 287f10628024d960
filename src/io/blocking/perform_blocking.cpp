// SPDX-License-Identifier: BSL-1.0
// One line for each kind that can block.
#include "io/blocking/perform_blocking.hpp"

#include <cerrno>

#include <beck/io/job_operation.hpp>

#include "io/op/lent_buffers.hpp"
#include "io/op/perform_file.hpp"

namespace beck {

std::ptrdiff_t perform_blocking(system& sys, io_op& op) noexcept {
  switch (op.kind) {
    case op_kind::job:
      return static_cast<job_operation&>(op).perform(sys);
    case op_kind::file:
    case op_kind::file_in_order:
      return_buffers(op);  // the program itself writes there now, not the kernel
      return perform_file(sys, static_cast<file_operation&>(op));
    case op_kind::receive:
    case op_kind::send:
    case op_kind::receive_vector:
    case op_kind::receive_lease:
    case op_kind::send_vector:
    case op_kind::receive_message:
    case op_kind::send_message:
    case op_kind::accept:
    case op_kind::connect:
    case op_kind::wait_read:
    case op_kind::wait_write:
    case op_kind::wait_error:
    case op_kind::wait_timer:
    case op_kind::wait_signal:
    case op_kind::raw:
      break;
  }
  return -EOPNOTSUPP;
}

}  // namespace beck
