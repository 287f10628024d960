// SPDX-License-Identifier: BSL-1.0
//
// Digits, and a unit directly behind them.
#include "common/unit_text.hpp"

#include <fmt/format.h>

#include <charconv>

#include "common/failure.hpp"

namespace beck_apps {

bool read_number(std::string_view text, std::span<const unit> units, std::uint64_t most,
                 std::uint64_t& value) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return false;
  for (const unit& one : units) {
    if (one.name != std::string_view(rest, static_cast<std::size_t>(end - rest))) continue;
    if (value > most / one.factor) return false;
    value *= one.factor;
    return true;
  }
  return false;
}

beck::duration parse_time(std::string_view option, std::string_view text) {
  std::uint64_t value = 0;
  if (!read_number(text, time_units, day, value))
    throw wrong_usage(
        fmt::format("{} {}: not a time up to 24h, such as 500ms, 10s or 2m", option, text));
  return beck::duration(static_cast<long long>(value));
}

}  // namespace beck_apps
