// SPDX-License-Identifier: BSL-1.0
// The request of io_control() for the number of bytes that can be read.
#pragma once

#include <cstddef>

namespace beck::detail {

/// The request FIONREAD of ioctl(2).
class bytes_readable_command {
 public:
  constexpr bytes_readable_command() noexcept = default;
  /// Starts with a value that the request replaces.
  constexpr explicit bytes_readable_command(std::size_t value) noexcept
      : value_(static_cast<int>(value)) {}
  /// Returns the number of bytes.
  constexpr std::size_t get() const noexcept { return static_cast<std::size_t>(value_); }
  /// Returns the request's number, for ioctl(2).
  static constexpr int name() noexcept { return 0x541b; }
  /// Returns the place of the value.
  void* data() noexcept { return &value_; }

 private:
  int value_ = 0;
};

}  // namespace beck::detail
