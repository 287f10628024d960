// SPDX-License-Identifier: BSL-1.0
//
// Tables of metrics: a row for each counter, from which both texts are made that the proxy shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace beck_redis_proxy {

/// A row of a table.
template <class Counters>
struct metric_row {
  std::string_view name;
  std::string_view help;
  std::uint64_t Counters::* member;
};

/// A counter and its value. The name of one that only grows ends in "_total".
struct metric {
  std::string_view name;
  std::string_view help;
  std::uint64_t value;
};

/// The counters of one topic.
struct metric_section {
  std::string_view title;
  std::vector<metric> metrics;
};

/// Returns the values of a table.
template <class Counters, std::size_t N>
metric_section read_table(std::string_view title, const metric_row<Counters> (&rows)[N],
                          const Counters& of) {
  metric_section section{title, {}};
  section.metrics.reserve(N);
  for (const metric_row<Counters>& one : rows)
    section.metrics.push_back({one.name, one.help, of.*one.member});
  return section;
}

}  // namespace beck_redis_proxy
