// SPDX-License-Identifier: BSL-1.0
// The end of a program that dropped a failed result; here and not in base/, because only the runner
// knows whether a coroutine is running or being destroyed.
#include <beck/detail/checked_result.hpp>
#include <beck/detail/runner.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace beck::detail {

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
