// SPDX-License-Identifier: BSL-1.0
// Compiled with libc++, as by -stdlib=libc++, which is seldom installed.
// says: libstdc\+\+ only
// lines: 12
#define _LIBCPP_VERSION 190000
#include <beck/beck.hpp>
