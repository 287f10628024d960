// SPDX-License-Identifier: BSL-1.0
// The version of the headers a program was compiled with, and of the library it runs with.
// The build reads the three numbers from here.
#pragma once

#define BECK_VERSION_MAJOR 0
#define BECK_VERSION_MINOR 1
#define BECK_VERSION_PATCH 0

namespace beck {

// The version of the linked library, such as "0.1.0". Valid for ever; any thread.
const char* version() noexcept;

}  // namespace beck
