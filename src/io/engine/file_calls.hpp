// SPDX-License-Identifier: BSL-1.0
// Calls on files: their start, the attempts in memory, and their results. They share operations and
// descriptors with sockets and nothing else: a file is always ready, so no event is awaited.
#pragma once

#include <cstddef>

#include <beck/detail/file_operation.hpp>

#include "io/driver/loop_core.hpp"

namespace beck::detail {

class op_engine;
class status_operation;

/// Thread: the runner. Calls in progress are linked to their descriptor, newest first.
class file_calls {
 public:
  explicit file_calls(op_engine& engine) noexcept;
  file_calls(const file_calls&) = delete;
  file_calls& operator=(const file_calls&) = delete;

  /// Opens `d` with the file `fd`. `flags`: those of its open(2), of which only O_DIRECT and
  /// O_APPEND matter.
  void open(descriptor& d, int fd, unsigned flags) noexcept;
  /// Starts a call. Returns true if `op` has its result.
  bool start(file_operation& op) noexcept;
  /// Makes the call of `op` if everything on the path to its file is in memory. Returns whether
  /// `op` has a result now.
  bool attempt_in_memory(status_operation& op) noexcept;
  /// Attempts a transfer at the position of its file. Returns true if `op` has its result.
  bool attempt_in_order(file_operation& op) noexcept;
  /// Continues a call with the result of its last step, or finishes it.
  void take_result(file_operation& op, std::ptrdiff_t r) noexcept;

 private:
  bool attempt_cached(file_operation& op) noexcept;
  int take_opened(file_operation& op, int fd) noexcept;
  void open_locked(descriptor& d, int fd, unsigned flags) noexcept;

  op_engine& engine_;
  loop_core& core_;
};

/// Ends the link between a call and its descriptor.
void unlink_file(file_operation& op) noexcept;

}  // namespace beck::detail
