// SPDX-License-Identifier: BSL-1.0
// What the fuzzers of HTTP share: an oracle that ends the program, input with nothing readable
// behind it, and places to split it at, which follow from the input itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <algorithm>

#include "support/small_random.hpp"

namespace beck::http::fuzz {

/// Ends the program, which libFuzzer counts as a finding, unless `holds`.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "oracle: %s\n", what);
  std::abort();
}

/// Requires that two texts are equal; prints both if not.
inline void require_equal(std::string_view a, std::string_view b, const char* what) {
  if (a == b) return;
  std::fprintf(stderr, "one:   %s\nother: %s\n", std::string(a).c_str(), std::string(b).c_str());
  require(false, what);
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// A copy that ends where the input ends, so that AddressSanitizer sees what is read behind it.
class exact_copy {
 public:
  explicit exact_copy(std::string_view text) : bytes_(new char[text.size()]), size_(text.size()) {
    std::copy(text.begin(), text.end(), bytes_.get());
  }
  std::string_view view() const { return {bytes_.get(), size_}; }
  /// Whether `part` lies within; an empty part lies anywhere.
  bool holds(std::string_view part) const {
    return part.empty() || (part.data() >= bytes_.get() && part.size() <= size_ &&
                            part.data() <= bytes_.get() + (size_ - part.size()));
  }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

/// Takes bytes off the front of an input, as choices.
class choices {
 public:
  explicit choices(std::string_view input) : rest_(input) {}

  unsigned byte() {
    if (rest_.empty()) return 0;
    const auto value = static_cast<unsigned char>(rest_[0]);
    rest_.remove_prefix(1);
    return value;
  }
  /// The text up to the next byte 0xFF, which is dropped.
  std::string_view text() {
    const std::size_t end = rest_.find('\xff');
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    return found;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// Calls `use` with places to split an input at: all of a short one, some of a long one.
template <class Use>
void at_splits(std::string_view input, Use use) {
  constexpr std::size_t all_max = 48;
  constexpr unsigned some = 8;
  if (input.size() <= all_max) {
    for (std::size_t at = 1; at < input.size(); ++at) use(at);
    return;
  }
  std::uint64_t seed = input.size();
  for (const char c : input) seed = seed * 31 + static_cast<unsigned char>(c);
  testing::small_random random(seed);
  for (unsigned i = 0; i < some; ++i)
    use(std::size_t{1} + random.below(static_cast<unsigned>(input.size() - 1)));
}

}  // namespace beck::http::fuzz
