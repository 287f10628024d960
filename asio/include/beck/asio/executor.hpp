// SPDX-License-Identifier: BSL-1.0
// Executors, and the functions that run work on them.
#pragma once

#include <beck/asio/associated.hpp>
#include <beck/asio/async_result.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/error.hpp>
#include <beck/asio/property.hpp>
#include <beck/run/any_io_executor.hpp>
#include <beck/run/post.hpp>
#include <beck/run/strand.hpp>
#include <beck/run/work_guard.hpp>

BECK_ASIO_BEGIN

/// Asio's name for the executor of a handler that is hidden behind a function.
using any_completion_executor = beck::any_io_executor;

using beck::any_io_executor;
using beck::defer;
using beck::dispatch;
using beck::execution_context;
using beck::executor_work_guard;
using beck::make_strand;
using beck::make_work_guard;
using beck::post;
using beck::strand;

BECK_ASIO_END
