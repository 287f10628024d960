// SPDX-License-Identifier: BSL-1.0
// A call of a cluster: its commands, each with its slot and its state, and those that are divided
// because their keys have several slots. Without I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <beck/base/assert.hpp>
#include <beck/detail/intrusive_list.hpp>
#include <beck/redis/command_table.hpp>
#include <beck/redis/exchange.hpp>
#include <beck/redis/request.hpp>
#include <beck/redis/value.hpp>

#include "redis/cluster/cluster_unit.hpp"

namespace beck::redis::detail {

/// A command in parts of one slot each, and their replies.
class divided_command {
 public:
  /// Divides a command. Requires well-formed keys, and a split_kind other than none. Throws
  /// std::bad_alloc.
  divided_command(const arguments& command, split_kind kind);

  const request& parts() const noexcept { return parts_; }
  /// Returns the slot of the part `i`.
  std::uint16_t slot(std::uint32_t i) const noexcept { return sizes_[i].slot; }
  reply_place place_of(std::uint32_t i) noexcept { return detail::place_of(replies_[i]); }
  /// Reads the reply to the whole command, from those to its parts; `version`: that of a raw_reply.
  void combine(reply_place to, const reply_limits& most, protocol version) noexcept;

 private:
  /// A key of the command.
  struct key_place {
    std::uint16_t slot;
    std::uint32_t argument;
    std::uint32_t part = 0;
    std::uint32_t place = 0;  // among the keys of its part
  };

  /// A part of the command.
  struct part_size {
    std::uint16_t slot;
    std::uint32_t keys;
  };

  bool combine_errors(reply_status& to) noexcept;
  bool fits(std::size_t part) const noexcept;
  void feed(reply_reader& to, protocol version);
  void feed_values(reply_reader& to, protocol version);

  split_kind kind_;
  request parts_;
  std::vector<key_place> keys_;  // in the order of the command
  std::vector<part_size> sizes_;
  std::vector<reply<value>> replies_;
};

/// The state of a command.
enum class step_state : std::uint8_t {
  ready,    ///< it is to be sent
  resting,  ///< it is to be sent after a pause
  sent,
  judged,  ///< its unit has ended without a final reply, and its next state is to be found
  ended,   ///< its reply or its error is final
};

/// A command of a call, or a part of one that is divided.
struct cluster_step {
  static constexpr std::uint16_t no_slot = 0xffff;

  std::string_view wire;
  divided_command* whole = nullptr;  ///< that it is a part of
  std::uint32_t number = 0;          ///< of the command in the call, or of the part
  std::uint32_t asked = 0;           ///< the node that ASK has named
  std::uint32_t sent_to = 0;         ///< the node that it was sent to last
  std::uint16_t slot = no_slot;
  std::uint8_t redirects = 0;  ///< followed, one behind another
  std::uint8_t losses = 0;     ///< connections that were lost when it may have run
  bool is_again = false;       ///< it was sent before: no replica is asked
  bool was_asked = false;      ///< it was sent behind ASKING the last time
  bool may_repeat = false;     ///< it was lost, and may be sent again
  step_state state = step_state::ready;
};

/// A call under way. Used again for other calls. Thread: that of the context.
class cluster_call {
 public:
  cluster_call() noexcept = default;
  cluster_call(const cluster_call&) = delete;
  cluster_call& operator=(const cluster_call&) = delete;

  /// Takes an exchange.
  void begin(exchange& user, std::int64_t now) noexcept;
  /// Forgets the exchange, and returns it.
  exchange& clear() noexcept;
  /// Lists the commands with their slots. Returns error::cross_slot if a command, or a transaction,
  /// has keys of several slots and cannot be divided. Throws std::bad_alloc.
  error_code plan();
  /// Returns the call of an exchange that is under way.
  static cluster_call& of(const exchange& user) noexcept {
    BECK_ASSERT(user.taken_by() != nullptr,
                "a cluster was asked for commands that it does not have");
    return *user.taken_by();
  }

  std::vector<cluster_step>& steps() noexcept { return steps_; }
  reply_place place_of(const cluster_step& one) noexcept {
    return one.whole != nullptr ? one.whole->place_of(one.number) : user_->place_of(one.number);
  }
  reply_status& status_of(const cluster_step& one) noexcept { return place_of(one).status(); }
  /// Returns the terms of the exchange.
  const exchange_terms& terms() const noexcept { return user_->terms(); }
  std::int64_t begun_at() const noexcept { return begun_at_; }
  std::size_t divided() const noexcept { return divided_.size(); }
  /// Returns whether each command only reads.
  bool only_reads() const noexcept;
  /// Returns whether a command has this state.
  bool has(step_state state) const noexcept;

  /// Ends the commands that are not sent: those without a final reply get the error. Takes the call
  /// out of the lists of those with such commands.
  void end_unsent(const error_code& why, std::string_view text) noexcept;
  /// Puts the replies to divided commands together, behind the end of all commands, in a version of
  /// the protocol. Returns the error of the first command that was not answered.
  error_code conclude(protocol version) noexcept;

  beck::detail::list_hook in_calls;
  beck::detail::list_hook in_judged;   ///< of those with commands to judge
  beck::detail::list_hook in_ready;    ///< of those with commands to send
  beck::detail::list_hook in_resting;  ///< of those with commands that rest
  /// Those that are under way.
  beck::detail::intrusive_list<cluster_unit, &cluster_unit::in_call> units;
  bool is_cancelled = false;
  bool may_use_replicas = false;
  bool is_held = false;  ///< it must not be completed now

 private:
  error_code add(const arguments& command, std::string_view wire, std::uint32_t number);

  exchange* user_ = nullptr;
  std::int64_t begun_at_ = 0;
  std::vector<cluster_step> steps_;
  std::vector<std::unique_ptr<divided_command>> divided_;
};

}  // namespace beck::redis::detail
