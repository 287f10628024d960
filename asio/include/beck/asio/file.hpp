// SPDX-License-Identifier: BSL-1.0
// Files.
#pragma once

#include <beck/asio/buffer.hpp>
#include <beck/asio/config.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/file/stream_file.hpp>
#include <beck/interop/default_token.hpp>

BECK_ASIO_BEGIN

/// The flags of open() and the origins of seek().
using file_base = beck::file_object;

using beck::basic_random_access_file;
using beck::basic_stream_file;
using beck::random_access_file;
using beck::stream_file;

BECK_ASIO_END
