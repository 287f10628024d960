// SPDX-License-Identifier: BSL-1.0
//
// What the ring layer needs from <linux/io_uring.h> and the oldest header we build with (Linux 6.1)
// does not have. The numbers are kernel ABI and never change; whether the running kernel knows them
// is found out by trying (probe.hpp), never by its version. Our own names, so that a newer header
// cannot clash.
#pragma once

#include <linux/io_uring.h>

namespace beck::uring {

/// io_uring_setup(2): no indirection array in front of the entries (Linux 6.6).
inline constexpr unsigned setup_no_sqarray = 1U << 16;

/// io_uring_enter(2): the timespec of the extended argument is a point on CLOCK_MONOTONIC
/// (Linux 6.12).
inline constexpr unsigned enter_abs_timer = 1U << 5;

/// EPOLLET in an entry's poll events: an edge-triggered poll (Linux 5.13).
inline constexpr unsigned poll_edge = 1U << 31;

/// The length of one entry is an unsigned 32-bit number; the kernel moves at most this much at
/// once.
inline constexpr unsigned transfer_bytes_max = 0x7ffff000;

}  // namespace beck::uring
