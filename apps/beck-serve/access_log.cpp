// SPDX-License-Identifier: BSL-1.0
//
// Two buffers: connections add to one while the writer writes the other.
#include "access_log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <string_view>
#include <utility>

#include "common/output.hpp"
#include "failure.hpp"

namespace beck_serve {
namespace {

constexpr mode_t log_mode = 0640;
// A named pipe without a reader is then an error, not a wait.
constexpr int log_flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

constexpr std::size_t pipe_bytes = PIPE_BUF;  // that never block a pipe which has room
constexpr int look_ms = 100;                  // between two looks at the end

std::int64_t steady_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

int open_log(const std::string& path) {
  return path == "-" ? STDOUT_FILENO : ::open(path.c_str(), log_flags, log_mode);
}

}  // namespace

access_log::access_log(const std::string& path, log_format format)
    : path_(path), format_(format), fd_(open_log(path)) {
  if (fd_ < 0) throw failure(errno_text("--access-log " + path, errno));
  writer_ = std::thread([this] { run(); });
}

access_log::~access_log() {
  ends_at_.store(steady_ms() + std::chrono::milliseconds(end_max).count(),
                 std::memory_order_relaxed);
  {
    const std::lock_guard guard(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  writer_.join();
  if (fd_ != STDOUT_FILENO) ::close(fd_);
  if (lost() != 0) {
    const std::string why =
        last_error_ != 0 ? errno_text("the last error", last_error_) : "the log is too slow";
    beck_apps::say(
        fmt::format("beck-serve: {} lines of the access log were lost; {}", lost(), why));
  }
}

void access_log::add(const log_entry& entry) noexcept {
  try {
    const std::lock_guard guard(mutex_);
    if (waiting_.size() >= waiting_max) {
      lose(1);
      return;
    }
    const bool was_empty = waiting_.empty();
    const std::size_t before = waiting_.size();
    try {
      append_line(waiting_, format_, entry);
    } catch (const std::exception&) {
      waiting_.resize(before);
      throw;
    }
    if (was_empty) changed_.notify_one();
  } catch (const std::exception&) {  // no memory
    lose(1);
  }
}

void access_log::reopen() {
  {
    const std::lock_guard guard(mutex_);
    reopen_ = true;
  }
  changed_.notify_one();
}

void access_log::open_again() noexcept {
  if (fd_ == STDOUT_FILENO) return;
  const int made = open_log(path_);
  if (made < 0) {
    last_error_ = errno;
    return;
  }
  ::close(fd_);
  fd_ = made;
  ends_inside_ = false;
}

void access_log::run() noexcept {
  std::string lines;
  std::unique_lock lock(mutex_);
  while (!ending_ || !waiting_.empty()) {
    changed_.wait(lock, [this] { return !waiting_.empty() || reopen_ || ending_; });
    const bool opens = std::exchange(reopen_, false);
    lines.clear();
    lines.swap(waiting_);
    lock.unlock();
    write(lines);  // what was added before the file was to be opened again goes to the old one
    if (opens) open_again();
    lock.lock();
  }
}

/// Waits until a write does not block. Returns false when the end has come. Files on disks always
/// have room.
bool access_log::wait_for_room() noexcept {
  while (steady_ms() < ends_at_.load(std::memory_order_relaxed)) {
    pollfd one = {fd_, POLLOUT, 0};
    if (::poll(&one, 1, look_ms) != 0) return true;  // an error shows in the write
  }
  return false;
}

/// Writes lines; after an error the rest of them is lost.
void access_log::write(const std::string& lines) noexcept {
  std::string_view left = lines;
  if (ends_inside_ && !left.empty() && ::write(fd_, "\n", 1) == 1) ends_inside_ = false;
  while (!left.empty()) {
    errno = 0;
    const ssize_t written =
        wait_for_room() ? ::write(fd_, left.data(), std::min(left.size(), pipe_bytes)) : -1;
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written <= 0) {
      last_error_ = errno;
      lose(static_cast<std::uint64_t>(std::count(left.begin(), left.end(), '\n')));
      return;
    }
    left.remove_prefix(static_cast<std::size_t>(written));
    ends_inside_ = lines[lines.size() - left.size() - 1] != '\n';
  }
}

}  // namespace beck_serve
