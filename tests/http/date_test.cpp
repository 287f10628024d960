// SPDX-License-Identifier: BSL-1.0
//
// Dates against the C library, over the whole range that the text can hold.
#include <doctest/doctest.h>
#include <beck/http/date.hpp>

#include <ctime>
#include <ostream>
#include <random>
#include <string>

namespace {

using beck::http::date_text;
using beck::http::parse_date;

constexpr std::int64_t first = -62'135'596'800;
constexpr std::int64_t last = 253'402'300'799;
constexpr std::int64_t now = 1'795'000'000;  // 2026

std::string written_by_libc(std::int64_t seconds, const char* format) {
  const std::time_t time = seconds;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[64];
  const std::size_t bytes = std::strftime(text, sizeof text, format, &parts);
  std::string all(text, bytes);
  if (const std::size_t at = all.find("YYYY"); at != std::string::npos) {
    char year[16];
    std::snprintf(year, sizeof year, "%04d", parts.tm_year + 1900);
    all.replace(at, 4, year);
  }
  return all;
}

bool reads(const std::string& text, std::int64_t expected) {
  std::int64_t seconds = 0;
  return parse_date(text, now, seconds) && seconds == expected;
}
bool is_refused(const std::string& text) {
  std::int64_t seconds = 42;
  return !parse_date(text, now, seconds) && seconds == 42;
}

TEST_CASE("every date is written as the C library does, and read again") {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<std::int64_t> any(first, last);
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t seconds = i == 0 ? first : i == 1 ? last : i < 200 ? i - 100 : any(random);
    const std::string text(date_text(seconds).view());
    REQUIRE(text == written_by_libc(seconds, "%a, %d %b YYYY %H:%M:%S GMT"));
    REQUIRE(reads(text, seconds));
    REQUIRE(reads(written_by_libc(seconds, "%a %b %e %H:%M:%S YYYY"), seconds));
  }
}

TEST_CASE("days around each end of February are counted as the C library does") {
  for (const int year : {1600, 1700, 1900, 1970, 2000, 2024, 2026, 2100, 9999}) {
    for (int day = 26; day < 33; ++day) {
      std::tm parts{};
      parts.tm_year = year - 1900;
      parts.tm_mon = 1;
      parts.tm_mday = day;
      const std::int64_t seconds = ::timegm(&parts);
      CHECK(date_text(seconds).view() == written_by_libc(seconds, "%a, %d %b YYYY %H:%M:%S GMT"));
    }
  }
}

TEST_CASE("points outside of the range become its ends") {
  CHECK(date_text(first - 1).view() == date_text(first).view());
  CHECK(date_text(last + 1).view() == "Fri, 31 Dec 9999 23:59:59 GMT");
  CHECK(date_text(INT64_MIN).view() == "Mon, 01 Jan 0001 00:00:00 GMT");
  CHECK(date_text(INT64_MAX).view() == date_text(last).view());
}

TEST_CASE("two digits of a year stand for the nearest that is not far ahead") {
  CHECK(reads("Sunday, 06-Nov-94 08:49:37 GMT", 784'111'777));
  CHECK(reads("Saturday, 01-Jan-00 00:00:00 GMT", 946'684'800));
  CHECK(reads("Wednesday, 01-Jan-76 00:00:00 GMT", 3'345'062'400));  // 2076
  CHECK(reads("Saturday, 01-Jan-77 00:00:00 GMT", 220'924'800));     // 1977
  std::int64_t seconds = 42;
  CHECK_FALSE(parse_date("Sunday, 30-Nov-47 08:49:37 GMT", last, seconds));  // 10047
  CHECK(seconds == 42);
}

TEST_CASE("texts that are no dates are refused") {
  for (const char* text : {"",
                           "Sun",
                           "Sun, 06 Nov 1994 08:49:37",
                           "Sun, 06 Nov 1994 08:49:37 UTC",
                           "Sun, 06 Nov 1994 08:49:37 GMT ",
                           " Sun, 06 Nov 1994 08:49:37 GMT",
                           "sun, 06 Nov 1994 08:49:37 GMT",
                           "Sun, 6 Nov 1994 08:49:37 GMT",
                           "Sun, 06 nov 1994 08:49:37 GMT",
                           "Sun, 00 Nov 1994 08:49:37 GMT",
                           "Sun, 31 Nov 1994 08:49:37 GMT",
                           "Sun, 29 Feb 1900 08:49:37 GMT",
                           "Sun, 06 Nov 0000 08:49:37 GMT",
                           "Sun, 06 Nov 1994 24:49:37 GMT",
                           "Sun, 06 Nov 1994 08:60:37 GMT",
                           "Sun, 06 Nov 1994 08:49:61 GMT",
                           "Sun, 06 Nov 94 08:49:37 GMT",
                           "Sunday, 06-Nov-1994 08:49:37 GMT",
                           "Sun, 06-Nov-94 08:49:37 GMT",
                           "Sun Nov 6 08:49:37 94",
                           "Sun Nov 06 08:49:37 1994 ",
                           "Sun, 06 Nov 1994 08:49:3",
                           "Sun, 06 Nov 1994 0x:49:37 GMT"}) {
    CAPTURE(text);
    CHECK(is_refused(text));
  }
  CHECK(reads("Sat, 31 Dec 2016 23:59:60 GMT", 1'483'228'800));  // a leap second
  CHECK(reads("Tue, 29 Feb 2000 00:00:00 GMT", 951'782'400));
}

}  // namespace
