// SPDX-License-Identifier: BSL-1.0
// A cache at work: calls that find a reply, reads that several calls wait for, and the messages of
// the server, which come in the order of the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include <beck/base/assert.hpp>
#include <beck/detail/intrusive_list.hpp>
#include <beck/redis/cache.hpp>
#include <beck/redis/exchange.hpp>

#include "redis/cache/cache_index.hpp"

namespace beck::redis::detail {

using cached_calls = beck::detail::intrusive_list<cached_call, &cached_call::in_read>;

/// Keeps the reply to a read while it comes. Thread: that of the client's context.
class reply_recorder final : public token_watch {
 public:
  /// `result`: of the read; must outlive the object.
  explicit reply_recorder(const reply<void>& result) noexcept : result_(result) {}

  void see(std::uint32_t i, const token& next) override;
  /// Returns whether there was no memory for a token of the reply.
  bool is_torn() const noexcept { return is_torn_; }
  /// Returns the reply. Requires that the read has ended without an error.
  kept_reply& kept() noexcept {
    BECK_ASSERT(!is_torn_ && !result_.error(), "a reply was kept that has not come whole");
    return kept_;
  }

 private:
  const reply<void>& result_;
  kept_reply kept_;
  bool is_torn_ = false;
};

/// A read under way, with CLIENT CACHING YES directly before it.
class cache_read final : public exchange {
 public:
  cache_read(cache_core& owner, std::string_view wire);

  std::string_view wire() const noexcept { return wire_; }
  /// Returns whether the server tracks the keys of the read. Requires that it is answered.
  bool is_tracked() const noexcept {
    BECK_ASSERT(answered() != 0, "a read of a cache is not answered yet");
    return !tracked_.error();
  }
  /// Returns how it has ended.
  const reply<void>& result() const noexcept { return result_; }
  /// Returns the reply. Requires that the read has ended without an error.
  kept_reply& kept() noexcept { return recorder_.kept(); }

  reply_place place_of(std::uint32_t i) noexcept override {
    return i == 0 ? detail::place_of(tracked_) : detail::place_of(result_);
  }
  void done(const error_code& ec) noexcept override;
  void drop() noexcept override;

  cached_calls calls;  ///< that wait for it

 private:
  cache_core& owner_;
  const std::string wire_;
  command_bytes parts_[2];
  reply<void> tracked_;
  reply<void> result_;
  reply_recorder recorder_{result_};
};

/// The parts of a cache. Thread: that of the client's context.
class cache_core {
 public:
  cache_core(link_ref of, std::size_t bytes_max, std::size_t entry_bytes_max);
  ~cache_core();
  cache_core(const cache_core&) = delete;
  cache_core& operator=(const cache_core&) = delete;

  link& owner() const noexcept { return *link_; }
  cache_stats stats() const noexcept;

  // calls

  /// Reads a reply that is held, and not too old, into `to`. Returns false if there is none.
  bool find(std::string_view wire, duration age_max, reply_place to) noexcept;
  /// Lets a call wait for a read, or completes it with the reason why not.
  void start(cached_call& call, const arguments& command, error_code refused) noexcept;
  /// Ends the wait of a call with operation_aborted.
  void stop(cached_call& call) noexcept;
  /// Ends the wait of a call that is destroyed.
  void forget(cached_call& call) noexcept;

  // the stream

  /// Takes the reply to a read, or its error; the read is destroyed.
  void end(cache_read& one) noexcept;
  /// Drops the calls of a read, and the read.
  void drop(cache_read& one) noexcept;
  /// Takes the keys of an "invalidate".
  void invalidate(const value_item& keys) noexcept { index_.invalidate(keys); }
  /// Takes the end of the connection.
  void lose_all() noexcept { index_.lose_all(); }

  beck::detail::list_hook in_link;

 private:
  error_code wait(cached_call& call, std::string_view wire) noexcept;
  cache_read& find_read(std::string_view wire);
  std::unique_ptr<cache_read> take(cache_read& one) noexcept;
  static void fail(cached_call& call, const error_code& why, std::string_view text, outcome what);
  void read(const kept_reply& from, reply_place to) noexcept;

  link_ref link_;
  const seeded_hash hash_;
  cache_index index_;
  std::unordered_map<std::string_view, std::unique_ptr<cache_read>, seeded_hash> reads_;
  std::size_t waiting_ = 0;  // calls
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
  std::uint64_t shared_ = 0;
  std::uint64_t uncached_ = 0;
  reply_reader reader_;
};

}  // namespace beck::redis::detail
