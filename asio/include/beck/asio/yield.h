// SPDX-License-Identifier: BSL-1.0
// The short names of the macros for stackless coroutines, until <asio/unyield.hpp>. May be included
// again.
#include <beck/asio/stackless.hpp>

#ifndef reenter
#define reenter(c) BECK_ASIO_REENTER(c)
#endif
#ifndef yield
#define yield BECK_ASIO_YIELD_AT(__COUNTER__ + 1)
#endif
#ifndef fork
#define fork BECK_ASIO_FORK_AT(__COUNTER__ + 1)
#endif
