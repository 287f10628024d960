// SPDX-License-Identifier: BSL-1.0
//
// Room for the address of any socket, for code that does not know the protocol: accept and
// receive_from write to it.
#pragma once

#include <cstddef>

namespace beck::detail {

/// The bytes of a sockaddr of any family (sockaddr(3type)), in a struct of sockaddr_storage's size
/// and alignment. Every endpoint has the same four functions. A value; any thread.
class endpoint_data {
 public:
  /// Makes an empty address: size() is 0.
  constexpr endpoint_data() noexcept = default;
  /// Copies an address. Throws io_error(error::invalid_argument) if `size` is more than capacity().
  endpoint_data(const void* data, std::size_t size);
  /// Copies the address of any endpoint.
  template <class Endpoint>
    requires requires(const Endpoint& e) { e.protocol(); }
  endpoint_data(const Endpoint& e) : endpoint_data(e.data(), e.size()) {}

  /// Returns a pointer to the sockaddr; after writing to it, call resize() with the size written.
  void* data() noexcept { return bytes_; }
  const void* data() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return size_; }
  static constexpr std::size_t capacity() noexcept { return sizeof bytes_; }
  /// Sets the size of the address. Throws io_error(error::invalid_argument) if `size` is more than
  /// capacity().
  void resize(std::size_t size);

  /// Returns the address family (AF_INET and its like); 0, which is AF_UNSPEC, if there are no
  /// bytes.
  int family() const noexcept;

  /// Returns whether size and bytes are equal.
  friend bool operator==(const endpoint_data& a, const endpoint_data& b) noexcept {
    return a.size_ == b.size_ && __builtin_memcmp(a.bytes_, b.bytes_, a.size_) == 0;
  }

 private:
  alignas(8) unsigned char bytes_[128] = {};
  std::size_t size_ = 0;
};

}  // namespace beck::detail
