// SPDX-License-Identifier: BSL-1.0
// The parts of executors that need no template: the context's virtual destructor, and running an
// entry on a thread that has no runner of its own.
#include <beck/run/any_io_executor.hpp>

namespace beck {
using namespace detail;

execution_context::~execution_context() = default;

void detail::run_entry_here(queue_entry* entry) {
  if (runner* current = runner::current(); current != nullptr) {
    entry->run(entry, current);
    return;
  }
  runner local;
  const runner::binding bound(local);
  local.run(entry);
}

}  // namespace beck
