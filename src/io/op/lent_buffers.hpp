// SPDX-License-Identifier: BSL-1.0
// Poisons the buffers of a receive while it waits, under AddressSanitizer: no code may read them
// before the receive has completed. In other builds these functions do nothing.
#pragma once

#include <beck/detail/message_operation.hpp>

#include "base/sanitizers.hpp"
#include "io/op/perform.hpp"

namespace beck::detail {

/// Calls `action(data, bytes)` for each buffer of a message. Skips batches: their headers are the
/// caller's, and may be gone when the context is destroyed.
template <class Action>
void each_message_buffer(const io_op& op, Action& action) noexcept {
  if (op.address != nullptr) return;
  auto& message = const_cast<message_operation&>(static_cast<const message_operation&>(op));
  const message_header& header = message.located_header();
  if (header.part_count > message_operation::parts_max) return;
  for (std::size_t i = 0; i < header.part_count; ++i) {
    action(header.parts[i].data, header.parts[i].bytes);
  }
}

template <class Action>
void each_file_buffer(const file_operation& op, Action&& action) noexcept {
  if (op.call == file_call::read) {
    action(op.address, op.length);
  } else if (op.call == file_call::read_vector) {
    for (std::size_t i = 0; i < op.length; ++i) {
      action(parts_of_file(op)[i].data, parts_of_file(op)[i].bytes);
    }
  }
}

template <class Action>
void each_receive_buffer(const io_op& op, Action&& action) noexcept {
  if constexpr (address_sanitizer) {
    if (op.kind == op_kind::receive) {
      action(op.address, op.length);
    } else if (op.kind == op_kind::receive_vector) {
      const io_vector* const parts = parts_of(op);
      for (std::size_t i = 0; i < op.length; ++i) action(parts[i].data, parts[i].bytes);
    } else if (op.kind == op_kind::receive_message) {
      each_message_buffer(op, action);
    } else if (is_file(op.kind)) {
      each_file_buffer(static_cast<const file_operation&>(op), action);
    }
  }
}

inline void lend_buffers(const io_op& op) noexcept { each_receive_buffer(op, annotate_lent); }
inline void return_buffers(const io_op& op) noexcept { each_receive_buffer(op, annotate_returned); }

}  // namespace beck::detail
