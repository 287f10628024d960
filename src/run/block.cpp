// SPDX-License-Identifier: BSL-1.0
// The block cache: one for each thread, found through a constinit thread-local pointer. A header
// before each block names the owning cache and the size class. Under AddressSanitizer every block
// comes from the general allocator, so that the sanitizer sees each allocation and each free.
#include <beck/detail/block.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <utility>

#include <beck/base/assert.hpp>

#include "base/fork_count.hpp"
#include "base/sanitizers.hpp"
#include "base/thread_store.hpp"
#include "run/block_watch.hpp"

namespace beck::detail {

namespace {

constexpr bool recycling = !address_sanitizer;

constexpr std::size_t class_bytes = 64;
constexpr std::size_t classes = 65;  // 0 is unused; 64 is 4 KiB
constexpr unsigned returned_batch = 64;

struct free_node {
  free_node* next;
};

class block_cache;

struct alignas(16) block_header {
  block_cache* owner;  // null: allocated and freed by the general allocator
  std::uint32_t size_class;
  std::uint32_t watched_classes;  // the size class that a watch has counted; 0: not counted
};

block_header* header_of(void* block) noexcept { return static_cast<block_header*>(block) - 1; }

void* allocate_general(std::size_t bytes, block_cache* owner, std::uint32_t size_class) {
  auto* header = static_cast<block_header*>(::operator new(sizeof(block_header) + bytes));
  header->owner = owner;
  header->size_class = size_class;
  header->watched_classes = 0;
  return header + 1;
}

/// Allocates a block that no cache recycles, and counts it if the thread has a watch.
void* allocate_single(std::size_t bytes, std::uint32_t size_class, block_watch* watch) {
  if (watch == nullptr) return allocate_general(bytes, nullptr, 0);
  if (++watch->allocations == watch->fail_at) {
    ++watch->refused;
    throw std::bad_alloc();
  }
  void* const block = allocate_general(bytes, nullptr, 0);
  header_of(block)->watched_classes = size_class;
  watch->bytes_in_use += size_class * class_bytes;
  if (watch->bytes_in_use > watch->bytes_max) watch->bytes_max = watch->bytes_in_use;
  return block;
}

void free_single(block_header* header, block_watch* watch) noexcept {
  if (watch != nullptr) {
    // The block may have been counted by an earlier watch.
    const std::size_t bytes = header->watched_classes * class_bytes;
    watch->bytes_in_use -= bytes < watch->bytes_in_use ? bytes : watch->bytes_in_use;
  }
  ::operator delete(header);
}

/// The free lists of one thread. When the thread ends, its cache is kept for the next new thread,
/// because blocks in use elsewhere still name it as their owner.
class block_cache {
 public:
  explicit block_cache(block_watch* watch = nullptr) noexcept : watch_(watch) {}

  /// Returns a free block of the class; nullptr if there is none.
  void* take_free(std::size_t size_class) noexcept {
    free_node* const node = free_[size_class];
    if (node != nullptr) [[likely]]
      free_[size_class] = node->next;
    return node;
  }

  /// Refills the free lists from the returned blocks and takes one of the class; allocates it if
  /// the class is still empty.
  void* take_returned(std::uint32_t size_class) {
    if (watch_ != nullptr) return allocate_single(size_class * class_bytes, size_class, watch_);
    free_node* node = returned_.exchange(nullptr, std::memory_order_acquire);
    while (node != nullptr) {
      free_node* next = node->next;
      give(node, header_of(node)->size_class);
      node = next;
    }
    if (void* const block = take_free(size_class); block != nullptr) return block;
    ++misses_;
    return allocate_general(size_class * class_bytes, this, size_class);
  }

  void give(void* block, std::uint32_t size_class) noexcept {
    free_[size_class] = ::new (block) free_node{free_[size_class]};
  }

  /// Collects blocks of `owner`, and returns them as a batch of `returned_batch` (or when a block
  /// of another owner comes), so that the atomic exchange is paid once for each batch.
  void put_back(void* block, block_cache* owner) noexcept {
    if (outgoing_owner_ != owner) {
      flush();
      outgoing_owner_ = owner;
    }
    outgoing_head_ = ::new (block) free_node{outgoing_head_};
    if (outgoing_count_++ == 0) outgoing_tail_ = outgoing_head_;
    if (outgoing_count_ == returned_batch) flush();
  }

  /// Returns the collected blocks to their owner.
  void flush() noexcept {
    if (outgoing_count_ == 0) return;
    outgoing_owner_->take_back(outgoing_head_, outgoing_tail_);
    outgoing_head_ = nullptr;
    outgoing_count_ = 0;
  }

