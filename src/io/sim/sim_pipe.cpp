// SPDX-License-Identifier: BSL-1.0
// Copies bytes into and out of the ring, in at most two pieces each.
#include "io/sim/sim_pipe.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace beck::detail {
namespace {
constexpr std::size_t ring_bytes_min = 256;
}

void sim_pipe::reserve(std::size_t bytes) {
  if (bytes <= ring_.size()) return;
  std::vector<char> larger(std::max(std::bit_ceil(bytes), ring_bytes_min));
  for (std::uint64_t from = read_; from != sent_;) {
    const auto run = std::min(static_cast<std::size_t>(sent_ - from), ring_.size() - at(from));
    for (std::size_t i = 0; i < run; ++i) {
      larger[static_cast<std::size_t>(from + i) & (larger.size() - 1)] = ring_[at(from) + i];
    }
    from += run;
  }
  ring_.swap(larger);
}

void sim_pipe::send(const char* data, std::size_t bytes) {
  if (bytes == 0) return;
  reserve(static_cast<std::size_t>(sent_ - read_) + bytes);
  const std::size_t first = std::min(bytes, ring_.size() - at(sent_));
  std::memcpy(&ring_[at(sent_)], data, first);
  if (first < bytes) std::memcpy(ring_.data(), data + first, bytes - first);
  sent_ += bytes;
}

void sim_pipe::receive(char* data, std::size_t bytes) noexcept {
  if (bytes == 0) return;
  const std::size_t first = std::min(bytes, ring_.size() - at(read_));
  std::memcpy(data, &ring_[at(read_)], first);
  if (first < bytes) std::memcpy(data + first, ring_.data(), bytes - first);
  read_ += bytes;
}

}  // namespace beck::detail
