// SPDX-License-Identifier: BSL-1.0
// The parameters of the function of a command, and the rows by which it is found. A function reads
// its arguments and writes exactly one reply.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "redis/memory/memory_engine.hpp"

namespace beck::redis::detail {

/// One command that is executed.
struct memory_call {
  memory_engine& engine;
  memory_peer& peer;
  const arguments& command;
  reply_writer& reply;

  std::size_t size() const noexcept { return command.size(); }
  std::string_view operator[](std::size_t i) const noexcept { return command[i]; }
  /// Returns whether an argument is this word, in capital or small letters. `word`: in small ones.
  bool is(std::size_t i, std::string_view word) const noexcept;

  memory_store& store() noexcept { return engine.store(); }
  memory_entry* find(std::string_view key) { return store().find(peer.database, key); }
  /// Finds the value of a key; `to` is nullptr if it does not exist. Returns false, with an error
  /// as the reply, if it has another type.
  template <class T>
  bool find_as(std::string_view key, T*& to) {
    memory_entry* const entry = find(key);
    to = entry != nullptr ? std::get_if<T>(&entry->value) : nullptr;
    if (entry == nullptr || to != nullptr) return true;
    wrong_type();
    return false;
  }
  /// As above, and makes an empty value if there is none. Returns nullptr after an error.
  template <class T>
  T* make(std::string_view key) {
    T* found = nullptr;
    if (!find_as(key, found)) return nullptr;
    return found != nullptr ? found : &store().make<T>(peer.database, key);
  }
  /// Reads an argument as a number. Returns false, with an error as the reply, if it is none.
  bool integer(std::size_t i, std::int64_t& to);
  bool real(std::size_t i, double& to);
  /// Notes that the command has changed the value of a key.
  void changed(std::string_view key) { store().note_change(peer.database, key); }
  /// Removes a key whose value has become empty.
  void erase_if_empty(std::string_view key) { store().erase_if_empty(peer.database, key); }

  void ok() { reply.simple("OK"); }
  void error(std::string_view text) { reply.error(text); }
  void wrong_type();
  void syntax_error() { reply.error("ERR syntax error"); }
  void not_an_integer() { reply.error("ERR value is not an integer or out of range"); }
  /// Refuses the number of arguments. `name`: of the command, in small letters.
  void wrong_number(std::string_view name);
  /// Writes a double as redis-server 7.0 does it: seventeen digits.
  void write_real(double number);
};

/// When a command may run.
enum memory_flags : std::uint8_t {
  memory_plain = 0,
  memory_before_login = 1,
  memory_while_listening = 2,  // with subscriptions in RESP2
  memory_immediate = 4,        // not queued by MULTI
};

/// A command, or "command|subcommand".
struct memory_row {
  std::string_view name;  ///< in small letters
  void (*run)(memory_call& call);
  std::uint8_t flags = memory_plain;
};

using memory_rows = std::span<const memory_row>;

// The commands, by topic; each is in the file of its name.
memory_rows memory_connection_rows() noexcept;
memory_rows memory_client_rows() noexcept;
memory_rows memory_key_rows() noexcept;
memory_rows memory_string_rows() noexcept;
memory_rows memory_number_rows() noexcept;
memory_rows memory_hash_rows() noexcept;
memory_rows memory_list_rows() noexcept;
memory_rows memory_set_rows() noexcept;
memory_rows memory_sorted_rows() noexcept;
memory_rows memory_transaction_rows() noexcept;
memory_rows memory_channel_rows() noexcept;

/// The row of a command, and the error that refuses it.
struct memory_found {
  const memory_row* row = nullptr;  ///< nullptr if there is no such command
  std::string error;                ///< empty: it may run
};

/// Finds the row of a command and checks the number of its arguments.
memory_found find_memory_row(const arguments& command);

/// Returns a text in small letters.
std::string small_letters(std::string_view text);

/// Returns whether `text` fits the pattern of a KEYS, SCAN or PSUBSCRIBE: "*" any bytes, "?" one
/// byte, "[a-c]" and "[^a]" one of a class, and "\" before a byte that stands for itself. Takes
/// O(pattern x text) at most.
bool matches_glob(std::string_view pattern, std::string_view text) noexcept;

/// Reads a number as redis-server does it: as strtod(3), without spaces and NaN.
bool read_memory_real(std::string_view text, double& to) noexcept;
/// As above, with more digits and a larger range.
bool read_memory_long_real(std::string_view text, long double& to) noexcept;

}  // namespace beck::redis::detail
