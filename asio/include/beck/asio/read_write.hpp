// SPDX-License-Identifier: BSL-1.0
// Composed reads and writes.
#pragma once

#include <type_traits>

#include <beck/asio/buffer.hpp>
#include <beck/asio/buffers_iterator.hpp>
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

/// Tells a match condition of read_until() from a delimiter. Programs specialise it for their
/// classes; beck recognises them by their call operator.
template <class T>
struct is_match_condition : std::bool_constant<beck::detail::match_condition<T>> {};

BECK_ASIO_END
