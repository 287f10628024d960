// SPDX-License-Identifier: BSL-1.0
// io_service, the name of io_context before Asio 1.12.
#pragma once

#include <beck/asio/io_context.hpp>

BECK_ASIO_BEGIN

using io_service = io_context;

BECK_ASIO_END
