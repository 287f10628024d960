// SPDX-License-Identifier: BSL-1.0
// Limits of load: the requests at one time, and those of each client over time.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include <beck/http/middlewares.hpp>
#include <beck/http/request.hpp>
#include <beck/http/response.hpp>
#include <beck/io/context_services.hpp>

namespace beck::http {
namespace {

constexpr std::int64_t wait_second_ns = 1'000'000'000;

/// The number of copies of a middleware.
struct shared_state {
  void retain() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
  /// Returns whether it was the last one.
  bool release() noexcept { return users_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  std::atomic<unsigned> users_{1};
};

void refuse_for(response& r, status why, std::int64_t wait_ns) {
  const std::int64_t seconds =
      std::max<std::int64_t>(1, (wait_ns + wait_second_ns - 1) / wait_second_ns);
  r.set(field::retry_after, std::to_string(seconds)).fail(why);
}

/// Mixes the bits of a number (the finaliser of SplitMix64).
std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Returns the number of a client: its address, or the first half of it for IPv6. Never 0.
std::uint64_t client_number(const ip::address& client) {
  if (client.is_v4()) return std::uint64_t{1} << 32 | client.to_v4().to_uint();
  const auto bytes = client.to_v6().to_bytes();
  std::uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number == 0 ? 1 : number;  // ::1 and the like
}

}  // namespace

// --- requests at one time

struct at_most::state : shared_state {
  explicit state(std::size_t count) noexcept : most(count) {}
  const std::size_t most;
  std::atomic<std::size_t> inside{0};
};

at_most::at_most(std::size_t count) {
  if (count == 0) throw std::invalid_argument("http::at_most: 0 would answer nobody");
  state_ = new state(count);
}
at_most::at_most(const at_most& other) noexcept : state_(other.state_) { state_->retain(); }
at_most& at_most::operator=(const at_most& other) noexcept {
  at_most copy(other);
  std::swap(state_, copy.state_);
  return *this;
}
at_most::~at_most() {
  if (state_->release()) delete state_;
}

task<> at_most::operator()(request& q, response& r, next rest) const {
  struct place {
    explicit place(state& in) noexcept : of(in), number(in.inside.fetch_add(1) + 1) {}
    ~place() { of.inside.fetch_sub(1); }
    state& of;
    const std::size_t number;
  };
  const at_most kept(*this);
  const place mine(*kept.state_);
  if (mine.number > kept.state_->most) {
    refuse_for(r, status::service_unavailable, 0);
    co_return;
  }
  co_await rest(q, r);
}

// --- requests of each client

/// The time at which each client will have paid for its requests, one interval each (the generic
/// cell rate algorithm). In 64 parts with a lock each, of 128 sets of 8 clients.
struct rate_limit::table : shared_state {
  static constexpr std::size_t parts = 64, sets = 128, ways = 8;

  struct client {
    std::uint64_t number = 0;
    std::int64_t paid_at = std::numeric_limits<std::int64_t>::min();
  };
  struct part {
    std::mutex mutex;
    std::array<std::array<client, ways>, sets> clients;
  };

  table(std::int64_t interval, std::int64_t tolerance)
      : interval_ns(interval), tolerance_ns(tolerance), all(std::make_unique<part[]>(parts)) {}

  /// Counts a request. Returns 0 if it is within the limit, else the time until one will be.
  std::int64_t take(std::uint64_t number, std::int64_t now) {
    const std::uint64_t place = mixed(number ^ seed);
    part& in = all[place % parts];
    const std::lock_guard lock(in.mutex);
    auto& set = in.clients[place / parts % sets];
    client* found = set.data();
    for (client& one : set) {
      if (one.number == number) {
        found = &one;
        break;
      }
      if (one.paid_at < found->paid_at) found = &one;
    }
    if (found->number != number) *found = client{number, now};
    const std::int64_t due = std::max(found->paid_at, now);
    if (due - now > tolerance_ns) return due - now - tolerance_ns;
    found->paid_at = due + interval_ns;
    return 0;
  }

  const std::int64_t interval_ns, tolerance_ns;
  std::once_flag has_seed;
  std::uint64_t seed = 0;  // so that nobody can aim at the place of another client
  std::unique_ptr<part[]> all;
};

rate_limit::rate_limit(double per_second, unsigned burst) {
  if (!(per_second > 0) || per_second > 1e9)
    throw std::invalid_argument("http::rate_limit: " + std::to_string(per_second) +
                                " requests a second; above 0, at most 1e9");
  if (burst == 0) throw std::invalid_argument("http::rate_limit: a burst of 0 would answer nobody");
  // A client that comes once in a year is as good as one that never comes.
  const double longest = 365.0 * 86'400 * static_cast<double>(wait_second_ns);
  const double interval = std::min(static_cast<double>(wait_second_ns) / per_second, longest);
  const double tolerance = std::min(interval * (burst - 1.0), longest);
  table_ = new table(std::llround(interval), std::llround(tolerance));
}
rate_limit::rate_limit(const rate_limit& other) noexcept : table_(other.table_) {
  table_->retain();
}
rate_limit& rate_limit::operator=(const rate_limit& other) noexcept {
  rate_limit copy(other);
  std::swap(table_, copy.table_);
  return *this;
}
rate_limit::~rate_limit() {
  if (table_->release()) delete table_;
}

pending rate_limit::operator()(request& q, response& r, next rest) const {
  table& all = *table_;
  std::call_once(all.has_seed, [&] {
    random_bytes(q.get_executor(), mutable_buffer(&all.seed, sizeof all.seed));
  });
  const std::int64_t now = beck::now(q.get_executor()).nanoseconds();
  const std::int64_t wait = all.take(client_number(q.client_address()), now);
  if (wait == 0) return rest(q, r);
  refuse_for(r, status::too_many_requests, wait);
  return {};
}

}  // namespace beck::http
