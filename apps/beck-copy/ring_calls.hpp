// SPDX-License-Identifier: BSL-1.0
//
// Entries of the ring that the engines uring and uring-splice submit, and the context they run on.
#pragma once

#include <linux/io_uring.h>

#include <beck/beck.hpp>
#include <cstddef>
#include <cstdint>

#include "failure.hpp"

namespace beck_copy {

/// A context on io_uring. Throws failure with the reason if the kernel refuses rings.
class ring_context {
 public:
  ring_context();
  beck::io_context& get() { return context_; }

 private:
  static beck::io_context::options on_ring();
  beck::io_context context_;
};

/// The offset in calls on a descriptor without offsets.
inline constexpr std::uint64_t no_offset = ~std::uint64_t{0};

/// read(2) on the ring, for example of a pipe. Completes with (error_code, bytes).
inline auto read_entry(beck::io_context& context, int fd, std::byte* to, std::size_t bytes) {
  return beck::uring::async_submit(context, [=](io_uring_sqe& entry) {
    entry.opcode = IORING_OP_READ;
    entry.fd = fd;
    entry.addr = reinterpret_cast<std::uintptr_t>(to);
    entry.len = static_cast<std::uint32_t>(bytes);
    entry.off = no_offset;
  });
}

/// write(2) on the ring.
inline auto write_entry(beck::io_context& context, int fd, const std::byte* data,
                        std::size_t bytes) {
  return beck::uring::async_submit(context, [=](io_uring_sqe& entry) {
    entry.opcode = IORING_OP_WRITE;
    entry.fd = fd;
    entry.addr = reinterpret_cast<std::uintptr_t>(data);
    entry.len = static_cast<std::uint32_t>(bytes);
    entry.off = no_offset;
  });
}

/// splice(2) on the ring; one of the two is a pipe.
inline auto splice_entry(beck::io_context& context, int from, std::uint64_t from_offset, int to,
                         std::uint64_t to_offset, std::size_t bytes) {
  return beck::uring::async_submit(context, [=](io_uring_sqe& entry) {
    entry.opcode = IORING_OP_SPLICE;
    entry.fd = to;
    entry.off = to_offset;
    entry.splice_fd_in = from;
    entry.splice_off_in = from_offset;
    entry.len = static_cast<std::uint32_t>(bytes);
  });
}

}  // namespace beck_copy
