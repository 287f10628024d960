// SPDX-License-Identifier: BSL-1.0
// Needs the library that was built with BECK_TEST_BUILD.
#include "simulation/planted.hpp"

#include <string_view>

namespace beck::test {
using namespace detail;

bool plant(const char* name) {
  for (const auto& one : planted_names) {
    if (std::string_view(one.name) != name) continue;
    planted_now = one.bug;
    return true;
  }
  return false;
}

}  // namespace beck::test
