// SPDX-License-Identifier: BSL-1.0
// Executors without a context behind them, and the end of a program with an exception that no
// handler takes.
#include <beck/run/any_io_executor.hpp>

#include <cstdio>
#include <utility>

#include "run/task_trees.hpp"

// The parts of executors that need no template: the context's virtual destructor, and running an
// entry on a thread that may have no runner of its own.
namespace beck {
using namespace detail;

execution_context::~execution_context() { destroy(); }

void execution_context::shutdown() noexcept {
  if (services_ != nullptr) services_->shut_down();
}

void execution_context::destroy() noexcept {
  shutdown();
  delete std::exchange(services_, nullptr);
}

// Not inline: g++ 14 would warn in programs that the frame's address outlives the frame.
void executor_entry::try_enter(const executor_table* table, void* self) noexcept {
  if (!table->enter(self)) return;
  inside_ = true;
  table_ = table;
  self_ = self;
  frame_.emplace(*runner::current(), self);
}

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

// An exception that no handler takes is never swallowed.
namespace beck::detail {

void terminate_unhandled(std::exception_ptr error,
                         const std::source_location* spawned_at) noexcept {
  if (spawned_at == nullptr || spawned_at->line() == 0) {
    std::fprintf(stderr, "beck: an exception escaped a detached task or a pool's handler: ");
  } else {
    std::fprintf(stderr, "beck: an exception escaped a detached task, spawned at %s:%u: ",
                 spawned_at->file_name(), static_cast<unsigned>(spawned_at->line()));
  }
  try {
    std::rethrow_exception(std::move(error));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  } catch (...) {
    std::fprintf(stderr, "of unknown type\n");
  }
  std::terminate();
}

}  // namespace beck::detail
