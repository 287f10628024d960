// SPDX-License-Identifier: BSL-1.0
//
// The version this library was compiled with; a program's headers may be newer.
#include <beck/base/version.hpp>

#define BECK_TEXT_OF(x) #x
#define BECK_TEXT(x) BECK_TEXT_OF(x)

namespace beck {

const char* version() noexcept {
  return BECK_TEXT(BECK_VERSION_MAJOR) "." BECK_TEXT(BECK_VERSION_MINOR) "." BECK_TEXT(
      BECK_VERSION_PATCH);
}

}  // namespace beck
