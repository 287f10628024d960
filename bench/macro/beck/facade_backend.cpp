// SPDX-License-Identifier: BSL-1.0
//
// Chooses the backend of a program that was written for Asio and has no option for it.
#include <cstdlib>

namespace {

const bool is_set = ::setenv("BECK_BACKEND", BECK_BENCH_BACKEND, 1) == 0;

}  // namespace
