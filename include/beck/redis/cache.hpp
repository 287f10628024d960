// SPDX-License-Identifier: BSL-1.0
//
// A cache of replies beside a client. The server says which of them are out of date: it tracks the
// keys that were read for the cache, and sends a push when one of them changes.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/detail/intrusive_list.hpp>
#include <beck/redis/exec.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace beck::redis {

class cache;
class client;

/// Counters of a cache since it was made. The first two are those of now.
struct cache_stats {
  std::size_t entries = 0;        ///< replies that are held
  std::size_t bytes = 0;          ///< of them; see cache::cache()
  std::uint64_t hits = 0;         ///< calls that were answered at once
  std::uint64_t misses = 0;       ///< calls that had to wait for the server
  std::uint64_t shared = 0;       ///< of these: calls that have shared the read of another one
  std::uint64_t uncached = 0;     ///< replies that are no error and were not kept
  std::uint64_t evicted = 0;      ///< replies that were dropped for want of room
  std::uint64_t invalidated = 0;  ///< replies that the server has declared out of date
  std::uint64_t lost = 0;         ///< replies that were dropped because their connection was lost
};

namespace detail {

class cache_core;
class cache_read;

/// A call of a cache, without the type of its reply. Thread: that of the client's context.
class cached_call {
 public:
  cached_call(const cached_call&) = delete;
  cached_call& operator=(const cached_call&) = delete;

  beck::detail::list_hook in_read;

 protected:
  cached_call(cache_core& of, duration age_max) noexcept : core_(&of), age_max_(age_max) {}
  cached_call(cached_call&& inert) noexcept : core_(inert.core_), age_max_(inert.age_max_) {}
  virtual ~cached_call();

  /// Reads the reply from the cache. Returns false if it is not there, or too old.
  bool find(std::string_view wire, reply_place to) noexcept;
  /// Reads the reply from the server. complete() is called when it has come, or with an error in
  /// its place, maybe inside.
  void start(const arguments& command, error_code refused, reply_place to) noexcept;
  /// Ends the wait with operation_aborted, if there is one.
  void stop() noexcept;
  any_io_executor executor() const noexcept;

 private:
  friend class cache_core;

  /// Called once: the reply, or its error, is at its place. The call may be destroyed inside.
  virtual void complete() noexcept = 0;
  /// Called instead when the context is destroyed: drops the handler.
  virtual void drop() noexcept = 0;

  cache_core* core_;
  cache_read* read_ = nullptr;  // that it waits for
  reply_place to_{};
  duration age_max_;
};

/// The operation of cache::exec().
template <class T>
class [[nodiscard]] cached_exec : public reply_op<cached_exec<T>, T>, private cached_call {
  using base = reply_op<cached_exec<T>, T>;

 public:
  cached_exec(cache_core& of, duration age_max, command<T>&& what)
      : base(static_cast<reply<T>&&>(what.result())),
        cached_call(of, age_max),
        what_(static_cast<command<T>&&>(what).text()) {}
  /// Formats the command where it stays.
  template <class... Args>
  cached_exec(cache_core& of, duration age_max, std::string_view name, const Args&... args)
      : cached_call(of, age_max), what_(name, args...) {
    static_cast<void>(reader_type_of<T>.kind);  // says it if no reply can be read into T
  }
  cached_exec(cached_exec&& other) noexcept
      : base(static_cast<base&&>(other)),
        cached_call(static_cast<cached_call&&>(other)),
        what_(static_cast<command_text&&>(other.what_)) {}

  bool ready() {
    if (!this->find(what_.bytes(), detail::place_of(this->result()))) return false;
    this->take_error();
    return true;
  }
  void initiate(typename base::handler done) {
    this->keep(static_cast<typename base::handler&&>(done));
    this->start(what_.arguments(), what_.error(), detail::place_of(this->result()));
  }
  void cancel() noexcept { this->stop(); }
  any_io_executor get_executor() const noexcept { return cached_call::executor(); }

 private:
  void complete() noexcept override { this->complete_with_result(); }
  void drop() noexcept override { this->drop_handler(); }

