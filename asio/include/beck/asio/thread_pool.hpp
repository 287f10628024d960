// SPDX-License-Identifier: BSL-1.0
// Pools of threads.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/asio/executor.hpp>
#include <beck/asio/service.hpp>
#include <beck/run/thread_pool.hpp>

BECK_ASIO_BEGIN

using beck::static_thread_pool;
using beck::system_context;
using beck::thread_pool;

BECK_ASIO_END
