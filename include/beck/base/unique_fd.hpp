// SPDX-License-Identifier: BSL-1.0
//
// Owner of one file descriptor.
#pragma once

namespace beck {

/// Closes its descriptor exactly once. Move-only. One thread at a time.
class unique_fd {
 public:
  constexpr unique_fd() noexcept = default;
  /// Takes ownership; a negative number means none.
  constexpr explicit unique_fd(int fd) noexcept : fd_(fd < 0 ? -1 : fd) {}
  constexpr unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~unique_fd() {
    if (fd_ >= 0) close();
  }

  /// The descriptor, or -1.
  constexpr int get() const noexcept { return fd_; }
  constexpr explicit operator bool() const noexcept { return fd_ >= 0; }

  /// Gives the descriptor away.
  [[nodiscard]] constexpr int release() noexcept {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

  /// Closes what is owned and takes ownership of `fd`, which must be another one.
  void reset(int fd = -1) noexcept;

  /// Closes; 0 or -errno, which only tells that data written before may be lost (close(2)). The
  /// descriptor is gone in either case: Linux frees the number before anything can fail, so close
  /// is never retried, also not on EINTR, which counts as success. A number that was not open is a
  /// bug of the program. Leaves errno as it was.
  int close() noexcept;

 private:
  int fd_ = -1;
};

}  // namespace beck
