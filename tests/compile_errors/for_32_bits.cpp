// SPDX-License-Identifier: BSL-1.0
// Compiled for 32 bits, as by -m32, whose headers are seldom installed.
// says: 64-bit Linux only
// lines: 16
#undef __SIZEOF_POINTER__
#define __SIZEOF_POINTER__ 4
#include <beck/beck.hpp>
