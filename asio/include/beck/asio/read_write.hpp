// SPDX-License-Identifier: BSL-1.0
// Composed reads and writes.
#pragma once

#include <beck/asio/buffer.hpp>
#include <beck/asio/config.hpp>
#include <beck/io/completion_condition.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/read_write_dynamic.hpp>

BECK_ASIO_BEGIN

using beck::async_read;
using beck::async_read_until;
using beck::async_write;
using beck::read;
using beck::read_until;
using beck::transfer_all;
using beck::transfer_at_least;
using beck::transfer_exactly;
using beck::write;

BECK_ASIO_END
