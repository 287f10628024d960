// SPDX-License-Identifier: BSL-1.0
// The buffers that a loop lends to receives, and the receives that wait for one. Leases come back
// on any thread and may outlive the loop, so the pool is an object of its own, which lives until
// the last lease has come back.
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

/// A buffer. Operations and leases hold its address.
struct lease_slot {
  lease_slot* next = nullptr;
  lease_pool* pool = nullptr;  // none: its bytes lie behind it, see make_lease()
  char* data = nullptr;
};

/// Thread: the runner; put_back() any.
class lease_pool {
 public:
  static constexpr std::size_t slab_first = 8;

  /// Makes a pool of at most `most` buffers of `bytes` bytes, which are allocated when they are
  /// needed.
  lease_pool(io_loop& loop, std::size_t most, std::size_t bytes) noexcept;
  lease_pool(const lease_pool&) = delete;
  lease_pool& operator=(const lease_pool&) = delete;

  /// Returns a buffer for a receive that has not waited; nullptr if all are lent, other receives
  /// wait, or there is no memory.
  lease_slot* take() noexcept;
  /// Returns a buffer to the receive that has waited longest, otherwise to the pool.
  void put_back(lease_slot& slot) noexcept;

  /// Adds `op`, which is parked, to the receives that wait for a buffer; its slot will be in
  /// `op.address`.
  void wait(io_op& op) noexcept { waiting_.push(&op); }
  /// Ends the wait of `op`.
  void leave(io_op& op) noexcept { waiting_.remove(&op); }

  /// Separates the pool from its loop, to which no thread posts any more when this returns.
  /// Idempotent. In a child of fork the pool is leaked if another thread was returning a buffer at
  /// the fork.
  void close() noexcept;
  /// Ends the loop's use of the pool; the last lease frees it. Requires that the loop runs no entry
  /// of the pool any more.
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

  /// The runner, which may touch the members above; null after close(). Written under the mutex;
  /// the release pairs with the acquire in put_back().
  std::atomic<const runner*> owner_;
  const unsigned forks_ = fork_count();
  std::mutex mutex_;  // guards the members below, for other threads
  lease_slot* returned_ = nullptr;
  bool starving_ = false;    // a receive lacks a buffer: the next return has to queue refill_
  bool refilling_ = false;   // refill_ is queued
  std::size_t holders_ = 0;  // after close(): the remaining leases, and the loop
};

}  // namespace beck::detail
