// SPDX-License-Identifier: BSL-1.0
//
// Room for the address of any socket, for the places that do not know the protocol: what accept and
// receive_from fill.
#pragma once

#include <cstddef>

namespace beck::detail {

/// The bytes of a sockaddr of any family (sockaddr(3type)), in a struct of sockaddr_storage's size
/// and alignment. Every endpoint has the same four functions. A value; any thread.
class endpoint_data {
 public:
  /// Empty: size() is 0.
  constexpr endpoint_data() noexcept = default;
  /// Copies. Throws io_error(error::invalid_argument) if size is more than capacity().
  endpoint_data(const void* data, std::size_t size);
  /// From any endpoint.
  template <class Endpoint>
    requires requires(const Endpoint& e) { e.protocol(); }
  endpoint_data(const Endpoint& e) : endpoint_data(e.data(), e.size()) {}

  /// A sockaddr; write to it, then resize() to what was written.
  void* data() noexcept { return bytes_; }
  const void* data() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return size_; }
  static constexpr std::size_t capacity() noexcept { return sizeof bytes_; }
  /// Throws io_error(error::invalid_argument) if size is more than capacity().
  void resize(std::size_t size);

  /// The address family (AF_INET and its like); 0, which is AF_UNSPEC, if there are no bytes.
  int family() const noexcept;

  /// Equal if size and bytes are.
  friend bool operator==(const endpoint_data& a, const endpoint_data& b) noexcept {
    return a.size_ == b.size_ && __builtin_memcmp(a.bytes_, b.bytes_, a.size_) == 0;
  }

 private:
  alignas(8) unsigned char bytes_[128] = {};
  std::size_t size_ = 0;
};

}  // namespace beck::detail
