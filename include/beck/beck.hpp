// SPDX-License-Identifier: BSL-1.0
// The umbrella: everything a program needs, except what is opt-in: interop/, testing/, and
// run/as_tuple.hpp, which brings <tuple> (a third of all the lines that the rest adds).
#pragma once

#include <beck/base/assert.hpp>
#include <beck/base/buffer.hpp>
#include <beck/base/duration.hpp>
#include <beck/base/dynamic_buffer.hpp>
#include <beck/base/error.hpp>
#include <beck/base/flat_buffer.hpp>
#include <beck/base/io_result.hpp>
#include <beck/base/version.hpp>
#include <beck/coro/channel.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/condition_variable.hpp>
#include <beck/coro/event.hpp>
#include <beck/coro/generator.hpp>
#include <beck/coro/latch.hpp>
#include <beck/coro/local_key.hpp>
#include <beck/coro/mutex.hpp>
#include <beck/coro/semaphore.hpp>
#include <beck/coro/shared_mutex.hpp>
#include <beck/coro/task.hpp>
#include <beck/coro/this_coro.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/completion_condition.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/io_pool.hpp>
#include <beck/io/read_until.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/signal_set.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/sync_wait.hpp>
#include <beck/io/system_timer.hpp>
#include <beck/io/uring_submit.hpp>
#include <beck/net/local.hpp>
#include <beck/net/tcp.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/compose.hpp>
#include <beck/run/deferred.hpp>
#include <beck/run/op.hpp>
#include <beck/run/post.hpp>
#include <beck/run/redirect_error.hpp>
#include <beck/run/strand.hpp>
#include <beck/run/thread_pool.hpp>
#include <beck/run/work_guard.hpp>
