// SPDX-License-Identifier: BSL-1.0
// Does not compile: a coroutine lambda that wants arguments.
// lines: 14
// says: what is spawned must be a beck::task or beck::awaitable, or a callable
#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_context.hpp>

void start(beck::io_context& context) {
  beck::co_spawn(context, [](int) -> beck::task<> { co_return; }, beck::detached);
}
