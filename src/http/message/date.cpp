// SPDX-License-Identifier: BSL-1.0
// Dates of the Gregorian calendar, read and written. Years begin in March here, so that the day
// missing in some years is the last one.
#include <beck/http/date.hpp>

#include <cstring>

#include "http/message/characters.hpp"

namespace beck::http {
namespace {

constexpr std::string_view day_names[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                          "Thursday", "Friday", "Saturday"};
constexpr std::string_view month_names[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::int64_t day_seconds = 86'400;
constexpr std::int64_t first_second = -62'135'596'800;  // 0001-01-01 00:00:00
constexpr std::int64_t last_second = 253'402'300'799;   // 9999-12-31 23:59:59
constexpr std::int64_t cycle_days = 146'097;            // of 400 years
constexpr std::int64_t march_to_1970 = 719'468;         // days from 0000-03-01

struct civil_date {
  std::int64_t year;
  unsigned month;  ///< 1 to 12
  unsigned day;    ///< 1 to 31
};

/// Returns the number of days from 1970-01-01 to `date`. Requires a year from 1 on.
std::int64_t days_of(const civil_date& date) noexcept {
  const std::int64_t year = date.month <= 2 ? date.year - 1 : date.year;
  const unsigned month = date.month <= 2 ? date.month + 9 : date.month - 3;  // from March
  const std::int64_t in_year = (153 * month + 2) / 5 + date.day - 1;
  return year * 365 + year / 4 - year / 100 + year / 400 + in_year - march_to_1970;
}

civil_date date_of(std::int64_t days) noexcept {
  const std::int64_t since = days + march_to_1970;
  const std::int64_t cycle = since / cycle_days;
  const std::int64_t in_cycle = since % cycle_days;
  const std::int64_t year =
      (in_cycle - in_cycle / 1460 + in_cycle / 36'524 - in_cycle / 146'096) / 365;
  const std::int64_t in_year = in_cycle - (365 * year + year / 4 - year / 100);
  const auto month = static_cast<unsigned>((5 * in_year + 2) / 153);
  const auto day = static_cast<unsigned>(in_year - (153 * month + 2) / 5 + 1);
  return {cycle * 400 + year + (month >= 10 ? 1 : 0), month < 10 ? month + 3 : month - 9, day};
}

unsigned month_days(std::int64_t year, unsigned month) noexcept {
  const bool leaps = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  if (month == 2) return leaps ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

void write_number(char* to, std::int64_t number, unsigned digits) noexcept {
  for (unsigned i = digits; i > 0; --i) {
    to[i - 1] = static_cast<char>('0' + number % 10);
    number /= 10;
  }
}

/// Takes the parts of a date from the front of its text. `ok` becomes false once a part is missing.
struct date_reader {
  std::string_view rest;
  bool ok = true;

  void skip(std::string_view text) noexcept {
    ok = ok && rest.substr(0, text.size()) == text;
    if (ok) rest.remove_prefix(text.size());
  }
  unsigned number(unsigned digits) noexcept {
    unsigned value = 0;
    for (unsigned i = 0; i < digits; ++i) {
      ok = ok && !rest.empty() && detail::is_in(rest[0], detail::is_digit);
      if (!ok) return 0;
      value = value * 10 + static_cast<unsigned>(rest[0] - '0');
      rest.remove_prefix(1);
    }
    return value;
  }
  unsigned month() noexcept {
    for (unsigned i = 0; i < 12; ++i) {
      if (rest.substr(0, 3) != month_names[i]) continue;
      rest.remove_prefix(3);
      return i + 1;
    }
    ok = false;
    return 0;
  }
  /// Takes a day of the week with at most `bytes` of its letters.
  bool weekday(std::size_t bytes) noexcept {
    for (const std::string_view name : day_names) {
      const std::string_view part = name.substr(0, bytes);
      if (rest.substr(0, part.size()) != part) continue;
      rest.remove_prefix(part.size());
      return true;
    }
    return false;
  }
};

}  // namespace

date_text::date_text(std::int64_t seconds) noexcept {
  if (seconds < first_second) seconds = first_second;
  if (seconds > last_second) seconds = last_second;
  std::int64_t days = seconds / day_seconds;
  std::int64_t in_day = seconds % day_seconds;
  if (in_day < 0) {
    in_day += day_seconds;
    --days;
  }
  const civil_date date = date_of(days);
  const auto weekday = static_cast<std::size_t>((days % 7 + 11) % 7);  // 1970-01-01: a Thursday
  std::memcpy(text_, "Sun, 06 Nov 1994 08:49:37 GMT", bytes);
  std::memcpy(text_, day_names[weekday].data(), 3);
  write_number(text_ + 5, date.day, 2);
  std::memcpy(text_ + 8, month_names[date.month - 1].data(), 3);
  write_number(text_ + 12, date.year, 4);
  write_number(text_ + 17, in_day / 3600, 2);
  write_number(text_ + 20, in_day / 60 % 60, 2);
  write_number(text_ + 23, in_day % 60, 2);
}

bool functions::parse_date(std::string_view text, std::int64_t now,
                           std::int64_t& seconds) noexcept {
  date_reader in{text};
  const std::size_t comma = text.find(',');
  const bool has_short_year = comma != std::string_view::npos && comma != 3;
  if (!in.weekday(has_short_year ? std::string_view::npos : 3)) return false;
  civil_date date{};
  unsigned hour = 0, minute = 0, second = 0;
  const auto take_time = [&] {
    hour = in.number(2);
    in.skip(":");
    minute = in.number(2);
    in.skip(":");
    second = in.number(2);
  };
  if (comma == std::string_view::npos) {  // asctime(3)
    in.skip(" ");
    date.month = in.month();
    in.skip(" ");
    if (in.rest.substr(0, 1) == " ") in.skip(" ");
    date.day = in.number(in.rest.size() > 1 && in.rest[1] == ' ' ? 1 : 2);
    in.skip(" ");
    take_time();
    in.skip(" ");
    date.year = in.number(4);
  } else {
    in.skip(", ");
    date.day = in.number(2);
    in.skip(has_short_year ? "-" : " ");
    date.month = in.month();
    in.skip(has_short_year ? "-" : " ");
    date.year = in.number(has_short_year ? 2 : 4);
    in.skip(" ");
    take_time();
    in.skip(" GMT");
  }
  if (!in.ok || !in.rest.empty()) return false;
  if (has_short_year) {
    const std::int64_t latest = date_of(now / day_seconds).year + 50;
    date.year += latest / 100 * 100;
    if (date.year > latest) date.year -= 100;
  }
  if (date.year < 1 || date.year > 9999 || date.day < 1 ||
      date.day > month_days(date.year, date.month) || hour > 23 || minute > 59 || second > 60)
    return false;
  seconds =
      days_of(date) * day_seconds + std::int64_t{hour} * 3600 + std::int64_t{minute} * 60 + second;
  return true;
}

}  // namespace beck::http
