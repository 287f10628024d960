// SPDX-License-Identifier: BSL-1.0
// io_service, the name of io_context before Asio 1.12.
#pragma once

#include <beck/asio/io_context.hpp>

#if defined(BECK_ASIO_OLD_NAMES)
#include <beck/asio/old_io_context.hpp>
#else
BECK_ASIO_BEGIN

using io_service = beck::io_context;

BECK_ASIO_END
#endif
