// SPDX-License-Identifier: BSL-1.0
//
// A table of metrics. A family is its HELP, its TYPE and its sample; a counter's name ends in
// "_total".
#include "counters.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

namespace beck_redis_proxy {
namespace {

struct row {
  std::string_view name;
  std::string_view help;
  std::uint64_t counters::* member;
};

constexpr row rows[] = {
    {"clients", "Clients that are connected.", &counters::clients},
    {"accepted_total", "Connections accepted.", &counters::accepted},
    {"turned_away_total", "Clients above --max-clients.", &counters::turned_away},
    {"unreachable_total", "Clients for which there was no server.", &counters::unreachable},
    {"idle_total", "Clients that --idle has ended.", &counters::idle},
    {"broken_total", "Clients whose connection a reset has ended, on either side.",
     &counters::broken},
    {"to_server_bytes_total", "Bytes relayed to the server.", &counters::to_server},
    {"to_clients_bytes_total", "Bytes relayed to clients.", &counters::to_clients},
};
static_assert(sizeof(counters) == std::size(rows) * sizeof(std::uint64_t), "a row for each");

}  // namespace

std::string metrics_text(const counters& of) {
  std::string text;
  for (const row& one : rows) {
    fmt::format_to(std::back_inserter(text),
                   "# HELP beck_redis_proxy_{0} {1}\n# TYPE beck_redis_proxy_{0} {2}\n"
                   "beck_redis_proxy_{0} {3}\n",
                   one.name, one.help, one.name.ends_with("_total") ? "counter" : "gauge",
                   of.*one.member);
  }
  return text;
}

}  // namespace beck_redis_proxy
