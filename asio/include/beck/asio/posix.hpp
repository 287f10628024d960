// SPDX-License-Identifier: BSL-1.0
// posix::stream_descriptor.
#pragma once

#include <unistd.h>

#include <beck/asio/buffer.hpp>
#include <beck/asio/config.hpp>
#include <beck/interop/default_token.hpp>
#include <beck/io/stream_descriptor.hpp>

BECK_ASIO_BEGIN

namespace posix = beck::posix;

BECK_ASIO_END
