// SPDX-License-Identifier: BSL-1.0
//
// Facts about commands that a client needs before it sends one: whether it may be sent twice,
// whether it needs a connection of its own, where its keys are, and how a cluster divides it.
#pragma once

#include <beck/redis/arguments.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::redis {

/// How a command whose keys lie on several nodes is divided, and its replies become one.
enum class split_kind : std::uint8_t {
  none,    ///< it is not: all keys must have one slot
  sum,     ///< DEL, UNLINK, EXISTS, TOUCH: the numbers are added
  values,  ///< MGET: the values are put at the places of their keys
  all,     ///< MSET: pairs of key and value; OK if every part was OK
};

namespace detail {

/// A row of the table; see src/redis/protocol/command_table.cpp.
struct command_row;

/// Returns the row of a command or subcommand; nullptr for an unknown one.
const command_row* find_row(const arguments& command) noexcept;
/// Returns the place of BLOCK among the options of XREAD or XREADGROUP, the last one, as the server
/// does; 0 if it is not there.
std::size_t find_block(const arguments& command) noexcept;

}  // namespace detail

class command_facts;

namespace functions {

/// Returns the facts of a command, by its name and, where it has them, its subcommand and options.
/// Capital and small letters are the same. Allocates nothing; O(1), and of XREAD O(arguments).
command_facts facts_of(const arguments& command) noexcept;

}  // namespace functions
using namespace functions;

/// The facts of a command. A value.
class command_facts {
 public:
  /// Makes the facts of an unknown command: it may write, and its keys are those that are marked.
  constexpr command_facts() noexcept = default;

  /// Returns whether the table has the command.
  constexpr bool is_known() const noexcept { return is_known_; }
  /// Returns whether the command changes nothing, so that it may be sent again when it is not known
  /// whether it has run. Unknown commands may change anything.
  constexpr bool is_read_only() const noexcept { return is_read_only_; }
  /// Returns whether the reply may come only after another client has done something: BLPOP, XREAD
  /// with BLOCK. Such a command would hold up all others of its connection.
  constexpr bool is_blocking() const noexcept { return is_blocking_; }
  /// Returns whether the command changes the state of its connection, or is answered otherwise than
  /// by one reply: SELECT, AUTH, MULTI, WATCH, SUBSCRIBE, CLIENT REPLY. True also of blocking ones.
  constexpr bool needs_lane() const noexcept { return needs_lane_; }
  /// Returns whether the server takes over the connection, so that only a proxy can relay the
  /// bytes that follow: MONITOR, SYNC, PSYNC.
  constexpr bool is_relayed_only() const noexcept { return is_relayed_only_; }
  /// Returns whether the command takes keys, or a channel of a cluster.
  constexpr bool may_have_keys() const noexcept { return may_have_keys_; }
  /// Returns how a cluster divides the command.
  constexpr split_kind split() const noexcept { return split_; }
  /// Returns the number of arguments, the name included; -n: n or more. 0 if unknown. Of a command
  /// that redis-server 7.0 has it is the number there; later servers may take more.
  constexpr int arity() const noexcept { return arity_; }

 private:
  friend command_facts functions::facts_of(const arguments& command) noexcept;

  bool is_known_ = false;
  bool is_read_only_ = false;
  bool is_blocking_ = false;
  bool needs_lane_ = false;
  bool is_relayed_only_ = false;
  bool may_have_keys_ = true;
  split_kind split_ = split_kind::none;
  std::int8_t arity_ = 0;
};

/// Finds the keys of a command, and the channels that a cluster keeps as keys (SPUBLISH,
/// SSUBSCRIBE): first those that the table knows, or else those that the program has marked.
///
///   for (key_cursor at(command); at.next();) use(at.index(), at.key());
///
/// Bounded by the number of arguments; allocates nothing. Thread: one at a time.
class key_cursor {
 public:
  /// Stands before the first key. `command`: its texts must outlive the cursor.
  explicit key_cursor(const arguments& command) noexcept;

  /// Goes to the next key. Returns whether there is one.
  bool next() noexcept;
  /// Returns the key. Requires that next() has returned true.
  std::string_view key() const noexcept { return command_[at_]; }
  /// Returns the place of the key among the arguments; the name is 0.
  std::size_t index() const noexcept { return at_; }
  /// Returns whether the arguments do not fit the command: a number of keys that is none, negative,
  /// or greater than the arguments behind it; a missing key. Then there are no keys, and the server
  /// will answer with an error.
  bool is_malformed() const noexcept { return is_malformed_; }

 private:
  // Keys at first, first + step, ... up to last.
  struct run {
    std::size_t first = 0;
    std::size_t last = 0;
    std::size_t step = 1;
  };
  static constexpr unsigned runs_max = 3;

  bool find(const detail::command_row& row) noexcept;
  bool find_sorted() noexcept;
  bool find_migrated() noexcept;
  void add(run keys) noexcept;
  void add(std::size_t key) noexcept { add({key, key, 1}); }

  arguments command_;
  run runs_[runs_max];
  unsigned run_count_ = 0;
  std::size_t run_ = 0;  // the present one; by marks: how many were visited
  std::size_t at_ = 0;   // the present key; 0: none yet
  bool is_by_marks_ = false;
  bool is_malformed_ = false;
};

}  // namespace beck::redis
