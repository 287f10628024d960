// SPDX-License-Identifier: BSL-1.0
// The bugs that can be planted into the test build of the library, by name.
#pragma once

#include "base/test_build.hpp"

namespace beck::test {
using namespace detail;

inline constexpr struct {
  const char* name;
  planted_bug bug;
} planted_names[planted_bugs] = {
    {"lost-wake-up", planted_bug::lost_wake_up},
    {"overtaking-read", planted_bug::overtaking_read},
    {"stale-event", planted_bug::stale_event},
    {"lost-bytes", planted_bug::lost_bytes},
    {"early-timer", planted_bug::early_timer},
    {"late-event", planted_bug::late_event},
    {"kept-leadership", planted_bug::kept_leadership},
    {"hasty-close", planted_bug::hasty_close},
};

/// Whether it shows on several threads only: then the workers have to find it, else the walks.
inline bool needs_threads(planted_bug bug) { return bug >= planted_bug::late_event; }

/// False: there is none of that name.
bool plant(const char* name);

}  // namespace beck::test
