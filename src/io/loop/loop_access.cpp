// SPDX-License-Identifier: BSL-1.0
// Finding a loop: an executor of io_context names it, any other may name an io_context.
#include "io/loop/loop_access.hpp"

namespace beck::detail {

io_loop* own_loop_of(const any_io_executor& executor) noexcept {
  const executor_table* const table = executor.table();
  const bool own = table == &io_loop::executor_table_of_loops() ||
                   table == &io_loop::executor_table_of_shared_loops();
  return own ? static_cast<io_loop*>(executor.target()) : nullptr;
}

io_loop& loop_of(const any_io_executor& executor) {
  if (io_loop* const own = own_loop_of(executor); own != nullptr) return *own;
  auto* context = executor ? dynamic_cast<io_context*>(executor.context_or_null()) : nullptr;
  if (context == nullptr) {
    throw io_error(error::make_error_code(error::invalid_argument),
                   "I/O objects need an executor whose context is a beck::io_context");
  }
  return *static_cast<io_loop*>(context->get_executor().target());
}

}  // namespace beck::detail
