// SPDX-License-Identifier: BSL-1.0
//
// The blocks of the engines that have buffers: depth times block bytes in all.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>

#include "failure.hpp"

namespace beck_copy {

/// Memory that is aligned to pages, which is enough for direct I/O on every disk. Throws failure.
class block_memory {
 public:
  block_memory(std::size_t block, std::size_t count) : block_(block), bytes_(block * count) {
    address_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address_ == MAP_FAILED) throw failure(errno_text("memory for the blocks", errno));
  }
  ~block_memory() { ::munmap(address_, bytes_); }
  block_memory(const block_memory&) = delete;
  block_memory& operator=(const block_memory&) = delete;

  std::byte* at(std::size_t index) const {
    return static_cast<std::byte*>(address_) + index * block_;
  }

 private:
  std::size_t block_;
  std::size_t bytes_;
  void* address_;
};

}  // namespace beck_copy
