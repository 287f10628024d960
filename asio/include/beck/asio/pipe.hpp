// SPDX-License-Identifier: BSL-1.0
// Pipes.
#pragma once

#include <beck/asio/buffer.hpp>
#include <beck/asio/config.hpp>
#include <beck/interop/default_token.hpp>
#include <beck/io/pipe.hpp>

BECK_ASIO_BEGIN

using beck::basic_readable_pipe;
using beck::basic_writable_pipe;
using beck::connect_pipe;
using beck::readable_pipe;
using beck::writable_pipe;

BECK_ASIO_END
