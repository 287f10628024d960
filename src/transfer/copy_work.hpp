// SPDX-License-Identifier: BSL-1.0
// What a copy knows while it runs. Positions count from where the copy begins.
#pragma once

#include <algorithm>
#include <cstdint>

#include <beck/detail/late.hpp>
#include <beck/transfer/copy.hpp>

#include "transfer/transfer_work.hpp"

namespace beck::detail {

struct copy_work {
  copy_work(descriptor& source, descriptor& target, const copy_options& options) noexcept
      : from(source), to(target), how(options), mechanism(options.only()) {}

  io_loop& loop() const noexcept { return *to.loop; }
  std::uint64_t source_offset(std::uint64_t at) const noexcept { return how.from_offset() + at; }
  std::uint64_t target_offset(std::uint64_t at) const noexcept { return how.to_offset() + at; }

  /// Everything before `at` has been copied, the last of it by `mechanism`.
  void reach(std::uint64_t at) {
    report.mechanism = mechanism;
    if (at <= report.bytes) return;
    report.bytes = at;
    how.progress().tell(at);
  }
  /// The first error counts.
  void fail(const error_code& ec) noexcept {
    if (!error) error = ec;
  }

  descriptor& from;
  descriptor& to;
  const copy_options how;
  std::uint64_t position = 0;        ///< the front of what is left
  std::uint64_t limit = to_the_end;  ///< where it ends
  bool open_ended = false;           ///< the source says by itself where that is
  bool in_order = false;             ///< one block at a time
  bool keeps_holes = false;
  transfer_mechanism mechanism;  ///< that is being tried
  transfer_report report;
  error_code error;
  late<aligned_memory> memory;  ///< of the blocks
};

/// Copies up to `end` by reads and writes, and sets the position.
task<> copy_blocks(copy_work& work, std::uint64_t end);

}  // namespace beck::detail
