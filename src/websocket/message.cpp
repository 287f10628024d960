// SPDX-License-Identifier: BSL-1.0
// The block of a message: a header with the number of its owners, and the bytes of its frame.
#include <beck/websocket/message.hpp>

#include <cstring>
#include <new>

#include <beck/base/assert.hpp>
#include <beck/detail/ref_count.hpp>

namespace beck::websocket {

namespace detail {

struct message_block {
  char* bytes() noexcept { return reinterpret_cast<char*>(this + 1); }

  beck::detail::ref_count holders;
  message_kind kind;
  std::size_t head_bytes;
  std::size_t data_bytes;
};

void share_message(message_block& block) noexcept { block.holders.add(); }

void drop_message(message_block* block) noexcept {
  if (block == nullptr || !block->holders.drop()) return;
  block->~message_block();
  ::operator delete(block);
}

}  // namespace detail

message::message(message_kind kind, const_buffer data) {
  char head[frame_head_max];
  const std::size_t head_bytes =
      write_frame_head(head, static_cast<opcode>(kind), true, data.size(), nullptr);
  void* const room = ::operator new(sizeof(detail::message_block) + head_bytes + data.size());
  block_ = ::new (room) detail::message_block;
  block_->kind = kind;
  block_->head_bytes = head_bytes;
  block_->data_bytes = data.size();
  std::memcpy(block_->bytes(), head, head_bytes);
  if (data.size() != 0) std::memcpy(block_->bytes() + head_bytes, data.data(), data.size());
}

message_kind message::kind() const noexcept {
  BECK_ASSERT(block_ != nullptr, "the kind of an empty message");
  return block_->kind;
}

std::string_view message::data() const noexcept {
  if (block_ == nullptr) return {};
  return {block_->bytes() + block_->head_bytes, block_->data_bytes};
}

const_buffer message::frame() const noexcept {
  if (block_ == nullptr) return {};
  return {block_->bytes(), block_->head_bytes + block_->data_bytes};
}

}  // namespace beck::websocket
