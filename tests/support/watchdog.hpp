// SPDX-License-Identifier: BSL-1.0
// Ends a test binary whose running case hangs, with the case's name. A case hangs if the process
// and the children that it has waited for use next to no processor time for `limit` seconds,
// although the machine had time for them, or use several times that much in one case. The handler
// of a timer signal (SIGRTMAX) checks this, so the watchdog needs no thread, no descriptor and no
// child; children that a case forks have no timer.
#pragma once

namespace beck::test {

// Starts the watchdog. Its limit is 20 seconds, 100 under a sanitizer; the environment variable
// BECK_TEST_LIMIT overrides it, and 0 switches the watchdog off, for use with a debugger.
void start_watchdog();

// Begins the watch over the case `name`, which must live until the case ends; nullptr ends it.
void watch_case(const char* name) noexcept;

// Returns the multiple of the limit that a case may use of processor time. Binaries whose cases
// search for minutes define it anew.
[[gnu::weak]] int busy_limits_max() noexcept;

}  // namespace beck::test
