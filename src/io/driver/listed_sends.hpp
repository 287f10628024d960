// SPDX-License-Identifier: BSL-1.0
// Sends that a driver lists until its next poll, so that many of them cost one entry into the
// kernel: here they are made at once. Called before anything that could show that they have waited.
#pragma once

#include "io/driver/driver.hpp"

namespace beck::detail {

/// Makes the sends that the loop of this thread has listed, and takes their results. Called also
/// before the thread leaves the loop. Thread: any; it costs a load while nothing is listed.
inline void flush_sends() noexcept {
  if (driver* const lister = driver::listing(); lister != nullptr) lister->make_listed_sends();
}

}  // namespace beck::detail
