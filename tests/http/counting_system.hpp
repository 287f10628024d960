// SPDX-License-Identifier: BSL-1.0
// A real system that counts the calls which receive and send. Those that hold bytes back until more
// follows, or the end, are counted apart.
#pragma once

#include "io/system/posix_system.hpp"

namespace beck::http::test {

struct call_counts {
  int receives = 0, empty_receives = 0, sends = 0, last_sends = 0;
};

class counting_system final : public beck::detail::posix_system {
 public:
  explicit counting_system(call_counts& counts) : counts_(counts) {}

  std::ptrdiff_t receive(int fd, void* data, std::size_t bytes) noexcept override {
    const std::ptrdiff_t got = posix_system::receive(fd, data, bytes);
    ++counts_.receives;
    counts_.empty_receives += got < 0;
    return got;
  }
  std::ptrdiff_t send(int fd, const void* data, std::size_t bytes) noexcept override {
    ++counts_.sends;
    return posix_system::send(fd, data, bytes);
  }
  std::ptrdiff_t send_vector(int fd, const beck::detail::io_vector* parts,
                             std::size_t count) noexcept override {
    ++counts_.sends;
    return posix_system::send_vector(fd, parts, count);
  }

  std::ptrdiff_t send_more(int fd, const beck::detail::io_vector* parts,
                           std::size_t count) noexcept override {
    ++counts_.last_sends;
    return posix_system::send_more(fd, parts, count);
  }

 private:
  call_counts& counts_;
};

}  // namespace beck::http::test
