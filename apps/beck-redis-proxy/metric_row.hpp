// SPDX-License-Identifier: BSL-1.0
//
// Rows of metrics, and their text for Prometheus: the format 0.0.4. A family is its HELP, its TYPE
// and its sample; a counter's name ends in "_total".
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace beck_redis_proxy {

template <class Counters>
struct metric_row {
  std::string_view name;
  std::string_view help;
  std::uint64_t Counters::* member;
};

template <class Counters, std::size_t N>
std::string text_of_metrics(const metric_row<Counters> (&rows)[N], const Counters& of) {
  std::string text;
  for (const metric_row<Counters>& one : rows) {
    fmt::format_to(std::back_inserter(text),
                   "# HELP beck_redis_proxy_{0} {1}\n# TYPE beck_redis_proxy_{0} {2}\n"
                   "beck_redis_proxy_{0} {3}\n",
                   one.name, one.help, one.name.ends_with("_total") ? "counter" : "gauge",
                   of.*one.member);
  }
  return text;
}

}  // namespace beck_redis_proxy
