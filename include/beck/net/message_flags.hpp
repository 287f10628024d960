// SPDX-License-Identifier: BSL-1.0
// Transfers of stream sockets with flags (message_peek, message_out_of_band): include it where they
// are used.
#pragma once

#include <beck/detail/message_operation.hpp>
#include <beck/net/stream_socket.hpp>

namespace beck::detail {

/// Bytes of a stream, with flags. The first 16 buffers that are not empty are used.
template <class Buffers>
class [[nodiscard]] stream_message : public message_operation {
 public:
  stream_message(op_kind kind_of_message, descriptor* d, const Buffers& buffers,
                 int flags_of_call) noexcept
      : message_operation(kind_of_message, d, flags_of_call, true) {
    this->of_stream();
    this->gather(buffers, parts_, message_parts<Buffers>);
  }
  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<stream_message&&>(*this), static_cast<Token&&>(token));
  }

 private:
  io_vector parts_[message_parts<Buffers>];
};

}  // namespace beck::detail
