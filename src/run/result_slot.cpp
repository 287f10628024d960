// SPDX-License-Identifier: BSL-1.0
// Results of operations that a coroutine awaits through a handler: the slot in which the handler
// leaves them, and the end of a program that drops a failed one.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <beck/base/assert.hpp>
#include <beck/detail/checked_result.hpp>
#include <beck/detail/result_slot.hpp>
#include <beck/detail/runner.hpp>

// A result that comes inside the initiating call reaches the coroutine at once: it does not
// suspend. Any other result is posted to the coroutine's executor. The initiating call may still be
// running on its own thread then; it uses only objects on its stack.
namespace beck::detail {

scope& ambient_scope() noexcept {
  runner* const current = runner::current();
  BECK_ASSERT(current != nullptr && current->ambient != nullptr,
              "a coroutine without a scope was awaited outside of every context's run()");
  return *current->ambient;
}

bool completion_slot::continue_at_once(const initiating_call& call) {
  const outstanding_work home(executor(), true);
  if (call.result() == initiating_call::outcome::dropped) return false;
  runner* const where = runner::current();
  if (where != nullptr && home.executor().running_in_this_thread() &&
      where->spend(runner::memory_weight)) {
    ++where->counters.inline_completions;
    return true;
  }
  home.executor().post(this);  // afterwards the frame may be gone
  return false;
}

void completion_slot::filled() {
  if (initiating_call* call = initiating_call::of(this); call != nullptr) {
    call->end_with(initiating_call::outcome::completed);
    return;
  }
  const outstanding_work home(executor(), true);
  home.executor().post(this);  // afterwards the slot may be gone
}

void completion_slot::abandoned() noexcept {
  if (initiating_call* call = initiating_call::of(this); call != nullptr) {
    call->end_with(initiating_call::outcome::dropped);
    return;
  }
  const outstanding_work home(executor(), true);
  run(this, nullptr);
}

// The end of a program that dropped a failed result. It is here and not in base/, because only the
// runner knows whether a coroutine is running or being destroyed.

void report_dropped(const result_error& error, const std::source_location& at) noexcept {
  const runner* const here = runner::current();
  if (here == nullptr || here->destroys || std::uncaught_exceptions() != 0) return;
  const char* const operation = *error.operation() == '\0' ? "an operation" : error.operation();
  std::fprintf(stderr,
               "%s:%u: the failed result of %s was dropped: %s (%s). Look at it, or say "
               "beck::ignore(...)\n",
               at.file_name(), static_cast<unsigned>(at.line()), operation, error.message().c_str(),
               at.function_name());
  std::abort();
}

}  // namespace beck::detail
