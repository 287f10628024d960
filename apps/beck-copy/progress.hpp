// SPDX-License-Identifier: BSL-1.0
//
// The progress of the copy: the count of bytes, and a bar on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace beck_copy {

/// Counts the bytes written and draws the bar. Used by one thread.
class progress {
 public:
  using clock = std::chrono::steady_clock;

  /// `shown`: draw on standard error. `total`: the size of the copy, if it is known.
  progress(std::optional<std::uint64_t> total, bool shown) : total_(total), shown_(shown) {}

  /// Adds `bytes` bytes that have been written.
  void add(std::uint64_t bytes) {
    bytes_ += bytes;
    if (shown_) look();
  }
  /// Sets the count to 0, for another engine.
  void restart() { bytes_ = 0; }
  std::uint64_t bytes() const { return bytes_; }
  /// Shows `what`, the step that follows the copying.
  void stage(const std::string& what);
  /// Wipes the bar.
  void finish();
  double seconds() const;

 private:
  void look();
  void draw(clock::time_point now);

  std::optional<std::uint64_t> total_;
  bool shown_;
  bool drawn_ = false;
  std::uint64_t bytes_ = 0;
  clock::time_point begin_ = clock::now();
  clock::time_point next_look_ = begin_ + std::chrono::milliseconds(200);
};

}  // namespace beck_copy
