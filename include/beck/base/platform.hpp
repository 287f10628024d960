// SPDX-License-Identifier: BSL-1.0
//
// What a program is compiled for: 64-bit Linux with libstdc++. The lowest headers include this one
// first, so that a compilation for anything else ends with a sentence, ahead of the errors that
// follow from it.
#pragma once

#include <cstddef>

#if !defined(__linux__)
#error "beck is for Linux only"
#elif __SIZEOF_POINTER__ != 8
#error "beck is for 64-bit Linux only: compile without -m32 and -mx32, or for a 64-bit target"
#elif defined(_LIBCPP_VERSION)
#error "beck is for libstdc++ only: compile with -stdlib=libstdc++"
#endif
