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
using beck::http::body_limits;
using beck::http::head_limits;
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

template <class Limits, class T>
auto& member_of(Limits& in, T limits::* member) {
  return in.*member;
}
template <class Limits, class T>
auto& member_of(Limits& in, T head_limits::* member) {
  return in.heads.*member;
}
template <class Limits, class T>
auto& member_of(Limits& in, T body_limits::* member) {
  return in.bodies.*member;
}

template <class T>
void assign(T& to, std::uint64_t value) {
  to = static_cast<T>(value);
}
void assign(duration& to, std::uint64_t ns) { to = duration(static_cast<long long>(ns)); }
std::uint64_t number_of(std::uint64_t value) { return value; }
std::uint64_t number_of(duration d) { return static_cast<std::uint64_t>(d.nanoseconds()); }

template <auto Member>
constexpr row row_of(std::string_view name, kind of, std::uint64_t least, std::uint64_t most) {
  return {name,
          of,
          least,
          most,
          [](limits& to, std::uint64_t value) { assign(member_of(to, Member), value); },
          [](const limits& from) { return number_of(member_of(from, Member)); }};
}

constexpr row rows[] = {
    row_of<&limits::connections>("connections", kind::count, 1, 10'000'000),
    row_of<&limits::per_address>("per_address", kind::count, 0, 10'000'000),
    row_of<&limits::handshakes>("handshakes", kind::count, 1, 10'000'000),
    row_of<&limits::handshake_timeout>("handshake_timeout", kind::time, ms, day),
    row_of<&limits::idle_timeout>("idle_timeout", kind::time, ms, day),
    row_of<&limits::head_timeout>("head_timeout", kind::time, ms, day),
    row_of<&head_limits::head_bytes>("head_bytes", kind::bytes, 64, 65'535),
    row_of<&head_limits::target_bytes>("target_bytes", kind::bytes, 1, 65'535),
    row_of<&head_limits::fields>("fields", kind::count, 1, 128),
    row_of<&head_limits::name_bytes>("name_bytes", kind::bytes, 1, 255),
    row_of<&body_limits::body_bytes>("body_bytes", kind::bytes, 0, INT64_MAX),
    row_of<&limits::body_rate>("body_rate", kind::bytes, 0, UINT32_MAX),
    row_of<&limits::body_grace>("body_grace", kind::time, 0, day),
    row_of<&limits::body_timeout>("body_timeout", kind::time, ms, day),
    row_of<&limits::unread_body_bytes>("unread_body_bytes", kind::bytes, 0, INT64_MAX),
    row_of<&limits::send_timeout>("send_timeout", kind::time, ms, day),
    row_of<&limits::linger_timeout>("linger_timeout", kind::time, 0, day),
    row_of<&limits::linger_bytes>("linger_bytes", kind::bytes, 0, INT64_MAX),
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
    text += fmt::format("  {:19}{}\n", r.name, value_text(r.of, r.get(defaults)));
  return text;
}

}  // namespace beck_serve
