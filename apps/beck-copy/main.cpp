// SPDX-License-Identifier: BSL-1.0
//
// beck-copy: copies files, devices and pipes by a mechanism that the user names. The manual is
// beck-copy.1 beside this file.
#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <optional>
#include <string>

#include "command_line.hpp"
#include "common/output.hpp"
#include "copy.hpp"
#include "interrupt.hpp"
#include "report.hpp"
#include "target.hpp"

namespace {

constexpr int failed = 1;
constexpr int wrong_usage = 2;

/// Prints the report as JSON: on standard error if standard output is the copy.
void print_json(const std::string& report, const beck_copy::settings& asked) {
  const bool is_copy = beck_copy::inherited_descriptor(asked.target) == STDOUT_FILENO;
  beck_apps::write_result(is_copy ? STDERR_FILENO : STDOUT_FILENO, report,
                          is_copy ? "standard error" : "standard output");
}

int run(const beck_copy::settings& asked) {
  beck_copy::outcome done;
  std::string problem;
  try {
    beck_copy::copy(asked, done);
  } catch (const std::exception& e) {
    problem = e.what();
  }
  if (!problem.empty()) beck_apps::say("beck-copy: " + problem);
  if (asked.json)
    print_json(beck_copy::json_report(asked, done, problem), asked);
  else if (problem.empty())
    beck_copy::print_report(asked, done);
  return problem.empty() ? 0 : failed;
}

}  // namespace

int main(int argc, char** argv) {
  beck_apps::fill_standard_descriptors();
  beck_copy::install_interrupt();
  int status = wrong_usage;
  try {
    const auto asked = beck_copy::parse_command_line(argc, argv, status);
    if (!asked) return status;
    status = failed;
    return run(*asked);
  } catch (const std::exception& e) {
    beck_apps::say(std::string("beck-copy: ") + e.what());
    return status;
  }
}
