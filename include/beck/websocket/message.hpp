// SPDX-License-Identifier: BSL-1.0
//
// A message that is made once and sent to many peers: its frame is one block, shared by the queues
// of the connections.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/websocket/codec.hpp>
#include <cstddef>
#include <string_view>
#include <utility>

namespace beck::websocket {

namespace detail {

struct message_block;

/// Adds an owner of a block.
void share_message(message_block& block) noexcept;
/// Removes an owner; the last one frees the block.
void drop_message(message_block* block) noexcept;

}  // namespace detail

/// A whole message, ready for stream::send(). Copies share one block, whose bytes never change.
/// Making a message allocates once, copying it never. A server sends the block itself; a client
/// masks a copy of it.
///   const websocket::message news(websocket::message_kind::text, buffer(text));
///   for (auto& each : members) ignore(each.send(news));
/// Thread: any; several threads may use copies at once.
class message {
 public:
  /// Makes an empty object, which cannot be sent.
  message() noexcept = default;
  /// Makes a message with a copy of `data`. Text must be UTF-8, which is not checked. Throws
  /// std::bad_alloc.
  message(message_kind kind, const_buffer data);
  /// Shares the block.
  message(const message& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) detail::share_message(*block_);
  }
  message(message&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  message& operator=(message other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~message() { detail::drop_message(block_); }

  /// Returns whether there is a message.
  explicit operator bool() const noexcept { return block_ != nullptr; }
  /// Returns the kind. Requires that there is a message.
  message_kind kind() const noexcept;
  /// Returns the data; an empty text if there is no message. Valid while a copy of the message
  /// exists.
  std::string_view data() const noexcept;
  /// Returns the whole frame, as a server sends it; an empty buffer if there is no message. Valid
  /// while a copy of the message exists.
  const_buffer frame() const noexcept;

 private:
  detail::message_block* block_ = nullptr;
};

}  // namespace beck::websocket
