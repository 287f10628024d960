// SPDX-License-Identifier: BSL-1.0
// Names the version of the compiled library, which may differ from that of a program's headers.
#include <beck/base/version.hpp>

#define BECK_TEXT_(x) #x
#define BECK_TEXT(x) BECK_TEXT_(x)

namespace beck {

const char* version() noexcept {
  return BECK_TEXT(BECK_VERSION_MAJOR) "." BECK_TEXT(BECK_VERSION_MINOR) "." BECK_TEXT(
      BECK_VERSION_PATCH);
}

}  // namespace beck
