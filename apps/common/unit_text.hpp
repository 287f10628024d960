// SPDX-License-Identifier: BSL-1.0
//
// Numbers with units, as the options of the tools take them.
#pragma once

#include <beck/base/duration.hpp>
#include <cstdint>
#include <span>
#include <string_view>

namespace beck_apps {

/// A unit of a value, and the factor of its numbers.
struct unit {
  std::string_view name;
  std::uint64_t factor;
};

inline constexpr std::uint64_t ms = 1'000'000;  // in ns, as all times here
inline constexpr std::uint64_t second = 1'000 * ms;
inline constexpr std::uint64_t day = 86'400 * second;
inline constexpr unit time_units[] = {
    {"", second}, {"ms", ms}, {"s", second}, {"m", 60 * second}, {"h", 3600 * second}};

/// Reads a number with one of the units. Returns whether it is one, of at most `most`.
bool read_number(std::string_view text, std::span<const unit> units, std::uint64_t most,
                 std::uint64_t& value);

/// Reads a time such as "500ms", "10s" or "2m"; a number alone is seconds. Throws wrong_usage,
/// which begins with `option`.
beck::duration parse_time(std::string_view option, std::string_view text);

}  // namespace beck_apps
