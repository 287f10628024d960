// SPDX-License-Identifier: BSL-1.0
// Does not compile: sync_wait of what is no coroutine.
// lines: 14
// says: what is spawned must be a beck::task or beck::awaitable, or a callable
#include <beck/io/sync_wait.hpp>

int main() {
  beck::sync_wait([] {});
}
