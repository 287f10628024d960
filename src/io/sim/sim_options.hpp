// SPDX-License-Identifier: BSL-1.0
// The options of one simulated socket. Options that the network obeys are checked as in the kernel;
// all others are kept as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace beck::detail {

/// The options of one socket. Thread: one.
class sim_options {
 public:
  sim_options(std::uint32_t send_buffer, std::uint32_t receive_buffer) noexcept
      : send_buffer_(send_buffer), receive_buffer_(receive_buffer) {}

  /// Set and get an option as setsockopt(2) and getsockopt(2) do; return 0 or -errno. SO_ERROR and
  /// the options that describe the socket itself (SO_TYPE, SO_DOMAIN, ...) belong to sim_network.
  int set(int family, int level, int name, const void* value, std::size_t bytes);
  int get(int family, int level, int name, void* value, std::size_t& bytes) const noexcept;

  /// Sets the sizes of the buffers, which may be smaller than a program can set.
  void resize_buffers(std::uint32_t send_buffer, std::uint32_t receive_buffer) noexcept {
    send_buffer_ = send_buffer;
    receive_buffer_ = receive_buffer;
  }

  bool reuse_address() const noexcept;
  bool reuse_port() const noexcept;
  bool v6_only() const noexcept;
  /// Returns whether SO_LINGER is on with a time of 0: then close() sends a reset.
  bool resets_on_close() const noexcept;
  std::uint32_t send_buffer() const noexcept { return send_buffer_; }
  std::uint32_t receive_buffer() const noexcept { return receive_buffer_; }

 private:
  static constexpr std::size_t value_bytes_max = 32;
  struct stored {
    int level;
    int name;
    std::size_t bytes;
    unsigned char value[value_bytes_max];
  };

  const stored* find(int level, int name) const noexcept;
  int integer(int level, int name) const noexcept;
  void store(int level, int name, const void* value, std::size_t bytes);

  std::uint32_t send_buffer_;  // bytes of payload; the option shows the double (socket(7))
  std::uint32_t receive_buffer_;
  std::vector<stored> values_;
};

}  // namespace beck::detail
