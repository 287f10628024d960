// SPDX-License-Identifier: BSL-1.0
// Names of buffers that Asio removed: for programs that define BECK_ASIO_OLD_NAMES.
#pragma once

#include <beck/asio/config.hpp>
#include <beck/base/buffer.hpp>

BECK_ASIO_BEGIN

using const_buffers_1 = beck::const_buffer;
using mutable_buffers_1 = beck::mutable_buffer;

/// Returns the pointer of a buffer.
template <class Pointer>
Pointer buffer_cast(const beck::mutable_buffer& of) noexcept {
  return static_cast<Pointer>(of.data());
}
/// As above.
template <class Pointer>
Pointer buffer_cast(const beck::const_buffer& of) noexcept {
  return static_cast<Pointer>(of.data());
}

BECK_ASIO_END
