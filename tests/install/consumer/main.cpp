// SPDX-License-Identifier: BSL-1.0
// A user's program: exits with 0 if the headers and the library that it found are of one version.
#include <beck/beck.hpp>

#include <cstdio>

int main() {
  char expected[32];
  std::snprintf(expected, sizeof expected, "%d.%d.%d", BECK_VERSION_MAJOR, BECK_VERSION_MINOR,
                BECK_VERSION_PATCH);
  std::printf("headers %s, library %s\n", expected, beck::version());
  for (int i = 0; expected[i] != 0; ++i)
    if (beck::version()[i] != expected[i]) return 1;
}
