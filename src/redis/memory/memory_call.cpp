// SPDX-License-Identifier: BSL-1.0
// The table of commands, and redis-server's errors for commands that are not in it.
#include "redis/memory/memory_call.hpp"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

#include <beck/redis/command_table.hpp>

#include "redis/protocol/number_text.hpp"

namespace beck::redis::detail {
namespace {

using row_index = std::map<std::string_view, const memory_row*>;

row_index make_index() {
  row_index all;
  for (const memory_rows rows :
       {memory_connection_rows(), memory_client_rows(), memory_key_rows(), memory_string_rows(),
        memory_number_rows(), memory_hash_rows(), memory_list_rows(), memory_set_rows(),
        memory_sorted_rows(), memory_transaction_rows(), memory_channel_rows()})
    for (const memory_row& row : rows) {
      const bool is_new = all.emplace(row.name, &row).second;
      BECK_ASSERT(is_new, "two commands have one name");
    }
  return all;
}

char small_letter(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

char capital_letter(char c) noexcept {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c & ~0x20) : c;
}

constexpr std::size_t quoted_max = 128;  // bytes of arguments, or of a name, in an error

std::string unknown_command(const arguments& command) {
  std::string text = "ERR unknown command '" + std::string(command[0].substr(0, quoted_max)) +
                     "', with args beginning with: ";
  std::string quoted;
  for (std::size_t i = 1; i < command.size() && quoted.size() < quoted_max; ++i) {
    const std::size_t room = quoted_max - quoted.size();
    quoted += "'" + std::string(command[i].substr(0, room)) + "' ";
  }
  return text + quoted;
}

std::string unknown_subcommand(const arguments& command) {
  std::string name(command[0]);
  for (char& c : name) c = capital_letter(c);
  return "ERR unknown subcommand '" + std::string(command[1].substr(0, quoted_max)) + "'. Try " +
         name + " HELP.";
}

std::string wrong_number_text(std::string_view name) {
  return "ERR wrong number of arguments for '" + std::string(name) + "' command";
}

bool fits(int arity, std::size_t count) noexcept {
  if (arity == 0) return true;
  const auto wanted = static_cast<std::size_t>(arity < 0 ? -arity : arity);
  return arity < 0 ? count >= wanted : count == wanted;
}

bool has_subcommands(std::string_view name) noexcept {
  return name == "client" || name == "pubsub" || name == "command";
}

/// Reads all of `text` with strtod() or strtold().
template <class Real>
bool read(Real (*convert)(const char*, char**), std::string_view text, Real& to) noexcept {
  constexpr std::size_t digits_max = 255;
  char copy[digits_max + 1];
  if (text.empty() || text.size() > digits_max || text[0] == ' ' || (text[0] >= 9 && text[0] <= 13))
    return false;
  copy[text.copy(copy, digits_max)] = '\0';
  char* end = nullptr;
  errno = 0;
  to = convert(copy, &end);
  if (end != copy + text.size() || std::isnan(to)) return false;
  return errno != ERANGE || (!std::isinf(to) && to != 0);
}

}  // namespace

std::string small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = small_letter(c);
  return small;
}

memory_found find_memory_row(const arguments& command) {
  BECK_ASSERT(command.size() != 0, "a command without a name was looked up");
  static const row_index index = make_index();
  std::string name = small_letters(command[0]);
  if (has_subcommands(name)) {
    if (command.size() == 1) return {nullptr, wrong_number_text(name)};
    name += "|" + small_letters(command[1]);
    if (!index.contains(name)) return {nullptr, unknown_subcommand(command)};
  }
  const auto at = index.find(name);
  if (at == index.end() || (name.find('|') != std::string::npos && command.size() == 1))
    return {nullptr, unknown_command(command)};
  if (!fits(facts_of(command).arity(), command.size()))
    return {at->second, wrong_number_text(name)};
  return {at->second, {}};
}

bool read_memory_real(std::string_view text, double& to) noexcept {
  return read(&std::strtod, text, to);
}

bool read_memory_long_real(std::string_view text, long double& to) noexcept {
  return read(&std::strtold, text, to);
}

bool memory_call::is(std::size_t i, std::string_view word) const noexcept {
  const std::string_view text = command[i];
  if (text.size() != word.size()) return false;
  for (std::size_t at = 0; at < word.size(); ++at)
    if (small_letter(text[at]) != word[at]) return false;
  return true;
}

bool memory_call::integer(std::size_t i, std::int64_t& to) {
  if (!read_integer(command[i], to).is_bad) return true;
  not_an_integer();
  return false;
}

bool memory_call::real(std::size_t i, double& to) {
  if (read_memory_real(command[i], to)) return true;
  error("ERR value is not a valid float");
  return false;
}

void memory_call::wrong_type() {
  error("WRONGTYPE Operation against a key holding the wrong kind of value");
}

void memory_call::wrong_number(std::string_view name) { error(wrong_number_text(name)); }

void memory_call::write_real(double number) {
  char text[40];
  int bytes = std::snprintf(text, sizeof text, "%.17g", number);
  if (std::isinf(number)) bytes = std::snprintf(text, sizeof text, number > 0 ? "inf" : "-inf");
  BECK_ASSERT(bytes > 0 && static_cast<std::size_t>(bytes) < sizeof text,
              "a score has more digits than there is room for");
  const std::string_view digits(text, static_cast<std::size_t>(bytes));
  if (reply.version() == protocol::resp2) {
    reply.bulk(digits);
  } else {
    reply.raw("," + std::string(digits) + "\r\n");
  }
}

}  // namespace beck::redis::detail
