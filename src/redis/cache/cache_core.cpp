// SPDX-License-Identifier: BSL-1.0
// A reply is kept, and calls get it, inside cache_read::done(), which the session calls while it
// parses. So a message that follows in the stream finds the reply, and one from before does not.
#include "redis/cache/cache_core.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/detail/fixed_text.hpp>
#include <beck/redis/client.hpp>
#include <beck/redis/command_table.hpp>

#include "redis/client/link.hpp"

namespace beck::redis {
namespace detail {
namespace {

constexpr std::size_t name_bytes_shown = 40;
constexpr std::string_view caching = "*3\r\n$6\r\nCLIENT\r\n$7\r\nCACHING\r\n$3\r\nYES\r\n";

/// Commands that only read and name a key, in small letters: their replies change without it.
constexpr std::string_view unsteady[] = {
    "eval_ro",     "evalsha_ro",  "fcall_ro",     // scripts may read other keys, and the clock
    "hrandfield",  "srandmember", "zrandmember",  // chance
    "hscan",       "sscan",       "zscan",        // steps of a walk
    "memory",      "object",                      // the server's own state
    "pttl",        "ttl",         "xpending",    "xinfo",    // ages
    "hpttl",       "httl",                                   // the same of fields
    "vrandmember",                                           // chance
    "json.debug",  "bf.info",     "cf.info",     "ts.info",  // the server's own state
    "sort_ro",                                               // other keys, by patterns
    "touch",                                                 // it is called for its effect
};
constexpr std::size_t name_bytes_max = 12;
constexpr std::size_t push_bytes_around = 64;  // the key, in an "invalidate", at most

/// Returns why the reply to a command is not cached; empty if it is. The server sends a message
/// when a key that was read has changed, and only then: so the reply has to depend on keys that the
/// command names, and on nothing else.
std::string_view why_not_cached(const arguments& command, std::size_t push_bytes_max) noexcept {
  const command_facts facts = facts_of(command);
  if (!facts.is_known()) return "the table of commands does not have it";
  if (!facts.is_read_only()) return "it may write";
  if (facts.needs_lane()) return "it needs a lane";
  const std::string_view name = command[0];
  char small[name_bytes_max] = {};
  const std::size_t bytes = std::min(name.size(), name_bytes_max);
  for (std::size_t i = 0; i < bytes; ++i) {
    const char c = name[i];
    small[i] = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  }
  if (std::find(std::begin(unsteady), std::end(unsteady), std::string_view(small, bytes)) !=
      std::end(unsteady))
    return "its reply does not depend on the values of its keys alone";
  key_cursor keys(command);
  if (!keys.next()) return "it names no key";
  do {
    if (keys.key().size() + push_bytes_around > push_bytes_max)
      return "a key of it is longer than the server's message of a change may be "
             "(parse_limits::push_bytes)";
  } while (keys.next());
  return {};
}

}  // namespace

// --- reads

cache_read::cache_read(cache_core& owner, std::string_view wire)
    : owner_(owner), wire_(wire), parts_{{caching, 1}, {wire_, 1}} {
  set_commands(parts_, 2);
  // It only reads, and CLIENT CACHING concerns the next command.
  terms() = {.limits = owner.owner().bounds().replies, .is_retryable = true, .is_whole = true};
  set_watch({.tokens = &recorder_});
}

void reply_recorder::see(std::uint32_t i, const token& next) {
  if (i == 0) {  // the unit begins, maybe again
    kept_.clear();
    is_torn_ = false;
  } else if (result_.error() || is_torn_) {
    kept_ = kept_reply();  // nothing reads it
  } else {
    try {
      kept_.add(next);
    } catch (const std::bad_alloc&) {  // this read fails, as one of the client would
      is_torn_ = true;
    }
  }
}

void cache_read::done(const error_code&) noexcept {
  if (recorder_.is_torn() && !result_.error())
    detail::place_of(result_).status().set(no_memory(), {});
  owner_.end(*this);
}

void cache_read::drop() noexcept { owner_.drop(*this); }

// --- the cache

cache_core::cache_core(link_ref of, std::size_t bytes_max, std::size_t entry_bytes_max)
    : link_(std::move(of)),
      hash_(random_of(link_->executor())),
      index_(bytes_max, entry_bytes_max, hash_),
      reads_(0, hash_) {
  link_->pushes().join(*this);
}

cache_core::~cache_core() {
  in_link.unlink();
  while (!reads_.empty()) link_->cancel(*reads_.begin()->second);  // end() takes it out
  BECK_ASSERT(waiting_ == 0, "a cache was destroyed while calls wait");
}

cache_stats cache_core::stats() const noexcept {
  cache_stats now;
  index_.count(now);
  now.hits = hits_;
  now.misses = misses_;
  now.shared = shared_;
  now.uncached = uncached_;
  return now;
}

bool cache_core::find(std::string_view wire, duration age_max, reply_place to) noexcept {
  cache_entry* const found = index_.find(wire);
  if (found == nullptr) return false;
  if (time_of(link_->executor()) - found->came_at >= age_max.nanoseconds()) return false;
  ++hits_;
  found->is_used = true;
  read(found->reply, to);
  return true;
}

void cache_core::read(const kept_reply& from, reply_place to) noexcept {
  reader_.begin(to, link_->bounds().replies);
  from.read(reader_);
  reader_.leave();
  to.status().set(outcome::executed);
}

// --- calls

void cache_core::start(cached_call& call, const arguments& command, error_code refused) noexcept {
  beck::detail::fixed_text<160> text;
  const std::string_view why =
      refused ? std::string_view() : why_not_cached(command, link_->bounds().parsing.push_bytes);
  if (!why.empty()) {
    refused = error::not_cacheable;
    text.append(command[0].substr(0, name_bytes_shown));
    text.append(": ");
    text.append(why);
  }
  if (!refused) refused = wait(call, command.wire());
  if (refused) fail(call, refused, {text.data(), text.size()}, outcome::not_sent);
}

/// Lets a call wait for the read of a command, which is begun if it is not under way. Returns why
/// not.
error_code cache_core::wait(cached_call& call, std::string_view wire) noexcept {
  BECK_ASSERT(call.read_ == nullptr, "a call of a cache was started twice");
  if (waiting_ >= link_->bounds().waiting) return error::queue_full;
  try {
    cache_read& one = find_read(wire);
    const bool is_shared = one.is_under_way();
    if (!is_shared) {
      if (const error_code ec = link_->start(one); ec) {
        take(one);
        return ec;
      }
    }
    shared_ += is_shared ? 1 : 0;
    ++misses_;
    ++waiting_;
    call.read_ = &one;
    one.calls.push_back(call);
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
  return {};
}

/// Returns the read of a command; a new one if none is under way.
cache_read& cache_core::find_read(std::string_view wire) {
  const auto known = reads_.find(wire);
  if (known != reads_.end()) return *known->second;
  auto made = std::make_unique<cache_read>(*this, wire);
  cache_read& one = *made;
  reads_.emplace(one.wire(), std::move(made));
  return one;
}

std::unique_ptr<cache_read> cache_core::take(cache_read& one) noexcept {
  const auto at = reads_.find(one.wire());
  BECK_ASSERT(at != reads_.end() && at->second.get() == &one, "a read of a cache has ended twice");
  std::unique_ptr<cache_read> taken = std::move(at->second);
  reads_.erase(at);
  return taken;
}

void cache_core::fail(cached_call& call, const error_code& why, std::string_view text,
                      outcome what) {
  reply_status& status = call.to_.status();
  status.set(why, text);
  status.set(what);
  call.complete();
}

void cache_core::forget(cached_call& call) noexcept {
  BECK_ASSERT(waiting_ != 0 && call.read_ != nullptr, "a call has left a cache twice");
  call.in_read.unlink();
  call.read_ = nullptr;
  --waiting_;
}

void cache_core::stop(cached_call& call) noexcept {
  cache_read& of = *call.read_;
  if (of.calls.front() == of.calls.back()) return link_->cancel(of);
  forget(call);
  fail(call, beck::error::operation_aborted, {}, outcome::maybe_executed);
}

// --- the stream

void cache_core::end(cache_read& one) noexcept {
  const std::unique_ptr<cache_read> ended = take(one);
  const reply<void>& result = one.result();
  while (cached_call* const call = one.calls.front()) {
    forget(*call);
    if (result.error()) {
      fail(*call, result.error(), result.error_text(), result.outcome());
    } else {
      read(one.kept(), call->to_);
      call->complete();
    }
  }
  if (result.error()) return;
  const bool is_kept = one.is_tracked() && link_->pushes().is_tracking() &&
                       index_.store(one.wire(), one.kept(), time_of(link_->executor()));
  if (!is_kept) ++uncached_;
}

void cache_core::drop(cache_read& one) noexcept {
  const std::unique_ptr<cache_read> dropped = take(one);
  for (cached_call& call : one.calls) {
    call.read_ = nullptr;
    --waiting_;
  }
  // A handler may own the cache, and other calls.
  while (cached_call* const call = one.calls.pop_front()) call->drop();
}

// --- the operation

cached_call::~cached_call() {
  if (read_ != nullptr) core_->forget(*this);
}

bool cached_call::find(std::string_view wire, reply_place to) noexcept {
  return core_->find(wire, age_max_, to);
}

void cached_call::start(const arguments& command, error_code refused, reply_place to) noexcept {
  to_ = to;
  core_->start(*this, command, refused);
}

void cached_call::stop() noexcept {
  if (read_ != nullptr) core_->stop(*this);
}

any_io_executor cached_call::executor() const noexcept { return core_->owner().executor(); }

}  // namespace detail

cache::cache(client& of, std::size_t bytes_max, std::size_t entry_bytes_max)
    : core_(new detail::cache_core(detail::link_ref(detail::link_of(of.sender_)), bytes_max,
                                   entry_bytes_max)) {}

cache::~cache() { delete core_; }

any_io_executor cache::get_executor() const noexcept { return core_->owner().executor(); }

cache_stats cache::stats() const noexcept { return core_->stats(); }

}  // namespace beck::redis
