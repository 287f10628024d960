// SPDX-License-Identifier: BSL-1.0
// Parallel groups, in the namespace experimental.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/interop/parallel_group.hpp>

BECK_ASIO_BEGIN

namespace experimental {

using beck::make_parallel_group;
using beck::wait_for_all;
using beck::wait_for_one;
using beck::wait_for_one_error;
using beck::wait_for_one_success;

}  // namespace experimental

BECK_ASIO_END