  command_text what_;
};

}  // namespace detail

/// A cache of the replies to commands that read, which a client keeps beside its connection.
///
///   redis::cache cache(db, 64 << 20);                             // bytes
///   auto p = co_await cache.exec<user>(30s, "HGETALL", "u");      // less than 30 s old
///   auto k = co_await cache.exec<std::optional<long>>(1min, "GET", "k");
///
/// A reply is found by the bytes of its command. It is held until the server says that one of the
/// keys has changed, the connection is lost, FLUSHALL or FLUSHDB is executed, or there is no room.
/// Replies and these messages are taken in the server's order, where the stream is parsed: once the
/// message of a change has come, no call returns a reply from before. The keys are tracked for this
/// cache alone (CLIENT TRACKING ON OPTIN, and CLIENT CACHING YES directly before each read). Nulls
/// are held, errors are not. All coroutines share the replies, and calls that miss the same command
/// at a time share one read.
///
/// Not guaranteed: that a call sees a change whose message is still on its way, even if a command
/// of the same client has made it and was answered; that a connection which dies without a sign is
/// noticed before client_options::silence_timeout; that a key whose time to live is over is gone
/// before the server deletes it; that SWAPDB is noticed, for which the server sends nothing. Read
/// through the client where that matters.
///
/// A server that does not track keys (RESP2, refused by ACL) is asked for each call:
/// cache_stats::uncached counts the replies. The commands of lanes and subscriptions are not
/// affected.
/// Thread: that of the client's context. Lifetime: cache and client may end in any order, both
/// before the context; operations that have not started must not outlive the cache. The destructor
/// ends the calls under way with operation_aborted. A client may have several caches.
class cache {
 public:
  /// Makes an empty cache of `of`, for at most `bytes_max` bytes: replies, commands and keys, with
  /// the memory that holds them. When it is full, replies that were not used since the last search
  /// for room make way; where 64 in a row were used, the next one. A reply that needs more than
  /// `entry_bytes_max` is not held. Throws std::bad_alloc.
  explicit cache(client& of, std::size_t bytes_max, std::size_t entry_bytes_max = 1'048'576);
  ~cache();
  cache(const cache&) = delete;
  cache& operator=(const cache&) = delete;

  /// Returns the reply to a command, read as a T: one from the cache, at once, if it came less than
  /// `age_max` ago; else one from the server, which is held then. 0: always one from the server,
  /// maybe of a read that is under way, and that the server has executed before this call.
  /// The arguments are those of request::push(), and are copied. Throws std::bad_alloc.
  /// The command only reads (redis::facts_of), its keys are known, and its reply depends on their
  /// values alone: not SRANDMEMBER, TTL, SCAN, EVAL_RO, SORT_RO, OBJECT and the like. Others end
  /// with error::not_cacheable, are not sent, and error_text() says why; so do those with a key of
  /// more than parse_limits::push_bytes less 64.
  /// Completes with (error_code, redis::reply<T>); the outcome of a reply from the cache is
  /// executed.
  /// Errors: not_cacheable; as client::exec(); not_enough_memory, which ends only the calls of this
  /// read; queue_full also for client_options::waiting calls of the cache. A read is sent again as
  /// the client does it.
  /// Cancellation: the call ends with operation_aborted; others that share its read go on. The
  /// reply to the read of a single call is dropped.
  template <class T, class... Args>
  detail::cached_exec<T> exec(duration age_max, std::string_view name, const Args&... args) {
    return {*core_, age_max, name, args...};
  }
  /// As above, with a command that cmd() has made: `exec(1min, redis::cmd(redis::into(buffer),
  /// "GET", "k"))`.
  template <class T>
  detail::cached_exec<T> exec(duration age_max, command<T> one) {
    return {*core_, age_max, std::move(one)};
  }

  /// Returns the executor of the context.
  any_io_executor get_executor() const noexcept;
  /// Returns the counters.
  cache_stats stats() const noexcept;

 private:
  detail::cache_core* core_;
};

}  // namespace beck::redis
