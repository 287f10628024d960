// SPDX-License-Identifier: BSL-1.0
// The buffers that a loop lends to receivers, and those who wait for one. Leases come back from any
// thread and may outlive the loop, so the pool is apart from it and goes with the last of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include <beck/detail/operation.hpp>
#include <beck/detail/runner.hpp>

#include "base/fork_count.hpp"

namespace beck::detail {

class io_loop;
class lease_pool;

/// A buffer. Its address is what an operation and a lease hold.
struct lease_slot {
  lease_slot* next = nullptr;
  lease_pool* pool = nullptr;
  char* data = nullptr;
};

/// Thread: the runner, but for give_back().
class lease_pool {
 public:
  static constexpr std::size_t slab_first = 8;

  /// At most `most` buffers of `bytes` bytes each, made as they are needed.
  lease_pool(io_loop& loop, std::size_t most, std::size_t bytes) noexcept;
  lease_pool(const lease_pool&) = delete;
  lease_pool& operator=(const lease_pool&) = delete;

  /// A buffer for somebody who has not waited; nullptr: all are lent out, or somebody waits, or
  /// there is no memory.
  lease_slot* take() noexcept;
  /// A buffer for a receiver comes back: to whoever waits longest, else into the pool.
  void give_back(lease_slot& slot) noexcept;

  /// `op` is parked until there is a buffer, which it then finds in `address`.
  void wait(io_op& op) noexcept { waiting_.push(&op); }
  /// It does not wait any more.
  void leave(io_op& op) noexcept { waiting_.remove(&op); }

  /// The loop goes: nobody posts to it any more when this returns. Idempotent. In a child of fork
  /// the pool stays for ever if another thread was giving a buffer back at the fork.
  void close() noexcept;
  /// The loop is gone, and runs no entry of the pool. It goes with the last lease.
  struct releaser {
    void operator()(lease_pool* pool) const noexcept {
      pool->close();
      pool->release();
    }
  };

  std::size_t bytes() const noexcept { return bytes_; }
  std::size_t buffers() const noexcept { return made_; }

 private:
  struct refill_entry : queue_entry {
    lease_pool* pool;
  };
  ~lease_pool() = default;

  void release() noexcept;
  bool grow() noexcept;
  void take_returned() noexcept;
  void serve(lease_slot& slot) noexcept;
  void keep(lease_slot& slot) noexcept;
  static void refill(queue_entry* entry, runner* where);

  io_loop* loop_;
  const std::size_t most_;
  const std::size_t bytes_;
  std::size_t made_ = 0;
  std::size_t kept_ = 0;  // in free_
  lease_slot* free_ = nullptr;
  entry_queue waiting_;
  refill_entry refill_;
  std::vector<std::unique_ptr<char[]>> memory_;
  std::vector<std::unique_ptr<lease_slot[]>> slots_;

  /// Whoever is it may touch the above; null: there is no loop any more. Written under the mutex;
  /// the release pairs with the acquire in give_back().
  std::atomic<const runner*> owner_;
  const unsigned forks_ = fork_count();
  std::mutex mutex_;  // of what other threads give back
  lease_slot* returned_ = nullptr;
  bool starving_ = false;    // whoever returns one has to tell
  bool refilling_ = false;   // and somebody has
  std::size_t holders_ = 0;  // once closed: leases that are left, and the loop
};

}  // namespace beck::detail
