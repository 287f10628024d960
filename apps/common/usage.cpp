// SPDX-License-Identifier: BSL-1.0
//
// CLI11 writes to streams of C++, whose errors no one would see.
#include "common/usage.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <sstream>
#include <string>

#include "common/failure.hpp"
#include "common/output.hpp"

namespace beck_apps {

int print_usage(const CLI::App& app, const CLI::ParseError& what) {
  std::ostringstream result, error;
  const bool is_wrong = app.exit(what, result, error) != 0;
  std::istringstream lines(error.str());
  for (std::string line; std::getline(lines, line);) say(line);
  try {
    write_result(STDOUT_FILENO, result.str());
  } catch (const failure& e) {
    say(app.get_name() + ": " + e.what());
    return 1;
  }
  return is_wrong ? 2 : 0;
}

}  // namespace beck_apps
