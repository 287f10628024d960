// SPDX-License-Identifier: BSL-1.0
// Buffers, sequences of buffers and growing buffers.
#pragma once

#include <array>
#include <cstring>
#include <string>

#include <beck/asio/config.hpp>
#include <beck/base/buffer.hpp>
#include <beck/base/dynamic_buffer.hpp>

#if defined(BECK_ASIO_OLD_NAMES)
#include <beck/asio/old_buffer.hpp>
#endif

BECK_ASIO_BEGIN

using beck::buffer;
using beck::buffer_copy;
using beck::buffer_sequence_begin;
using beck::buffer_sequence_end;
using beck::buffer_size;
using beck::const_buffer;
using beck::dynamic_buffer;
using beck::mutable_buffer;

/// The type of dynamic_buffer() of a string.
template <class Character, class Traits, class Allocator>
using dynamic_string_buffer = beck::dynamic_buffer_ref;
/// The type of dynamic_buffer() of a vector.
template <class Element, class Allocator>
using dynamic_vector_buffer = beck::dynamic_buffer_ref;

namespace buffer_literals = beck::literals::buffer_literals;

BECK_ASIO_END
