// SPDX-License-Identifier: BSL-1.0
// Frames on their way into the bytes that wait to be sent over a connection. A frame is added whole
// or not at all.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/run/byte_queue.hpp>
#include <beck/websocket/message.hpp>

namespace beck::websocket::detail {

/// Adds a frame: its head, and a copy of its data, masked with `key` unless that is nullptr. Throws
/// std::bad_alloc; then nothing has changed.
void add_frame(beck::byte_queue& to, const_buffer head, const_buffer data, const mask_key* key);
/// Adds the frame of a message, which many connections share, without copying it. Throws
/// std::bad_alloc; then nothing has changed.
void add_frame(beck::byte_queue& to, const message& shared);

}  // namespace beck::websocket::detail
