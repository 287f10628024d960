// SPDX-License-Identifier: BSL-1.0
//
// Time arithmetic must saturate: an overflow would turn "for ever" into "at once". Checked against
// std::chrono where both are defined.
#include <doctest/doctest.h>

#include <beck/base/duration.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace {

using beck::duration;
using beck::time_point;
using namespace std::chrono_literals;

constexpr long long ns(duration d) { return d.nanoseconds(); }
constexpr long long highest = std::numeric_limits<long long>::max();
constexpr long long lowest = std::numeric_limits<long long>::min();

static_assert(ns(10s) == 10'000'000'000);
static_assert(ns(-3ms) == -3'000'000);
static_assert(ns(1h) == 3'600'000'000'000);
static_assert(ns(duration()) == 0);
static_assert(ns(std::chrono::years::max()) == highest);
static_assert(std::is_convertible_v<std::chrono::milliseconds, duration>);
static_assert(!std::is_convertible_v<long long, duration>);
static_assert(!std::is_convertible_v<std::chrono::system_clock::time_point, time_point>);
static_assert(std::is_convertible_v<std::chrono::steady_clock::time_point, time_point>);

TEST_CASE("huge durations saturate at both ends") {
  CHECK(ns(std::chrono::hours::max()) == highest);
  CHECK(ns(std::chrono::hours::min()) == lowest);
  CHECK(ns(std::chrono::nanoseconds::max()) == highest);
  CHECK(ns(std::chrono::nanoseconds::min()) == lowest);
  CHECK(ns(std::chrono::nanoseconds(lowest + 1)) == lowest + 1);
  CHECK(ns(std::chrono::duration<unsigned long long>(~0ULL)) == highest);
  CHECK(ns(std::chrono::duration<unsigned long long, std::nano>(~0ULL)) == highest);
  CHECK(ns(std::chrono::duration<long long, std::ratio<INT64_MAX>>(1)) == highest);
  CHECK(ns(std::chrono::duration<long long, std::ratio<INT64_MAX>>(-1)) == lowest);
  CHECK(ns(std::chrono::duration<long long, std::ratio<INT64_MAX>>(0)) == 0);
}

TEST_CASE("a part of a nanosecond is rounded up, so that no wait is too short") {
  using picoseconds = std::chrono::duration<long long, std::pico>;
  CHECK(ns(picoseconds(1)) == 1);
  CHECK(ns(picoseconds(1000)) == 1);
  CHECK(ns(picoseconds(1001)) == 2);
  CHECK(ns(picoseconds(-1)) == 0);
  CHECK(ns(picoseconds(-1999)) == -1);
  CHECK(ns(picoseconds::max()) == highest / 1000 + 1);
  CHECK(ns(std::chrono::duration<int, std::ratio<1, 3>>(1)) == 333'333'334);
  CHECK(ns(std::chrono::duration<int, std::ratio<1, 3>>(-1)) == -333'333'333);
  CHECK(ns(std::chrono::duration<std::uint8_t, std::atto>(7)) == 1);
}

TEST_CASE("floating counts convert, saturate, and NaN is zero") {
  using fseconds = std::chrono::duration<double>;
  CHECK(ns(fseconds(0.1)) == 100'000'000);
  CHECK(ns(fseconds(0.25)) == 250'000'000);
  CHECK(ns(fseconds(-1.5)) == -1'500'000'000);
  CHECK(ns(fseconds(1e-10)) == 1);
  CHECK(ns(fseconds(1e300)) == highest);
  CHECK(ns(fseconds(-1e300)) == lowest);
  CHECK(ns(fseconds(std::numeric_limits<double>::infinity())) == highest);
  CHECK(ns(fseconds(-std::numeric_limits<double>::infinity())) == lowest);
  CHECK(ns(fseconds(std::nan(""))) == 0);
  CHECK(ns(std::chrono::duration<float, std::milli>(0.5F)) == 500'000);
  CHECK(ns(std::chrono::duration<long double, std::nano>(9223372036854775806.0L)) == highest - 1);
  CHECK(ns(std::chrono::duration<double, std::nano>(9223372036854775808.0)) == highest);
}

TEST_CASE("durations that fit convert as std::chrono's own conversion does") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto count = static_cast<long long>(random() >> (random() % 64)) / 1'000'000'000;
    const auto signed_count = (i & 1) != 0 ? -count : count;
    REQUIRE(ns(std::chrono::seconds(signed_count)) == signed_count * 1'000'000'000);
    const std::chrono::nanoseconds direct(static_cast<long long>(random()));
    REQUIRE(ns(direct) == direct.count());
    const std::chrono::microseconds micros(signed_count);
    REQUIRE(ns(micros) == std::chrono::nanoseconds(micros).count());
  }
}

TEST_CASE("sums and differences saturate") {
  CHECK(duration::max() + 1ns == duration::max());
  CHECK(duration::min() + -1ns == duration::min());
  CHECK(duration::min() - 1ns == duration::min());
  CHECK(duration::max() - duration(-1) == duration::max());
  CHECK(duration() - duration::min() == duration::max());
  CHECK(-duration::min() == duration::max());
  CHECK(duration(5) + duration(6) == duration(11));
  duration d = 1s;
  d += 500ms;
  d -= 1ms;
  CHECK(d == 1499ms);
}

TEST_CASE("durations compare with each other and with std::chrono's") {
  CHECK(duration(1) < duration(2));
  CHECK(duration(1'000'000) == 1ms);
  CHECK(duration(1) < 1ms);
  CHECK(1ms > duration(1));
  CHECK(duration::zero() == duration());
  CHECK(duration::seconds(-3) == -3s);
  CHECK(duration::seconds(10'000'000'000) == duration::max());
  CHECK(duration::seconds(-10'000'000'000) == duration::min());
  CHECK(duration::min() < duration::zero());
}

TEST_CASE("durations convert to std::chrono's, implicitly where nothing is lost") {
  const std::chrono::nanoseconds exact = duration(7);
  CHECK(exact == 7ns);
  const std::chrono::duration<double> seconds = duration(1'500'000'000);
  CHECK(seconds.count() == 1.5);
  CHECK(std::chrono::milliseconds(duration(1'999'999)) == 1ms);
  CHECK(std::chrono::milliseconds(duration(-1'999'999)) == -1ms);
  CHECK(static_cast<std::chrono::hours>(duration(7'300'000'000'000)) == 2h);
  CHECK(std::chrono::nanoseconds(duration::max()) == std::chrono::nanoseconds::max());
  CHECK(std::chrono::nanoseconds(duration::min()) == std::chrono::nanoseconds::min());
  using picoseconds = std::chrono::duration<long long, std::pico>;
  CHECK(picoseconds(duration(3)).count() == 3000);
  CHECK(picoseconds(duration::max()) == picoseconds::max());
  CHECK(picoseconds(duration::min()) == picoseconds::min());
  using narrow = std::chrono::duration<int, std::milli>;
  CHECK(narrow(duration::max()).count() == std::numeric_limits<int>::max());
  CHECK(narrow(duration::min()).count() == std::numeric_limits<int>::min());
  using unsigned_seconds = std::chrono::duration<unsigned char>;
  CHECK(unsigned_seconds(duration(-5s)).count() == 0);
  CHECK(unsigned_seconds(duration(300s)).count() == 255);
  static_assert(std::is_convertible_v<duration, picoseconds>);
  static_assert(!std::is_convertible_v<duration, std::chrono::microseconds>);
  using thirds = std::chrono::duration<long long, std::ratio<1, 2'500'000'000>>;
  static_assert(!std::is_convertible_v<duration, thirds>);  // a nanosecond is 2.5 of them
  static_assert(!std::is_constructible_v<long long, duration>);
}

TEST_CASE("points in time convert to those of std::chrono's clock, and to no other") {
  using steady = std::chrono::steady_clock::time_point;
  using date = std::chrono::system_clock::time_point;
  const steady now = time_point(duration(5));
  CHECK(now.time_since_epoch() == 5ns);
  CHECK(time_point(now) == time_point(duration(5)));
  CHECK(steady(time_point::max()) == steady::max());
  const beck::system_time_point then(duration(1'700'000'000'999'999'999));
  CHECK(std::chrono::sys_seconds(then).time_since_epoch() == 1'700'000'000s);
  static_assert(std::is_convertible_v<beck::system_time_point, date>);
  static_assert(!std::is_convertible_v<beck::system_time_point, std::chrono::sys_seconds>);
  static_assert(!std::is_constructible_v<steady, beck::system_time_point>);
  static_assert(!std::is_constructible_v<date, time_point>);
}

TEST_CASE("a time point comes from the steady clock and keeps its nanoseconds") {
  const auto now = std::chrono::steady_clock::now();
  const time_point t = now;
  CHECK(t.nanoseconds() ==
        std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count());
  CHECK(t + 1s > t);
  CHECK((t + 1s) - t == 1s);
  CHECK(t - 1s < now);
  CHECK(time_point(std::chrono::steady_clock::time_point::max()) == time_point::max());
}

TEST_CASE("never stays never, and a point plus a huge duration is never") {
  CHECK(time_point::max().is_never());
  CHECK(time_point::max() + -1h == time_point::max());
  CHECK(time_point::max() - 1h == time_point::max());
  CHECK((time_point(duration(5)) + duration::max()).is_never());
  CHECK((time_point(duration(5)) + 10h * 10'000'000).is_never());
  CHECK(time_point::max() - time_point(duration(5)) == duration::max());
  CHECK(time_point::min() - 1ns == time_point::min());
  time_point t;
  t += 3ns;
  t -= 1ns;
  CHECK(t.nanoseconds() == 2);
}

}  // namespace
