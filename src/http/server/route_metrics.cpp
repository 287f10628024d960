// SPDX-License-Identifier: BSL-1.0
// Series in a table that is read without a lock; a lock is taken only to add one. Counters are in
// stripes, so that threads rarely share a line of the cache.
#include <beck/http/route_metrics.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <beck/http/head.hpp>

#include "http/server/metrics_text.hpp"

namespace beck::http {
namespace {

constexpr std::size_t buckets_max = route_metrics_options::buckets_max;
constexpr std::size_t stripes = 8;
constexpr std::string_view family = "beck_http_request_duration_seconds";
constexpr std::uint64_t metric_second_ns = 1'000'000'000;

/// Returns the stripe of the calling thread, which others may share. No thread-local number: a
/// shared object has few bytes of that (base/thread_store.hpp).
std::size_t stripe_here() noexcept {
  return std::hash<std::thread::id>()(std::this_thread::get_id()) % stripes;
}

/// The labels of a series.
struct series_key {
  static series_key of(const exchange_record& one) noexcept {
    static constexpr std::string_view classes[] = {"none", "1xx", "2xx", "3xx", "4xx", "5xx"};
    series_key key{"none", "none", classes[std::min<std::size_t>(one.status / 100, 5)]};
    if (!one.route.empty()) key.route = one.route;
    if (one.request != nullptr) {
      const bool is_known = one.request->method() != method::other;
      key.method = is_known ? name_of(one.request->method()) : "other";
    }
    return key;
  }

  std::uint64_t hash() const noexcept {
    std::uint64_t sum = 14'695'981'039'346'656'037U;  // FNV-1a
    for (const std::string_view part : {route, method, status}) {
      for (const char c : part) sum = (sum ^ static_cast<unsigned char>(c)) * 1'099'511'628'211U;
      sum *= 31;
    }
    return sum ^ sum >> 32;
  }
  bool operator==(const series_key& other) const noexcept {
    return route == other.route && method == other.method && status == other.status;
  }
  bool operator<(const series_key& other) const noexcept {
    return std::tie(route, method, status) < std::tie(other.route, other.method, other.status);
  }

  std::string_view route, method, status;
};

/// Relaxed, all of it: sums of numbers that order nothing.
struct alignas(64) stripe {
  std::atomic<std::uint64_t> sum_ns{0};
  std::array<std::atomic<std::uint64_t>, buckets_max + 1> counts{};
};

/// A histogram.
struct series {
  explicit series(const series_key& of) : route(of.route), key{route, of.method, of.status} {}
  series(const series&) = delete;
  series& operator=(const series&) = delete;

  void add(std::size_t bucket, std::uint64_t ns) noexcept {
    stripe& mine = all[stripe_here()];
    mine.counts[bucket].fetch_add(1, std::memory_order_relaxed);
    mine.sum_ns.fetch_add(ns, std::memory_order_relaxed);
  }
  std::uint64_t count(std::size_t bucket) const noexcept {
    std::uint64_t sum = 0;
    for (const stripe& one : all) sum += one.counts[bucket].load(std::memory_order_relaxed);
    return sum;
  }
  std::uint64_t sum_ns() const noexcept {
    std::uint64_t sum = 0;
    for (const stripe& one : all) sum += one.sum_ns.load(std::memory_order_relaxed);
    return sum;
  }

  const std::string route;
  const series_key key;
  std::array<stripe, stripes> all;
};

/// Appends seconds without zeros at their end.
void append_seconds(std::string& to, std::uint64_t ns) {
  char room[20];
  to.append(room, std::to_chars(room, room + sizeof room, ns / metric_second_ns).ptr);
  std::uint64_t rest = ns % metric_second_ns;
  if (rest == 0) return;
  to += '.';
  for (std::uint64_t unit = metric_second_ns / 10; rest != 0; unit /= 10) {
    to += static_cast<char>('0' + rest / unit);
    rest %= unit;
  }
}

void append_escaped(std::string& to, std::string_view label) {
  for (const char c : label) {
    if (c == '\\' || c == '"') to += '\\';
    if (c == '\n') {
      to.append("\\n");
    } else {
      to += c;
    }
  }
}

}  // namespace

struct route_metrics::state {
  explicit state(const route_metrics_options& how)
      : series_max(how.series), slots(std::bit_ceil(2 * how.series)) {
    for (const double bound : how.buckets) {
      if (bound == 0) break;
      if (!(bound > 0) || !(bound <= 1e9))
        throw std::invalid_argument("http::route_metrics: a bucket of " + std::to_string(bound) +
                                    " s; above 0, at most 1e9");
      const auto ns = static_cast<std::uint64_t>(std::llround(bound * metric_second_ns));
      if (bounds_count != 0 && ns <= bounds[bounds_count - 1])
        throw std::invalid_argument("http::route_metrics: a bucket of " + std::to_string(bound) +
                                    " s behind a greater one");
      bounds[bounds_count++] = ns;
    }
  }
  ~state() {
    for (const auto& slot : slots) delete slot.load(std::memory_order_relaxed);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  void count(const exchange_record& one) noexcept {
    const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(one.time.nanoseconds(), 0));
    std::size_t bucket = 0;
    while (bucket != bounds_count && ns > bounds[bucket]) ++bucket;
    const series_key key = series_key::of(one);
    series* found = find(key);
    if (found == nullptr) found = add(key);
    (found != nullptr ? *found : others).add(bucket, ns);
  }

