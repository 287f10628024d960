// SPDX-License-Identifier: BSL-1.0
//
// beck-copy: copies files, devices and pipes by a mechanism that the user names. The manual is
// beck-copy.1 beside this file.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <optional>
#include <string>

#include "command_line.hpp"
#include "copy.hpp"
#include "interrupt.hpp"
#include "report.hpp"

namespace {

constexpr int failed = 1;
constexpr int wrong_usage = 2;

int run(const beck_copy::settings& asked) {
  beck_copy::outcome done;
  std::string problem;
  try {
    beck_copy::copy(asked, done);
  } catch (const std::exception& e) {
    problem = e.what();
  }
  if (!problem.empty()) fmt::print(stderr, "beck-copy: {}\n", problem);
  if (asked.json)  // standard output may be the copy
    fmt::print(asked.target == "-" ? stderr : stdout, "{}",
               beck_copy::json_report(asked, done, problem));
  else if (problem.empty())
    beck_copy::print_report(asked, done);
  return problem.empty() ? 0 : failed;
}

}  // namespace

int main(int argc, char** argv) {
  beck_copy::install_interrupt();
  try {
    int status = 0;
    const auto asked = beck_copy::parse_command_line(argc, argv, status);
    return asked ? run(*asked) : status;
  } catch (const std::exception& e) {
    fmt::print(stderr, "beck-copy: {}\n", e.what());
    return wrong_usage;
  }
}
