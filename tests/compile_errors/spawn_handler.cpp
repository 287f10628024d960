// SPDX-License-Identifier: BSL-1.0
// Does not compile: a handler of co_spawn that has no room for the value.
// lines: 20
// says: the last argument must be a completion token, or a handler
// says: exception_ptr, int\)
#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_context.hpp>

beck::task<int> work() { co_return 1; }
void start(beck::io_context& context) {
  beck::co_spawn(context, work(), [](std::exception_ptr) {});
}
