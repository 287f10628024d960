// SPDX-License-Identifier: BSL-1.0
//
// Durations and points in time without <chrono>, which costs a user's file a third of a second.
// Types of the shape of std::chrono's convert. Every conversion and sum saturates: a huge duration
// means "for ever", and never becomes negative by overflow.
#pragma once

#include <compare>
#include <concepts>
#include <type_traits>
#include <utility>

namespace beck {

namespace detail {

/// The shape of std::chrono::duration: count() in units of period::num / period::den seconds.
template <class D>
concept duration_like = requires(const D& d) {
  requires std::is_arithmetic_v<std::remove_cvref_t<decltype(d.count())>>;
  requires(D::period::num > 0 && D::period::den > 0);
};
/// The type of count().
template <duration_like D>
using count_of = std::remove_cvref_t<decltype(std::declval<const D&>().count())>;
/// Whether a nanosecond is a whole number of the units of D, or its numbers are floating point.
template <class D>
concept fine_duration =
    duration_like<D> &&
    (std::floating_point<count_of<D>> || (D::period::num == 1 && D::period::den % 1000000000 == 0));

}  // namespace detail

/// A signed number of nanoseconds. Converts from std::chrono::duration and similar types, and to
/// them by std::chrono's rules: explicitly if the unit is longer than a nanosecond. Arithmetic and
/// conversions saturate. A value; any thread.
class duration {
 public:
  /// Makes zero.
  constexpr duration() noexcept = default;
  /// Makes this number of nanoseconds.
  constexpr explicit duration(long long nanoseconds) noexcept : ns_(nanoseconds) {}

  /// Converts, saturating. A part of a nanosecond is rounded up, so that a wait is never shorter
  /// than requested. NaN is zero.
  template <detail::duration_like D>
  constexpr duration(const D& d) noexcept
      : ns_(from_count<D::period::num, D::period::den>(d.count())) {}

  /// Converts, saturating. A part of a unit is dropped, as std::chrono::duration_cast does.
  template <detail::duration_like D>
  constexpr explicit(!detail::fine_duration<D>) operator D() const noexcept {
    return D(to_count<D::period::num, D::period::den, detail::count_of<D>>(ns_));
  }

  /// Returns the number of nanoseconds.
  constexpr long long nanoseconds() const noexcept { return ns_; }

  /// Returns `count` seconds, saturating.
  static constexpr duration seconds(long long count) noexcept {
    long long ns = 0;
    if (!__builtin_mul_overflow(count, ns_per_second, &ns)) return duration(ns);
    return count < 0 ? min() : max();
  }
  /// Returns zero.
  static constexpr duration zero() noexcept { return duration(); }
  /// Returns the least duration.
  static constexpr duration min() noexcept { return duration(lowest); }
  /// Returns the greatest duration.
  static constexpr duration max() noexcept { return duration(highest); }

  friend constexpr auto operator<=>(const duration&, const duration&) = default;

  friend constexpr duration operator+(duration a, duration b) noexcept {
    long long sum = 0;
    if (!__builtin_add_overflow(a.ns_, b.ns_, &sum)) return duration(sum);
    return b.ns_ < 0 ? min() : max();
  }
  friend constexpr duration operator-(duration a, duration b) noexcept {
    long long difference = 0;
    if (!__builtin_sub_overflow(a.ns_, b.ns_, &difference)) return duration(difference);
    return b.ns_ < 0 ? max() : min();
  }
  /// Returns the negative; max() for min().
  friend constexpr duration operator-(duration a) noexcept { return duration() - a; }
  /// Adds `d`, saturating.
  constexpr duration& operator+=(duration d) noexcept { return *this = *this + d; }
  /// Subtracts `d`, saturating.
  constexpr duration& operator-=(duration d) noexcept { return *this = *this - d; }

 private:
  static constexpr long long highest = 9223372036854775807LL;
  static constexpr long long lowest = -highest - 1;
  static constexpr long long ns_per_second = 1000000000;
  __extension__ using wide = __int128;

  template <long long Num, long long Den, class Rep>
  static constexpr long long from_count(Rep count) noexcept {
    if constexpr (std::floating_point<Rep>) {
      return from_float(count * (static_cast<Rep>(Num) * static_cast<Rep>(ns_per_second) /
                                 static_cast<Rep>(Den)));
    } else {
      // One unit is up / down nanoseconds. For most units this is a whole number: no division is
      // needed.
      constexpr bool is_whole = ns_per_second % Den == 0;
      constexpr wide up = wide(Num) * (is_whole ? ns_per_second / Den : ns_per_second);
      constexpr wide down = is_whole ? 1 : Den;
      constexpr wide count_max = highest * down / up;
      if (count > count_max) return highest;
      if (count < -count_max) return lowest;
      const wide product = count * up;
      return static_cast<long long>(product / down + (product % down > 0 ? 1 : 0));
    }
  }

