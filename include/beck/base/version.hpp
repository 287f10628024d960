// SPDX-License-Identifier: BSL-1.0
//
// The version of the headers as macros, because only the preprocessor can select code by them, and
// the version of the compiled library as a function, so that a program can detect a difference.
#pragma once

#define BECK_VERSION_MAJOR 0
#define BECK_VERSION_MINOR 1
#define BECK_VERSION_PATCH 0

/// The version as one number, with two digits each for minor and patch: 1.2.3 is 10203.
#define BECK_VERSION (BECK_VERSION_MAJOR * 10000 + BECK_VERSION_MINOR * 100 + BECK_VERSION_PATCH)

namespace beck {

/// Returns the version of the compiled library, such as "0.1.0". Static storage. Any thread.
const char* version() noexcept;

}  // namespace beck