  /// Finds a series. At least half of the slots are empty.
  series* find(const series_key& key) const noexcept {
    for (std::size_t at = key.hash();; ++at) {
      series* const here = slots[at % slots.size()].load(std::memory_order_acquire);
      if (here == nullptr || here->key == key) return here;
    }
  }
  /// Adds a series. Returns nullptr if there are too many, or without memory.
  series* add(const series_key& key) noexcept {
    if (series_count.load(std::memory_order_relaxed) >= series_max) return nullptr;
    const std::lock_guard lock(mutex);
    if (series* const made_meanwhile = find(key)) return made_meanwhile;
    if (series_count.load(std::memory_order_relaxed) >= series_max) return nullptr;
    try {
      auto made = std::make_unique<series>(key);
      std::size_t at = key.hash();
      while (slots[at % slots.size()].load(std::memory_order_relaxed) != nullptr) ++at;
      series* const owned = made.release();
      slots[at % slots.size()].store(owned, std::memory_order_release);
      series_count.fetch_add(1, std::memory_order_relaxed);
      return owned;
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  void append(std::string& to, const series& one) const {
    std::string labels("{route=\"");
    append_escaped(labels, one.key.route);
    labels.append("\",method=\"").append(one.key.method);
    labels.append("\",status=\"").append(one.key.status).append("\"");
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i <= bounds_count; ++i) {
      sum += one.count(i);
      to.append(family).append("_bucket").append(labels).append(",le=\"");
      if (i != bounds_count) append_seconds(to, bounds[i]);
      if (i == bounds_count) to.append("+Inf");
      to.append("\"} ").append(std::to_string(sum)).append("\n");
    }
    to.append(family).append("_sum").append(labels).append("} ");
    append_seconds(to, one.sum_ns());
    to.append("\n").append(family).append("_count").append(labels).append("} ");
    to.append(std::to_string(sum)).append("\n");
  }
  bool is_empty(const series& one) const noexcept {
    for (std::size_t i = 0; i <= bounds_count; ++i)
      if (one.count(i) != 0) return false;
    return true;
  }

  std::atomic<unsigned> users{1};
  std::array<std::uint64_t, buckets_max> bounds{};  // in nanoseconds
  std::size_t bounds_count = 0;
  const std::size_t series_max;
  std::mutex mutex;  // held to add a series
  std::atomic<std::size_t> series_count{0};
  std::vector<std::atomic<series*>> slots;
  series others{{"other", "other", "other"}};
};

route_metrics::route_metrics(const route_metrics_options& how) {
  constexpr std::size_t series_max = 1'000'000;
  if (how.series == 0 || how.series > series_max)
    throw std::invalid_argument("http::route_metrics: " + std::to_string(how.series) +
                                " series; 1 to " + std::to_string(series_max));
  state_ = new state(how);
}
route_metrics::route_metrics(const route_metrics& other) noexcept : state_(other.state_) {
  state_->users.fetch_add(1, std::memory_order_relaxed);
}
route_metrics& route_metrics::operator=(const route_metrics& other) noexcept {
  route_metrics copy(other);
  std::swap(state_, copy.state_);
  return *this;
}
route_metrics::~route_metrics() {
  if (state_->users.fetch_sub(1, std::memory_order_acq_rel) == 1) delete state_;
}

void route_metrics::operator()(const exchange_record& ended) const noexcept {
  state_->count(ended);
}

std::string route_metrics::text() const {
  std::vector<const series*> all;
  for (const auto& slot : state_->slots) {
    if (const series* const one = slot.load(std::memory_order_acquire)) all.push_back(one);
  }
  if (!state_->is_empty(state_->others)) all.push_back(&state_->others);
  std::string text;
  if (all.empty()) return text;
  std::sort(all.begin(), all.end(),
            [](const series* a, const series* b) { return a->key < b->key; });
  detail::begin_family(text, family,
                       "Time from the head of a request to the end of its handler, by route, "
                       "method and class of status.",
                       "histogram");
  for (const series* const one : all) state_->append(text, *one);
  return text;
}

}  // namespace beck::http
