// SPDX-License-Identifier: BSL-1.0
// The texts of guards, and the replies to them.
#include "redis/session/command_guard.hpp"

#include <cstring>

#include <beck/redis/error.hpp>

#include "redis/session/repeat_rules.hpp"

namespace beck::redis::detail {

std::array<char, 16> guard_text(std::uint64_t seed, std::uint64_t number) noexcept {
  std::uint64_t mixed = seed + (number + 1) * 0x9e3779b97f4a7c15;  // splitmix64 of Steele et al.
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  mixed ^= mixed >> 31;
  std::array<char, 16> text;
  for (char& digit : text) {
    digit = "0123456789abcdef"[mixed & 15];
    mixed >>= 4;
  }
  return text;
}

command_guard::echo command_guard::next() const noexcept {
  constexpr std::string_view head = "*2\r\n$4\r\nECHO\r\n$16\r\n";
  constexpr std::string_view end = "\r\n";
  const auto text = guard_text(seed_, added_);
  echo made;
  static_assert(head.size() + text.size() + end.size() == std::tuple_size_v<echo>);
  std::memcpy(made.data(), head.data(), head.size());
  std::memcpy(made.data() + head.size(), text.data(), text.size());
  std::memcpy(made.data() + head.size() + text.size(), end.data(), end.size());
  return made;
}

bool command_guard::is_answer(const token& next) const noexcept {
  if (next.type == data_type::attribute || next.depth != 0) return true;
  if (next.type == data_type::simple_error) return is_refused_for_now(error_of(next.text));
  const auto text = guard_text(seed_, answered_);
  return next.type == data_type::bulk_string &&
         next.text == std::string_view(text.data(), text.size());
}

}  // namespace beck::redis::detail