  template <class Float>
  static constexpr long long from_float(Float ns) noexcept {
    constexpr auto limit = static_cast<Float>(9223372036854775808.0);  // 2^63, exact in every type
    if (ns != ns) return 0;
    if (ns >= limit) return highest;
    if (ns <= -limit) return lowest;
    const auto whole = static_cast<long long>(ns);
    return static_cast<Float>(whole) < ns ? whole + 1 : whole;
  }

  template <long long Num, long long Den, class Rep>
  static constexpr Rep to_count(long long ns) noexcept {
    if constexpr (std::floating_point<Rep>) {
      return static_cast<Rep>(ns) * static_cast<Rep>(Den) /
             (static_cast<Rep>(Num) * static_cast<Rep>(ns_per_second));
    } else {
      constexpr int bits = sizeof(Rep) * 8 - std::is_signed_v<Rep>;
      constexpr wide most = (wide(1) << bits) - 1;
      constexpr wide least = std::is_signed_v<Rep> ? -most - 1 : 0;
      const wide count = wide(ns) * Den / (wide(Num) * ns_per_second);
      return static_cast<Rep>(count < least ? least : count > most ? most : count);
    }
  }

  long long ns_ = 0;
};

namespace detail {

/// The shape of std::chrono::time_point on a steady clock. Points of clocks that can be set do not
/// compile: first convert them to a duration from now, or use a system_timer.
template <class T>
concept time_point_like = requires(const T& t) {
  requires T::clock::is_steady;
  { t.time_since_epoch() } -> duration_like;
};

/// The shape of std::chrono::system_clock::time_point, whose epoch is 1970-01-01 00:00 UTC.
template <class T>
concept system_time_like = requires(const T& t) {
  requires !T::clock::is_steady;
  T::clock::to_time_t(t);
  { t.time_since_epoch() } -> duration_like;
};

enum class clock_kind : unsigned char {
  steady,  ///< never set, never goes back
  system,  ///< the date; can be set
};

/// A point on a clock, in nanoseconds since that clock's epoch. max() means never, and stays never
/// after any addition. A value; any thread.
template <clock_kind Clock>
class basic_time_point {
 public:
  /// Makes the clock's epoch.
  constexpr basic_time_point() noexcept = default;
  /// Makes the point this long after the clock's epoch.
  constexpr explicit basic_time_point(duration since_epoch) noexcept : since_epoch_(since_epoch) {}

  /// Converts, saturating.
  template <class T>
    requires((Clock == clock_kind::steady && time_point_like<T>) ||
             (Clock == clock_kind::system && system_time_like<T>))
  constexpr basic_time_point(const T& t) noexcept : since_epoch_(t.time_since_epoch()) {}

  /// Converts as the duration since the epoch does.
  template <class T>
    requires((Clock == clock_kind::steady && time_point_like<T>) ||
             (Clock == clock_kind::system && system_time_like<T>))
  constexpr explicit(!fine_duration<typename T::duration>) operator T() const noexcept {
    return T(static_cast<typename T::duration>(since_epoch_));
  }

  /// Returns the time since the clock's epoch.
  constexpr duration time_since_epoch() const noexcept { return since_epoch_; }
  /// Returns the nanoseconds since the clock's epoch.
  constexpr long long nanoseconds() const noexcept { return since_epoch_.nanoseconds(); }
  /// Returns whether this is max().
  constexpr bool is_never() const noexcept { return *this == max(); }

  /// Returns the earliest point.
  static constexpr basic_time_point min() noexcept { return basic_time_point(duration::min()); }
  /// Returns the point that means never.
  static constexpr basic_time_point max() noexcept { return basic_time_point(duration::max()); }

  friend constexpr auto operator<=>(const basic_time_point&, const basic_time_point&) = default;

  friend constexpr basic_time_point operator+(basic_time_point t, duration d) noexcept {
    return t.is_never() ? t : basic_time_point(t.since_epoch_ + d);
  }
  friend constexpr basic_time_point operator+(duration d, basic_time_point t) noexcept {
    return t + d;
  }
  friend constexpr basic_time_point operator-(basic_time_point t, duration d) noexcept {
    return t.is_never() ? t : basic_time_point(t.since_epoch_ - d);
  }
  /// Returns the time from `b` to `a`; duration::max() if `a` is never and `b` is not.
  friend constexpr duration operator-(basic_time_point a, basic_time_point b) noexcept {
    if (a.is_never() && !b.is_never()) return duration::max();
    return a.since_epoch_ - b.since_epoch_;
  }
  /// Adds `d`, saturating; never stays never.
  constexpr basic_time_point& operator+=(duration d) noexcept { return *this = *this + d; }
  /// Subtracts `d`, saturating; never stays never.
  constexpr basic_time_point& operator-=(duration d) noexcept { return *this = *this - d; }

 private:
  duration since_epoch_;
};

}  // namespace detail

/// A point in time of the steady clock; converts from and to points of std::chrono::steady_clock.
using time_point = detail::basic_time_point<detail::clock_kind::steady>;
/// A date; converts from and to points of std::chrono::system_clock.
using system_time_point = detail::basic_time_point<detail::clock_kind::system>;

}  // namespace beck
