// SPDX-License-Identifier: BSL-1.0
//
// Reading and writing sizes. Overflow is an error here, so that no later sum has to look for it:
// what passes fits the kernel's signed offsets.
#include "sizes.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstddef>
#include <limits>

#include "failure.hpp"

namespace beck_copy {
namespace {

constexpr std::uint64_t offset_max = std::numeric_limits<std::int64_t>::max();
constexpr std::string_view letters = "KMGTPE";

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

/// Returns the factor of the unit, or 0 if it is none.
std::uint64_t unit_bytes(std::string_view unit) {
  if (unit.empty()) return 1;
  if (unit.size() == 1 && upper(unit[0]) == 'B') return 1;
  const std::size_t power = letters.find(upper(unit[0]));
  if (power == std::string_view::npos) return 0;
  std::uint64_t step = 0;
  if (unit.size() == 1 || (unit.size() == 3 && upper(unit[1]) == 'I' && upper(unit[2]) == 'B'))
    step = 1024;
  if (unit.size() == 2 && upper(unit[1]) == 'B') step = 1000;
  std::uint64_t bytes = step;
  for (std::size_t i = 0; i < power; ++i) bytes *= step;
  return bytes;
}

}  // namespace

std::uint64_t parse_size(std::string_view option, std::string_view text) {
  std::uint64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  const std::uint64_t unit =
      unit_bytes(std::string_view(rest, static_cast<std::size_t>(end - rest)));
  if (rest == text.data() || unit == 0)
    throw failure(fmt::format(
        "{} {}: not a size; a number with K, M, G, T (or KiB, MiB, ...; kB, MB, ...) is", option,
        text));
  if (error == std::errc::result_out_of_range || count > offset_max / unit)
    throw failure(fmt::format("{} {}: too large; at most {} bytes, the largest offset of a file",
                              option, text, offset_max));
  return count * unit;
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  double value = static_cast<double>(bytes) / 1024;
  std::size_t letter = 0;
  for (; value >= 1023.5 && letter + 1 < letters.size(); ++letter) value /= 1024;
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}iB", value, decimals, letters[letter]);
}

std::string exact_size_text(std::uint64_t bytes) {
  return bytes < 1024 ? size_text(bytes) : fmt::format("{} ({} bytes)", size_text(bytes), bytes);
}

}  // namespace beck_copy
