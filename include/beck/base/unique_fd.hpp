// SPDX-License-Identifier: BSL-1.0
//
// Owner of one file descriptor.
#pragma once

namespace beck {

/// Owns a file descriptor and closes it exactly once. Move-only. Thread: one at a time.
class unique_fd {
 public:
  /// Makes an owner without a descriptor.
  constexpr unique_fd() noexcept = default;
  /// Takes ownership of `fd`; a negative number means none.
  constexpr explicit unique_fd(int fd) noexcept : fd_(fd < 0 ? -1 : fd) {}
  /// Takes over the descriptor of `other`.
  constexpr unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
  /// Closes its descriptor and takes over that of `other`.
  unique_fd& operator=(unique_fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  /// Closes its descriptor.
  ~unique_fd() {
    if (fd_ >= 0) close();
  }

  /// Returns the descriptor, or -1.
  constexpr int get() const noexcept { return fd_; }
  /// Returns whether it owns a descriptor.
  constexpr explicit operator bool() const noexcept { return fd_ >= 0; }

  /// Returns the descriptor, which the caller owns from then on; or -1.
  [[nodiscard]] constexpr int release() noexcept {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

  /// Closes the present descriptor and takes ownership of `fd`, which must be another one
  /// (asserted).
  void reset(int fd = -1) noexcept;

  /// Closes the descriptor. Returns 0 or -errno; 0 if there is none. An error only means that data
  /// written before may be lost (close(2)). The descriptor is freed in either case: Linux frees the
  /// number before anything can fail, so close is never retried, also not after EINTR, which counts
  /// as success. Asserts that the number was open. Does not change errno.
  int close() noexcept;

 private:
  int fd_ = -1;
};

}  // namespace beck
