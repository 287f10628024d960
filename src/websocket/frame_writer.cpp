// SPDX-License-Identifier: BSL-1.0
// Data is copied into the queue and masked there.
#include "websocket/frame_writer.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <beck/base/assert.hpp>
#include <beck/io/context_services.hpp>

namespace beck::websocket::detail {
namespace {

std::string_view text_of(const_buffer bytes) noexcept {
  return {static_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void add_frame(beck::byte_queue& to, const_buffer head, const_buffer data, const mask_key* key) {
  to.reserve(head.size() + data.size());
  to.copy(text_of(head));
  if (key == nullptr) return to.copy(text_of(data));
  std::uint64_t offset = 0;
  while (data.size() != 0) {
    const mutable_buffer room = to.room();
    const std::size_t bytes = std::min(data.size(), room.size());
    std::memcpy(room.data(), data.data(), bytes);
    apply_mask(static_cast<char*>(room.data()), bytes, *key, offset);
    to.commit(bytes);
    offset += bytes;
    data += bytes;
  }
}

void add_frame(beck::byte_queue& to, const message& shared) {
  BECK_ASSERT(shared, "an empty message was queued");
  to.append_owned(message(shared), [](const message& kept) { return kept.frame(); });
}

void fill_random(const any_io_executor& executor, void* data, std::size_t bytes) noexcept {
  random_bytes(executor, buffer(data, bytes));
}

mask_key key_source::next() noexcept {
  if (left_ == 0) {
    fill_random(executor_, keys_, sizeof keys_);
    left_ = keys_max;
  }
  return keys_[--left_];
}

void frame_writer::add(beck::byte_queue& to, const message& shared) {
  if (!masks()) return add_frame(to, shared);
  const std::string_view data = shared.data();
  add(to, static_cast<opcode>(shared.kind()), true, const_buffer(data.data(), data.size()));
}

}  // namespace beck::websocket::detail
