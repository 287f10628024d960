// SPDX-License-Identifier: BSL-1.0
// The transaction of one connection of a memory_server: MULTI, the commands that it queues until
// EXEC, and the keys of WATCH, a change of which refuses it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/transitions.hpp"
#include "redis/memory/memory_store.hpp"

namespace beck::redis::detail {

enum class transaction_state : std::uint8_t {
  none,
  queueing,  ///< MULTI was called
  refused,   ///< a command was refused meanwhile, so that EXEC will be
  running,   ///< the commands are executed
};

enum class transaction_event : std::uint8_t { begin, refuse, run, end };

/// In the order of transaction_event.
inline constexpr beck::detail::transition_table<transaction_state, 4> transaction_transitions = [] {
  using beck::detail::any_of;
  using enum transaction_state;
  return beck::detail::transition_table<transaction_state, 4>{{
      /* begin  */ {queueing, any_of({none})},
      /* refuse */ {refused, any_of({queueing, refused})},
      /* run    */ {running, any_of({queueing})},
      /* end    */ {none, any_of({queueing, refused, running})},
  }};
}();

/// Owns the queued commands and the watched keys. Thread: one at a time.
class memory_transaction {
 public:
  using keys = std::set<memory_key>;

  /// Returns whether MULTI was called, and neither EXEC nor DISCARD since.
  bool has_begun() const noexcept { return state_ == queueing || state_ == refused; }
  bool is_refused() const noexcept { return state_ == refused; }
  bool is_running() const noexcept { return state_ == running; }
  /// Returns whether a watched key was changed.
  bool is_touched() const noexcept { return is_touched_; }

  /// Begins to queue commands. Requires that it has not begun.
  void begin() noexcept { change(transaction_event::begin); }
  /// Queues a command, as it was sent. Requires that it has begun.
  void queue(std::string_view wire) {
    BECK_ASSERT(has_begun(), "a command was queued outside of a transaction");
    commands_.emplace_back(wire);
  }
  /// Notes that a command was refused. Does nothing outside of a transaction.
  void refuse() noexcept {
    if (has_begun()) change(transaction_event::refuse);
  }
  /// Begins to execute, and returns the commands. Requires that none was refused.
  std::vector<std::string> run() {
    change(transaction_event::run);
    unwatch();
    return std::exchange(commands_, {});
  }
  /// Forgets commands and keys. Idempotent.
  void end() noexcept {
    if (state_ != none) change(transaction_event::end);
    commands_.clear();
    unwatch();
  }

  const keys& watched() const noexcept { return watched_; }
  void watch(memory_key key) { watched_.insert(std::move(key)); }
  /// Notes that a key was changed, which may be a watched one.
  void touch(const memory_key& key) noexcept {
    if (watched_.contains(key)) is_touched_ = true;
  }
  void unwatch() noexcept {
    watched_.clear();
    is_touched_ = false;
  }

 private:
  using enum transaction_state;

  void change(transaction_event event) noexcept { advance(state_, event, transaction_transitions); }

  transaction_state state_ = none;
  bool is_touched_ = false;
  std::vector<std::string> commands_;
  keys watched_;
};

}  // namespace beck::redis::detail
