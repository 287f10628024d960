// SPDX-License-Identifier: BSL-1.0
// Raw entries belong to no descriptor: they hang on the loop's own.
#include <beck/io/uring_submit.hpp>

#include "io/loop/io_loop.hpp"

namespace beck::detail {

raw_operation::raw_operation(io_context& context, fill_function how) noexcept
    : operation(op_kind::raw, nullptr, nullptr, 0), fill_(how) {
  target = &static_cast<io_loop*>(context.get_executor().target())->no_descriptor();
}

void fill_raw(io_op& op, io_uring_sqe& entry) noexcept {
  static_cast<raw_operation&>(op).fill(entry);
}

}  // namespace beck::detail
