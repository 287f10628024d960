// SPDX-License-Identifier: BSL-1.0
//
// Writes the access log on a thread of its own, so that a slow or full disk does not stop the
// server. Lines for which there is no room are dropped and counted.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "log_line.hpp"

namespace beck_serve {

/// A log. Thread: add() any; the rest the main one.
class access_log {
 public:
  /// The most bytes that wait to be written.
  static constexpr std::size_t waiting_max = 1 << 20;
  /// How long the end waits for a pipe or terminal that takes nothing.
  static constexpr std::chrono::seconds end_max{2};

  /// Opens `path` to append to it; "-" is standard output. Throws failure.
  access_log(const std::string& path, log_format format);
  /// Writes what is waiting, within end_max, and says on standard error how many lines were lost,
  /// if any.
  ~access_log();
  access_log(const access_log&) = delete;
  access_log& operator=(const access_log&) = delete;

  /// Adds a line, or drops it. Never waits for the file.
  void add(const log_entry& entry) noexcept;
  /// Opens the file again, which may have been renamed. If that fails the old one stays.
  void reopen();
  /// Returns how many lines were lost: dropped, or not written because of an error.
  std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  void run() noexcept;
  void write(const std::string& lines) noexcept;
  bool wait_for_room() noexcept;
  void open_again() noexcept;
  void lose(std::uint64_t lines) noexcept { lost_.fetch_add(lines, std::memory_order_relaxed); }

  const std::string path_;
  const log_format format_;
  int fd_;
  bool ends_inside_ = false;  // a write has failed within a line
  int last_error_ = 0;
  std::atomic<std::uint64_t> lost_{0};  // relaxed: a count that nothing depends on

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  bool reopen_ = false;
  bool ending_ = false;
  std::atomic<std::int64_t> ends_at_{INT64_MAX};  // relaxed: nothing else is published by it
  std::thread writer_;
};

}  // namespace beck_serve
