// SPDX-License-Identifier: BSL-1.0
// The oracle of INCR: two replies never have the same number, and the number at the server is at
// least that of the increments that were answered, and at most that of those that may have run.
#pragma once

#include <beck/redis/exec_functions.hpp>
#include <beck/redis/value.hpp>

#include <beck/coro/task.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/io/steady_timer.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "redis/chaos/round.hpp"
#include "redis/names.hpp"

namespace beck::redis::test {

class ledger {
 public:
  ledger(round& of, std::string scene, int keys)
      : round_(of), scene_(std::move(scene)), keys_(static_cast<std::size_t>(keys)) {}

  int keys() const { return static_cast<int>(keys_.size()); }
  static std::string name_of(int key) { return "key" + std::to_string(key); }
  long long answered() const { return answered_; }

  /// Notes the end of an increment. The number counts if there is no error.
  void note(int key, const error_code& ec, outcome what, std::string_view message,
            std::int64_t number) {
    entry& one = keys_[static_cast<std::size_t>(key)];
    if (what == outcome::not_sent) ++count("not sent");
    if (what == outcome::maybe_executed) {
      ++one.maybe;
      ++count("maybe executed");
    }
    if (ec && what != outcome::executed) return;
    if (ec) return round_.fail(scene_ + ": INCR was refused: " + std::string(message));
    ++one.executed;
    ++answered_;
    ++count("executed");
    const auto at = static_cast<std::size_t>(number);
    if (number <= 0 || at > 100'000'000)
      return round_.fail(scene_ + ": INCR returned " + std::to_string(number));
    if (one.seen.size() <= at) one.seen.resize(2 * at + 1);
    if (one.seen[at]) round_.fail(scene_ + ": two increments returned " + std::to_string(number));
    one.seen[at] = true;
  }
  /// Compares with the number at the server.
  void compare(int key, long long stored) {
    const entry& one = keys_[static_cast<std::size_t>(key)];
    if (stored >= one.executed && stored <= one.executed + one.maybe) return;
    round_.fail(scene_ + ": " + name_of(key) + " is " + std::to_string(stored) + ", but " +
                std::to_string(one.executed) + " increments were answered, and " +
                std::to_string(one.maybe) + " others may have run");
  }

 private:
  struct entry {
    long long executed = 0;
    long long maybe = 0;
    std::vector<bool> seen;
  };

  long long& count(const char* what) { return round_.counts[scene_ + ": INCR " + what]; }

  round& round_;
  const std::string scene_;
  std::vector<entry> keys_;
  long long answered_ = 0;
};

/// Waits for a time.
inline task<> pause(any_io_executor on, std::chrono::nanoseconds time) {
  steady_timer timer(on, duration(time.count()));
  beck::ignore(co_await timer.async_wait());
}

/// Increments random keys by pipelines, with an ECHO behind, until `is_over`; some with a limit of
/// time. Adds 1 to `ended` then.
template <class Sender>
task<> increment(Sender& db, ledger& sum, round& of, const bool& is_over, int& ended, int number) {
  testing::small_random random(of.seed * 1000 + static_cast<unsigned>(number));
  unsigned turn = 0;
  while (!is_over) {
    request q;
    std::vector<int> keys(random.between(1, random.chance(100) ? 600 : 40));
    for (int& key : keys) {
      key = static_cast<int>(random.below(static_cast<unsigned>(sum.keys())));
      q.push("INCR", ledger::name_of(key));
    }
    const std::string token = std::to_string(number) + "-" + std::to_string(++turn);
    q.push("ECHO", token);
    const bool is_limited = random.chance(200);
    const auto limit = duration(is_limited ? random.below(50'000'000) : 60'000'000'000);
    const auto all = co_await timeout(db.template exec_each<value>(q), limit);
    if (!is_limited && all.error() == beck::error::timeout)
      of.fail("a call without a limit has not ended within a minute");
    if (all->size() != q.size()) {
      of.fail("a pipeline of " + std::to_string(q.size()) + " commands has " +
              std::to_string(all->size()) + " replies");
      continue;
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const reply<value>& one = (*all)[i];
      sum.note(keys[i], one.error(), one.outcome(), one.error_text(),
               one ? one->root().integer() : 0);
    }
    const reply<value>& echo = (*all)[keys.size()];
    if (echo && echo->root().text() != token) of.fail("a call got the reply of another one");
    if (random.chance(500)) co_await pause(db.get_executor(), std::chrono::microseconds(500));
  }
  ++ended;
}

}  // namespace beck::redis::test
