// SPDX-License-Identifier: BSL-1.0
// The descriptors of a loop. Any thread allocates and frees slots. A freed slot is reused under a
// new generation number, so that an event for its former owner is recognised and ignored. The table
// grows by chunks that never move, because events and other threads name slots by number.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/fork_count.hpp"
#include "io/op/descriptor.hpp"

namespace beck::detail {

/// The sizes of chunks: eight of 64 slots, then eight that are twice as large, and so on. Behind
/// the first eight at most an eighth of all slots is unused.
struct descriptor_chunks {
  static constexpr std::uint32_t first = 64;
  static constexpr std::uint32_t of_size = 8;
  static constexpr std::size_t most = std::size_t{20} * of_size;

  /// Returns the chunk that holds slot `index`.
  static constexpr std::uint32_t holding(std::uint32_t index) noexcept {
    const std::uint32_t unit = index / first;
    const auto step = static_cast<std::uint32_t>(std::bit_width(unit / of_size + 1)) - 1;
    return step * of_size + ((unit - of_size * ((1u << step) - 1)) >> step);
  }
  /// Returns the number of the first slot of `chunk`.
  static constexpr std::uint32_t begin(std::uint32_t chunk) noexcept {
    const std::uint32_t step = chunk / of_size;
    return first * (of_size * ((1u << step) - 1) + (chunk % of_size << step));
  }
  /// Returns the number of slots of `chunk`.
  static constexpr std::uint32_t size(std::uint32_t chunk) noexcept {
    return first << chunk / of_size;
  }
};

static_assert([] {
  for (std::uint32_t chunk = 0; chunk < 32; ++chunk) {
    const std::uint32_t begin = descriptor_chunks::begin(chunk);
    const std::uint32_t end = begin + descriptor_chunks::size(chunk);
    if (descriptor_chunks::begin(chunk + 1) != end) return false;
    if (descriptor_chunks::holding(begin) != chunk) return false;
    if (descriptor_chunks::holding(end - 1) != chunk) return false;
  }
  return true;
}());

class descriptor_table {
 public:
  explicit descriptor_table(io_loop& owner) noexcept : owner_(owner) {}
  ~descriptor_table();
  descriptor_table(const descriptor_table&) = delete;
  descriptor_table& operator=(const descriptor_table&) = delete;

  /// Allocates a slot for an object with this executor. Throws io_error (no_descriptors) when the
  /// table is full, and std::bad_alloc. Thread: any.
  descriptor* allocate(const any_io_executor& executor);
  /// Frees a slot, and begins its next generation. Thread: any.
  void free(descriptor& d) noexcept;
  /// Returns the slot of this number. Requires that it was allocated before. Thread: any.
  descriptor& at(std::uint32_t index) noexcept {
    const std::uint32_t chunk = descriptor_chunks::holding(index);
    return chunks_[chunk].load(std::memory_order_acquire)[index - descriptor_chunks::begin(chunk)];
  }
  /// Calls `action(descriptor&)` for every slot, free ones included. Thread: the runner, or any if
  /// the loop has none.
  template <class Action>
  void each(Action&& action) noexcept {
    for (std::uint32_t chunk = 0; chunk < descriptor_chunks::most && chunks_[chunk] != nullptr;
         ++chunk) {
      for (std::uint32_t i = 0; i < descriptor_chunks::size(chunk); ++i) action(chunks_[chunk][i]);
    }
  }
  /// Returns the number of slots that objects hold. Requires that no other thread allocates one.
  std::int64_t in_use() noexcept;
  /// Leaks all slots, because the kernel may still name them.
  void leak() noexcept;

 private:
  void grow();

  io_loop& owner_;
  const unsigned forks_ = fork_count();
  std::mutex mutex_;  // guards the changes of the members below
  /// Stored with release order when they are filled, and read without the mutex.
  std::array<std::atomic<descriptor*>, descriptor_chunks::most> chunks_{};
  descriptor* free_ = nullptr;
};

}  // namespace beck::detail
