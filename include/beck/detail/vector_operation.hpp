// SPDX-License-Identifier: BSL-1.0
// Transfers of several buffers: readv/writev semantics. The array of parts is stored in the
// operation.
#pragma once

#include <beck/base/buffer.hpp>
#include <beck/detail/callback_operation.hpp>
#include <beck/detail/functions.hpp>

namespace beck::detail {

/// One part of a scattered transfer; laid out as struct iovec.
struct io_vector {
  void* data;
  std::size_t bytes;
};

namespace functions {

/// Fills `parts` with the parts of `buffers` from byte `skip` on, at most `bytes_max` bytes; empty
/// parts are left out. Returns the number of parts, at most `parts_max`.
template <class Part, class S>
std::size_t gather_parts(Part* parts, std::size_t parts_max, const S& buffers, std::size_t skip,
                         std::size_t bytes_max) noexcept {
  std::size_t count = 0;
  const auto end = beck::buffer_sequence_end(buffers);
  for (auto at = beck::buffer_sequence_begin(buffers);
       at != end && count < parts_max && bytes_max != 0; ++at) {
    const const_buffer part(*at);
    if (skip >= part.size()) {
      skip -= part.size();
      continue;
    }
    const std::size_t left = part.size() - skip;
    const std::size_t bytes = left < bytes_max ? left : bytes_max;
    parts[count++] = Part{const_cast<char*>(static_cast<const char*>(part.data())) + skip, bytes};
    bytes_max -= bytes;
    skip = 0;
  }
  return count;
}

}  // namespace functions

/// A receive_vector or send_vector. A sequence with more parts than fit is cut: "some" moves at
/// least one byte and never promises all.
class [[nodiscard]] vector_operation : public transfer_operation {
 public:
  static constexpr std::size_t parts_max = 16;

  template <const_buffer_sequence S>
  vector_operation(op_kind kind_of_vector, descriptor* d, const S& buffers) noexcept
      : transfer_operation(kind_of_vector, d, nullptr, 0) {
    gather(buffers, 0, static_cast<std::size_t>(-1));
  }

  template <class Token>
  auto operator()(Token&& token) && {
    return detail::launch(static_cast<vector_operation&&>(*this), static_cast<Token&&>(token));
  }

  io_vector* parts() noexcept { return parts_; }
  const io_vector* parts() const noexcept { return parts_; }

 protected:
  /// Fills the parts of this operation as gather_parts().
  template <class S>
  void gather(const S& buffers, std::size_t skip, std::size_t bytes_max) noexcept {
    length = detail::gather_parts(parts_, parts_max, buffers, skip, bytes_max);
  }

 private:
  io_vector parts_[parts_max];
};

/// The buffers of a sequence from byte `skip` on, at most `bytes_max` bytes and as many buffers as
/// one call takes: the argument of a stream in a step of a composed transfer. Copied whole.
template <class Buffer>
class buffer_parts {
 public:
  template <const_buffer_sequence S>
  buffer_parts(const S& buffers, std::size_t skip, std::size_t bytes_max) noexcept
      : count_(
            detail::gather_parts(parts_, vector_operation::parts_max, buffers, skip, bytes_max)) {}

  const Buffer* begin() const noexcept { return parts_; }
  const Buffer* end() const noexcept { return parts_ + count_; }

 private:
  Buffer parts_[vector_operation::parts_max];
  std::size_t count_;
};

/// Returns the parts of an operation whose kind is receive_vector or send_vector.
inline io_vector* parts_of(io_op& op) noexcept {
  return static_cast<vector_operation&>(op).parts();
}
inline const io_vector* parts_of(const io_op& op) noexcept {
  return static_cast<const vector_operation&>(op).parts();
}

}  // namespace beck::detail
