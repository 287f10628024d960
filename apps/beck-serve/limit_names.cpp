// SPDX-License-Identifier: BSL-1.0
//
// One table: the name, the kind of the value, its greatest value, and where it goes.
#include "limit_names.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "common/unit_text.hpp"
#include "failure.hpp"

namespace beck_serve {
namespace {

using beck::duration;
using beck::http::limits;
using beck_apps::day;
using beck_apps::ms;
using beck_apps::second;
using beck_apps::unit;

enum class kind : unsigned char { count, bytes, time };

struct row {
  std::string_view name;
  kind of;
  std::uint64_t least;
  std::uint64_t most;  // in ns for times
  void (*set)(limits& to, std::uint64_t value);
  std::uint64_t (*get)(const limits& from);
};

duration time_of(std::uint64_t ns) { return duration(static_cast<long long>(ns)); }
std::uint64_t ns_of(duration d) { return static_cast<std::uint64_t>(d.nanoseconds()); }

template <auto Member>
void set_head(limits& to, std::uint64_t value) {
  beck::http::head_limits heads = to.heads();
  heads.*Member = static_cast<std::remove_reference_t<decltype(heads.*Member)>>(value);
  to.heads(heads);
}
template <auto Member>
std::uint64_t get_head(const limits& from) {
  return from.heads().*Member;
}
template <limits& (limits::*Set)(duration) noexcept>
void set_time(limits& to, std::uint64_t value) {
  (to.*Set)(time_of(value));
}
template <duration (limits::*Get)() const noexcept>
std::uint64_t get_time(const limits& from) {
  return ns_of((from.*Get)());
}

using beck::http::head_limits;

constexpr row rows[] = {
    {"connections", kind::count, 1, 10'000'000,
     [](limits& to, std::uint64_t n) { to.connections(n); },
     [](const limits& from) -> std::uint64_t { return from.connections(); }},
    {"per_address", kind::count, 0, 10'000'000,
     [](limits& to, std::uint64_t n) { to.per_address(n); },
     [](const limits& from) -> std::uint64_t { return from.per_address(); }},
    {"handshakes", kind::count, 1, 10'000'000,
     [](limits& to, std::uint64_t n) { to.handshakes(n); },
     [](const limits& from) -> std::uint64_t { return from.handshakes(); }},
    {"handshake", kind::time, ms, day, set_time<&limits::handshake>, get_time<&limits::handshake>},
    {"idle", kind::time, ms, day, set_time<&limits::idle>, get_time<&limits::idle>},
    {"head", kind::time, ms, day, set_time<&limits::head>, get_time<&limits::head>},
    {"head_bytes", kind::bytes, 64, 65'535, set_head<&head_limits::head_bytes>,
     get_head<&head_limits::head_bytes>},
    {"target_bytes", kind::bytes, 1, 65'535, set_head<&head_limits::target_bytes>,
     get_head<&head_limits::target_bytes>},
    {"fields", kind::count, 1, 128, set_head<&head_limits::fields>, get_head<&head_limits::fields>},
    {"name_bytes", kind::bytes, 1, 255, set_head<&head_limits::name_bytes>,
     get_head<&head_limits::name_bytes>},
    {"body_bytes", kind::bytes, 0, INT64_MAX, [](limits& to, std::uint64_t n) { to.body_bytes(n); },
     [](const limits& from) { return from.bodies().body_bytes; }},
    {"body_rate", kind::bytes, 0, UINT32_MAX,
     [](limits& to, std::uint64_t n) {
       to.body_rate(static_cast<std::uint32_t>(n), to.body_grace());
     },
     [](const limits& from) -> std::uint64_t { return from.body_rate(); }},
    {"body_grace", kind::time, 0, day,
     [](limits& to, std::uint64_t n) { to.body_rate(to.body_rate(), time_of(n)); },
     get_time<&limits::body_grace>},
    {"body_pause", kind::time, ms, day, set_time<&limits::body_pause>,
     get_time<&limits::body_pause>},
    {"unread_body", kind::bytes, 0, INT64_MAX,
     [](limits& to, std::uint64_t n) { to.unread_body(n); },
     [](const limits& from) -> std::uint64_t { return from.unread_body(); }},
    {"reply", kind::time, ms, day, set_time<&limits::reply>, get_time<&limits::reply>},
    {"linger", kind::time, 0, day,
     [](limits& to, std::uint64_t n) { to.linger(time_of(n), to.linger_bytes()); },
     get_time<&limits::linger>},
    {"linger_bytes", kind::bytes, 0, INT64_MAX,
     [](limits& to, std::uint64_t n) { to.linger(to.linger(), n); },
     [](const limits& from) -> std::uint64_t { return from.linger_bytes(); }},
};

constexpr unit count_units[] = {{"", 1}};
constexpr unit byte_units[] = {{"", 1}, {"B", 1}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}};

bool read_value(std::string_view text, const row& r, std::uint64_t& value) {
  switch (r.of) {
    case kind::count:
      return beck_apps::read_number(text, count_units, r.most, value);
    case kind::bytes:
      return beck_apps::read_number(text, byte_units, r.most, value);
    case kind::time:
      return beck_apps::read_number(text, beck_apps::time_units, r.most, value);
  }
  return false;
}

std::string value_text(kind of, std::uint64_t value) {
  if (of == kind::time && value % second == 0) return fmt::format("{}s", value / second);
  if (of == kind::time) return fmt::format("{}ms", value / ms);
  if (of == kind::bytes && value >= 1024 && value % 1024 == 0)
    return value % (1 << 20) == 0 ? fmt::format("{}M", value >> 20)
                                  : fmt::format("{}K", value >> 10);
  return std::to_string(value);
}

std::string_view form_of(kind of) {
  switch (of) {
    case kind::count:
      return "a number";
    case kind::bytes:
      return "bytes, such as 4096, 64K or 10M,";
    case kind::time:
      return "a time, such as 500ms, 10s or 2m,";
  }
  return {};
}

}  // namespace

void set_limit(std::string_view text, limits& to) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  for (const row& r : rows) {
    if (r.name != name) continue;
    std::uint64_t value = 0;
    const bool is_read = equals != std::string_view::npos &&
                         read_value(text.substr(equals + 1), r, value) && value >= r.least;
    if (!is_read)
      throw wrong_usage(fmt::format("--limit {}: {} is {} from {} to {}", text, name, form_of(r.of),
                                    value_text(r.of, r.least), value_text(r.of, r.most)));
    r.set(to, value);
    return;
  }
  std::string known;
  for (const row& r : rows) known.append(known.empty() ? "" : ", ").append(r.name);
  throw wrong_usage(fmt::format("--limit {}: there is no such limit; there are: {}", text, known));
}

std::string limits_help() {
  const limits defaults;
  std::string text;
  for (const row& r : rows)
    text += fmt::format("  {:14}{}\n", r.name, value_text(r.of, r.get(defaults)));
  return text;
}

}  // namespace beck_serve
