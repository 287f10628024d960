// SPDX-License-Identifier: BSL-1.0
// Writes lines to a file on a thread of its own. Two buffers: any thread adds to one while the
// writer writes the other.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <beck/base/duration.hpp>
#include <beck/base/error.hpp>

namespace beck::http::detail {

/// The file of a log, and its writer. Thread: any.
class log_writer {
 public:
  /// As access_log(). `waiting_max`: the most bytes that wait; `end_max`: see close().
  log_writer(std::string_view path, std::size_t waiting_max, duration end_max);
  log_writer(const log_writer&) = delete;
  log_writer& operator=(const log_writer&) = delete;
  /// Requires that is_inherited() is false.
  ~log_writer() { close(); }

  /// Returns whether this process is a child of fork, which does not have the writer's thread.
  bool is_inherited() const noexcept;
  /// Closes the file of such a child. What waits is written by the parent.
  void close_inherited() noexcept;

  /// Adds a line with its end, or drops it.
  void add(std::string_view line) noexcept;
  /// Counts a line that could not be made.
  void lose_line() noexcept { lose(1); }
  void reopen() noexcept;
  void close() noexcept;
  std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }
  error_code last_error() const noexcept;

 private:
  void run() noexcept;
  void write(std::string_view lines) noexcept;
  bool is_over() const noexcept;
  bool wait_for_room() const noexcept;
  void open_again() noexcept;
  void lose(std::uint64_t lines) noexcept { lost_.fetch_add(lines, std::memory_order_relaxed); }
  void note_error(int code) noexcept { last_error_.store(code, std::memory_order_relaxed); }
  bool is_stdout() const noexcept { return path_ == "-"; }

  const std::string path_;
  const std::size_t waiting_max_;
  const duration end_max_;
  const unsigned forks_;
  int fd_;                    // of the writer's thread, until it has ended
  bool ends_inside_ = false;  // a write has failed within a line
  // Relaxed, all three: nothing else is published by them.
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<int> last_error_{0};
  std::atomic<std::int64_t> ends_at_{INT64_MAX};

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  bool reopens_ = false;
  bool is_closing_ = false;
  std::once_flag joined_;
  std::thread writer_;
};

}  // namespace beck::http::detail
