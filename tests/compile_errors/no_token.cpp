// SPDX-License-Identifier: BSL-1.0
// Does not compile: co_spawn without a token.
// lines: 14
// says: co_spawn needs a third argument: beck::detached
#include <beck/coro/co_spawn.hpp>
#include <beck/io/io_context.hpp>

beck::task<> work() { co_return; }
void start(beck::io_context& context) { beck::co_spawn(context, work()); }
