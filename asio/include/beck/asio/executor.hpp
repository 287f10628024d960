// SPDX-License-Identifier: BSL-1.0
// Executors, and the functions that run work on them.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/run/any_io_executor.hpp>
#include <beck/run/associated.hpp>
#include <beck/run/post.hpp>
#include <beck/run/properties.hpp>
#include <beck/run/strand.hpp>
#include <beck/run/work_guard.hpp>

BECK_ASIO_BEGIN

using beck::any_io_executor;
using beck::associated_allocator;
using beck::associated_allocator_t;
using beck::associated_cancellation_slot;
using beck::associated_executor;
using beck::associated_executor_t;
using beck::associated_immediate_executor;
using beck::defer;
using beck::dispatch;
using beck::execution_context;
using beck::executor_work_guard;
using beck::get_associated_allocator;
using beck::get_associated_cancellation_slot;
using beck::get_associated_executor;
using beck::get_associated_immediate_executor;
using beck::make_strand;
using beck::make_work_guard;
using beck::post;
using beck::prefer;
using beck::query;
using beck::recycling_allocator;
using beck::require;
using beck::strand;

namespace execution {

using namespace beck::execution;

}  // namespace execution

BECK_ASIO_END
