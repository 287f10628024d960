// SPDX-License-Identifier: BSL-1.0
// io_context: the loop of a program.
#pragma once

#include <chrono>

#include <beck/asio/config.hpp>
#include <beck/asio/executor.hpp>
#include <beck/asio/io_context_strand.hpp>
#include <beck/asio/service.hpp>
#include <beck/io/io_context.hpp>

BECK_ASIO_BEGIN

namespace facade {
/// Objects may outlive their context, as with Asio.
inline const bool objects_outlive_contexts = beck::detail::let_objects_outlive_contexts();
#if !defined(BECK_ASIO_THREADS)
/// An io_context(n) runs on either backend, with BECK_BACKEND, too.
inline const bool threads_take_turns = beck::detail::let_threads_take_turns();
#endif
}  // namespace facade

BECK_ASIO_END

#if defined(BECK_ASIO_OLD_NAMES) || defined(BECK_ASIO_NO_INLINE_NAMESPACE) || \
    defined(BECK_ASIO_THREADS)
#include <beck/asio/old_io_context.hpp>
#else
BECK_ASIO_BEGIN

using beck::io_context;

BECK_ASIO_END
#endif
