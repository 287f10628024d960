// SPDX-License-Identifier: BSL-1.0
//
// beck-redis-proxy: stands between an application and a Redis server. The manual is
// beck-redis-proxy.1 beside this file.
#include <csignal>
#include <exception>
#include <string>

#include "command_line.hpp"
#include "common/failure.hpp"
#include "common/output.hpp"
#include "proxy.hpp"

namespace {

constexpr int failed = 1;
constexpr int wrong = 2;

}  // namespace

int main(int argc, char** argv) {
  beck_apps::fill_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);  // the reader of standard output may be gone
  int status = 0;
  try {
    const auto asked = beck_redis_proxy::parse_command_line(argc, argv, status);
    if (asked) beck_redis_proxy::run_proxy(*asked);
  } catch (const beck_apps::wrong_usage& e) {
    beck_apps::say(std::string("beck-redis-proxy: ") + e.what());
    status = wrong;
  } catch (const std::exception& e) {
    beck_apps::say(std::string("beck-redis-proxy: ") + e.what());
    status = failed;
  }
  return status;
}
