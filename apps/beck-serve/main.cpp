// SPDX-License-Identifier: BSL-1.0
//
// beck-serve: serves the files of a folder over HTTP. The manual is beck-serve.1 beside this file.
#include <csignal>
#include <exception>
#include <string>

#include "command_line.hpp"
#include "common/output.hpp"
#include "failure.hpp"
#include "serving.hpp"

namespace {

constexpr int failed = 1;
constexpr int wrong = 2;

}  // namespace

int main(int argc, char** argv) {
  beck_apps::fill_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);  // a log that is a pipe may lose its reader
  int status = 0;
  try {
    const auto asked = beck_serve::parse_command_line(argc, argv, status);
    if (asked) status = beck_serve::serve(*asked);
  } catch (const beck_serve::wrong_usage& e) {
    beck_apps::say(std::string("beck-serve: ") + e.what());
    status = wrong;
  } catch (const std::exception& e) {
    beck_apps::say(std::string("beck-serve: ") + e.what());
    status = failed;
  }
  return status;
}
