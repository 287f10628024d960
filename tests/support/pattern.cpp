// SPDX-License-Identifier: BSL-1.0
// The text is copied from one period in pieces, because tests are compiled without optimisation and
// send gigabytes of it.
#include "support/pattern.hpp"

namespace beck::test {

std::string pattern(std::size_t bytes, std::size_t first) {
  static const std::string period = [] {
    std::string text;
    for (char c = '!'; c < '!' + 91; ++c) text += c;
    return text;
  }();
  std::string text;
  text.reserve(bytes);
  for (std::size_t at = first % period.size(); text.size() < bytes; at = 0) {
    text.append(period, at, bytes - text.size());
  }
  return text;
}

}  // namespace beck::test
