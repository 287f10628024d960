// SPDX-License-Identifier: BSL-1.0
//
// One operation of a scripted ring. The scripted kernel does the work of an operation on the real
// descriptor, while a thread is inside `enter`. This file does the work; the engine decides when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "io/uring/ring_kernel.hpp"

namespace beck::testing {

/// The rings of provided buffers by group, as registered by IORING_REGISTER_PBUF_RING.
struct provided_buffers {
  struct group {
    io_uring_buf_ring* ring = nullptr;
    unsigned entries = 0;
    std::uint16_t head = 0;

    /// Returns the next buffer, or null if the application has provided none.
    const io_uring_buf* front() const;
  };
  std::map<unsigned, group> groups;
};

struct scripted_operation {
  std::uint64_t id = 0;
  std::unique_ptr<const io_uring_sqe>
      entry;             ///< set from the start; its type ends in an open array
  int fd = -1;           ///< the descriptor the work is done on
  bool owns_fd = false;  ///< `fd` is a duplicate, as an operation in flight holds its file open
  bool in_epoll = false;
  bool again = false;            ///< ready although nothing new has happened
  unsigned events = 0;           ///< the events that woke it, for the next task work
  unsigned wakes = 0;            ///< the number of wake-ups since the last task work
  bool cancelled = false;        ///< ends with the next task work, and does nothing until then
  std::size_t moved = 0;         ///< bytes, of an operation that continues until all are there
  std::int64_t deadline_ns = 0;  ///< of IORING_OP_TIMEOUT
  unsigned dying_enters = 0;     ///< after a cancel with EALREADY: the enters until it ends

  bool is_multishot() const;
  bool is_poll() const { return entry->opcode == IORING_OP_POLL_ADD; }
  /// Returns the events that epoll watches for while the operation waits.
  unsigned wanted_events() const;
  /// Returns the result of the operation when it is cancelled: bytes already moved are not taken
  /// back.
  int cancelled_result() const;
};

struct work_outcome {
  enum class kind {
    blocked,   ///< nothing to do now
    finished,  ///< the last completion
    one_more,  ///< a completion of a multishot that goes on
    moved,     ///< some bytes; more are wanted, and may be there
  };
  kind what;
  int result = 0;
  unsigned flags = 0;
};

inline constexpr std::size_t no_transfer_limit = static_cast<std::size_t>(-1);

/// Does the part of the work that needs no wait. `bytes_max` makes a transfer on a byte stream
/// short.
work_outcome do_work(scripted_operation& operation, std::size_t bytes_max,
                     provided_buffers& buffers);

/// Returns whether `do_work`, or the engine itself, knows the operation. Others end with -EINVAL.
bool is_known_opcode(unsigned opcode);

/// Returns false if the kernel would refuse the entry before it looks at the descriptor.
bool is_valid_entry(const io_uring_sqe& entry);

}  // namespace beck::testing
