// SPDX-License-Identifier: BSL-1.0
//
// The supported platform: 64-bit Linux with libstdc++. The lowest headers include this one first,
// so that a compilation for another platform begins with a clear message, before the errors that
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
