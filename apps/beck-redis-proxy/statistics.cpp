// SPDX-License-Identifier: BSL-1.0
//
// Both texts have the same rows.
#include "statistics.hpp"

#include <fmt/format.h>

#include <beck/base/version.hpp>
#include <iterator>

namespace beck_redis_proxy {

std::string statistics::prometheus() const {
  std::string text;
  for (const table& section : tables_) {
    for (const metric& one : section().metrics) {
      const std::string_view type = one.name.ends_with("_total") ? "counter" : "gauge";
      fmt::format_to(std::back_inserter(text),
                     "# HELP beck_redis_proxy_{0} {1}\n# TYPE beck_redis_proxy_{0} {2}\n"
                     "beck_redis_proxy_{0} {3}\n",
                     one.name, one.help, type, one.value);
    }
  }
  return text;
}

std::string statistics::info() const {
  std::string text =
      fmt::format("# Proxy\r\nversion:{}\r\nserver:{}\r\n", beck::version(), server_);
  for (const table& each : tables_) {
    const metric_section section = each();
    fmt::format_to(std::back_inserter(text), "\r\n# {}\r\n", section.title);
    for (const metric& one : section.metrics)
      fmt::format_to(std::back_inserter(text), "{}:{}\r\n", one.name, one.value);
  }
  return text;
}

}  // namespace beck_redis_proxy