  /// Takes back a chain of blocks that another thread has freed. Thread: any; the release pairs
  /// with the exchange in take_returned().
  void take_back(free_node* head, free_node* tail) noexcept {
    free_node* expected = returned_.load(std::memory_order_relaxed);
    do {
      tail->next = expected;
    } while (!returned_.compare_exchange_weak(expected, head, std::memory_order_release,
                                              std::memory_order_relaxed));
  }

  std::uint64_t misses() const noexcept { return misses_; }
  /// Returns the watch that counts the blocks of this cache's thread; nullptr if there is none.
  block_watch* watch() const noexcept { return watch_; }

  block_cache* idle_next = nullptr;

 private:
  free_node* free_[classes] = {};  // [0] stays empty
  free_node* outgoing_head_ = nullptr;
  free_node* outgoing_tail_ = nullptr;
  block_cache* outgoing_owner_ = nullptr;
  unsigned outgoing_count_ = 0;
  std::uint64_t misses_ = 0;
  block_watch* const watch_;
  alignas(64) std::atomic<free_node*> returned_{nullptr};
};

constinit std::mutex idle_mutex;
constinit block_cache* idle_caches = nullptr;

constinit thread_local block_cache* this_cache [[gnu::tls_model("initial-exec")]] = nullptr;

/// The cache of a watched thread: it is empty and owns no block, so every block is allocated and
/// freed one by one.
struct watching_cache : block_cache {
  watching_cache(block_cache& before, block_watch& counts) noexcept
      : block_cache(&counts), usual(before) {}
  block_cache& usual;  // the thread's normal cache, which it gets back afterwards
};

block_watch* this_watch() noexcept { return this_cache != nullptr ? this_cache->watch() : nullptr; }

/// The use of a cache by the calling thread, until the thread ends.
class cache_use {
 public:
  cache_use() {
    keep_over_forks<idle_mutex>();
    {
      const std::lock_guard lock(idle_mutex);
      if (idle_caches != nullptr) {
        this_cache = idle_caches;
        idle_caches = idle_caches->idle_next;
      }
    }
    if (this_cache == nullptr) this_cache = new block_cache;
  }
  ~cache_use() {
    block_cache* const cache = std::exchange(this_cache, nullptr);
    cache->flush();
    const std::lock_guard lock(idle_mutex);
    cache->idle_next = idle_caches;
    idle_caches = cache;
  }
  cache_use(const cache_use&) = delete;
  cache_use& operator=(const cache_use&) = delete;
};

/// Makes a cache for the calling thread.
[[gnu::noinline]] block_cache* make_cache() {
  static_cast<void>(of_this_thread<cache_use>::get());
  return this_cache;
}

/// Allocates a block, for a thread that has no free one of its size.
[[gnu::noinline]] void* allocate_slow(std::size_t bytes) {
  if (bytes > PTRDIFF_MAX) throw std::bad_alloc();
  const std::size_t blocks = bytes / class_bytes + (bytes % class_bytes != 0);
  const auto size_class = static_cast<std::uint32_t>(std::max<std::size_t>(blocks, 1));
  if (!recycling || size_class >= classes) return allocate_single(bytes, size_class, this_watch());
  block_cache* const cache = this_cache != nullptr ? this_cache : make_cache();
  return cache->take_returned(size_class);
}

}  // namespace

void* allocate_block(std::size_t bytes) {
  // A number of bytes that overflows here, and 0, has class 0, which has no free blocks.
  const std::size_t size_class = (bytes + class_bytes - 1) / class_bytes;
  if (block_cache* const cache = this_cache; cache != nullptr && size_class < classes) [[likely]] {
    if (void* const block = cache->take_free(size_class); block != nullptr) [[likely]]
      return block;
  }
  return allocate_slow(bytes);
}

void free_block(void* block) noexcept {
  block_header* header = header_of(block);
  if (header->owner == nullptr) {
    free_single(header, this_watch());
  } else if (header->owner == this_cache) [[likely]] {
    this_cache->give(block, header->size_class);
  } else if (this_cache != nullptr) {
    this_cache->put_back(block, header->owner);
  } else {  // this thread has no cache, and freeing a block must not allocate one
    free_node* node = ::new (block) free_node{nullptr};
    header->owner->take_back(node, node);
  }
}

bool recycles_blocks() noexcept { return recycling && this_watch() == nullptr; }

void watch_blocks(block_watch* watch) {
  BECK_ASSERT((watch == nullptr) != (this_watch() == nullptr),
              "watched_memory: one in a thread at a time, destroyed where it was made");
  if (watch != nullptr) {
    block_cache& usual = this_cache != nullptr ? *this_cache : *make_cache();
    this_cache = new watching_cache(usual, *watch);
  } else {
    auto* const ends = static_cast<watching_cache*>(this_cache);
    ends->flush();
    this_cache = &ends->usual;
    delete ends;
  }
}

std::uint64_t block_misses() noexcept { return this_cache != nullptr ? this_cache->misses() : 0; }

}  // namespace beck::detail
