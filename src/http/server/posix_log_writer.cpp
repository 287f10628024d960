// SPDX-License-Identifier: BSL-1.0
// The writer's thread gathers lines for a moment, so that a busy server wakes it rarely. It blocks
// all signals: SIGPIPE then stays pending, and a write to a pipe without a reader fails.
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>
#include <system_error>
#include <utility>

#include "base/descriptor_number.hpp"
#include "base/fork_count.hpp"
#include "base/signals_blocked.hpp"
#include "http/server/log_writer.hpp"

namespace beck::http::detail {
namespace {

constexpr mode_t log_mode = 0640;
// A named pipe without a reader is then an error, not a wait.
constexpr int log_flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

constexpr std::size_t pipe_bytes = PIPE_BUF;  // that never block a pipe which has room
constexpr std::size_t block_bytes = 65'536;   // so many are written at once, without a wait
constexpr int look_ms = 100;                  // between two looks at the end
constexpr std::chrono::milliseconds gather_time(10);

std::int64_t steady_ns() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

/// Returns a descriptor, or -errno.
int open_log(const std::string& path) noexcept {
  if (path == "-") return STDOUT_FILENO;
  const int made = ::open(path.c_str(), log_flags, log_mode);
  return made < 0 ? -errno : beck::detail::behind_standard(made);
}

bool is_file(int fd) noexcept {
  struct stat facts;
  return ::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
}

}  // namespace

log_writer::log_writer(std::string_view path, std::size_t waiting_max, duration end_max)
    : path_(path),
      waiting_max_(waiting_max),
      end_max_(end_max),
      forks_(beck::detail::fork_count()),
      fd_(open_log(path_)) {
  if (fd_ < 0) throw io_error(error_code(-fd_, std::system_category()), "http::access_log", path);
  try {
    const beck::detail::signals_blocked for_the_writer;
    writer_ = std::thread([this] { run(); });
  } catch (...) {
    if (!is_stdout()) ::close(fd_);
    throw;
  }
}

bool log_writer::is_inherited() const noexcept {
  return forks_ != beck::detail::known_fork_count();
}

void log_writer::close_inherited() noexcept {
  const int fd = std::exchange(fd_, -1);
  if (fd >= 0 && !is_stdout()) ::close(fd);
}

void log_writer::close() noexcept {
  if (is_inherited()) return close_inherited();
  std::call_once(joined_, [this] {
    const std::int64_t now = steady_ns();
    const std::int64_t wait = std::clamp<std::int64_t>(end_max_.nanoseconds(), 0, INT64_MAX - now);
    ends_at_.store(now + wait, std::memory_order_relaxed);
    {
      const std::lock_guard guard(mutex_);
      is_closing_ = true;
    }
    changed_.notify_one();
    writer_.join();
    if (!is_stdout()) ::close(fd_);
  });
}

error_code log_writer::last_error() const noexcept {
  return error_code(last_error_.load(std::memory_order_relaxed), std::system_category());
}

void log_writer::add(std::string_view line) noexcept {
  if (is_inherited()) return lose(1);
  bool is_awaited = false;
  try {
    const std::lock_guard guard(mutex_);
    if (is_closing_ || line.size() > waiting_max_ - waiting_.size()) return lose(1);
    const std::size_t before = waiting_.size();
    waiting_.append(line);
    is_awaited = before == 0 || (before < block_bytes && waiting_.size() >= block_bytes);
  } catch (const std::bad_alloc&) {
    return lose(1);
  }
  if (is_awaited) changed_.notify_one();
}

void log_writer::reopen() noexcept {
  if (is_inherited()) return;
  {
    const std::lock_guard guard(mutex_);
    reopens_ = true;
  }
  changed_.notify_one();
}

void log_writer::open_again() noexcept {
  if (is_stdout()) return;
  const int made = open_log(path_);
  if (made < 0) return note_error(-made);
  ::close(std::exchange(fd_, made));
  ends_inside_ = false;
}

void log_writer::run() noexcept {
  std::string lines;
  std::unique_lock lock(mutex_);
  const auto hurries = [this] { return reopens_ || is_closing_; };
  while (!is_closing_ || !waiting_.empty()) {
    changed_.wait(lock, [&] { return !waiting_.empty() || hurries(); });
    changed_.wait_for(lock, gather_time,
                      [&] { return waiting_.size() >= block_bytes || hurries(); });
    const bool opens = std::exchange(reopens_, false);
    lines.clear();
    lines.swap(waiting_);
    lock.unlock();
    write(lines);  // what was added before the file was to be opened again goes to the old one
    if (opens) open_again();
    lock.lock();
  }
}

bool log_writer::is_over() const noexcept {
  return steady_ns() >= ends_at_.load(std::memory_order_relaxed);
}

/// Waits until a write does not block. Returns false if there is no room when the time is over.
bool log_writer::wait_for_room() const noexcept {
  for (;;) {
    const bool is_last = is_over();
    pollfd one = {fd_, POLLOUT, 0};
    if (::poll(&one, 1, is_last ? 0 : look_ms) != 0) return true;  // an error shows in the write
    if (is_last) return false;
  }
}

/// Writes lines; after an error the rest of them is lost.
void log_writer::write(std::string_view lines) noexcept {
  std::string_view left = lines;
  if (ends_inside_ && !left.empty() && ::write(fd_, "\n", 1) == 1) ends_inside_ = false;
  const std::size_t bytes_max = is_file(fd_) ? left.size() : pipe_bytes;
  while (!left.empty()) {
    errno = ETIMEDOUT;
    const ssize_t written =
        wait_for_room() ? ::write(fd_, left.data(), std::min(left.size(), bytes_max)) : -1;
    if (written < 0 && (errno == EINTR || (errno == EAGAIN && !is_over()))) continue;
    if (written <= 0) {
      note_error(errno);
      return lose(static_cast<std::uint64_t>(std::count(left.begin(), left.end(), '\n')));
    }
    left.remove_prefix(static_cast<std::size_t>(written));
    ends_inside_ = lines[lines.size() - left.size() - 1] != '\n';
  }
}

}  // namespace beck::http::detail
