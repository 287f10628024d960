// SPDX-License-Identifier: BSL-1.0
// Ends a test binary whose running case hangs, with the case's name. A case hangs if the process
// and the children that it has waited for use next to no processor time for `limit` seconds, or
// use several times that much in one case. A timer signal looks (SIGRTMAX): no thread, no
// descriptor and no child is there for it, and children that a case forks have no timer.
#pragma once

namespace beck::test {

// 20 seconds, 100 under a sanitizer; the environment variable BECK_TEST_LIMIT overrides it, and 0
// switches the watchdog off, as a debugger wants it.
void start_watchdog();

// A case begins, or nullptr: it has ended. `name` lives until then.
void watch_case(const char* name) noexcept;

// How many times the limit a case may compute. Binaries whose cases search for minutes define it
// anew.
[[gnu::weak]] int busy_limits_max() noexcept;

}  // namespace beck::test
