// SPDX-License-Identifier: BSL-1.0
// The tables of the pages in docs/, for tests that compare them with the code.
#pragma once

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace beck::test {

/// Returns the rows of the table of `page` whose heading begins with `heading`, without it.
inline std::vector<std::string> rows_of(const char* page, std::string_view heading) {
  std::ifstream lines(page);
  REQUIRE(lines);
  std::vector<std::string> rows;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(heading)) inside = true;
    if (inside && line.empty()) break;
    if (inside) rows.push_back(line);
  }
  REQUIRE(rows.size() > 2);
  rows.erase(rows.begin(), rows.begin() + 2);
  return rows;
}

}  // namespace beck::test
