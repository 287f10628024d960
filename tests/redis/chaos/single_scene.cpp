// SPDX-License-Identifier: BSL-1.0
// A killed server has lost nothing that it had answered (appendfsync always), so the oracles hold
// through kills, too.
#include "redis/chaos/single_scene.hpp"

#include <beck/redis/cache.hpp>
#include <beck/redis/client.hpp>
#include <beck/redis/subscription.hpp>

#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>

#include <csignal>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "redis/chaos/ledger.hpp"
#include "redis/chaos/rough_relay.hpp"
#include "redis/names.hpp"
#include "redis/real_server.hpp"

namespace beck::redis::test {
namespace {

constexpr int keys = 12;
constexpr int pipelines = 4;
constexpr int poppers = 3;
constexpr int readers = 3;
constexpr int tasks = pipelines + 2 + 1 + poppers + 1 + 2 + readers;

using popped = std::optional<std::tuple<std::string, std::string>>;

client_options limits(testing::small_random& random) {
  return {.connect_timeout = 1s,
          .hold_timeout = 5s,
          .ping_interval = 300ms,
          .silence_timeout = 1s,
          .attempts = random.between(1, 4),
          .lanes = 3,
          .guard_commands = random.chance(500) ? 16U : 0U};
}

class single_scene {
 public:
  explicit single_scene(round& of)
      : round_(of),
        random_(of.seed),
        ctx_(io_context::options{.backend = of.on}),
        server_({"--dir", folder_.path(), "--appendonly", "yes", "--appendfsync", "always",
                 "--auto-aof-rewrite-percentage", "0"}),
        relay_(ctx_, server_.path(), of.seed),
        db_(ctx_, "redis://127.0.0.1:" + std::to_string(relay_.port()), limits(random_)),
        beside_(ctx_, "unix://" + server_.path()),
        cache_(db_, 1 << 20),
        sum_(of, "single", keys) {}

  void run() {
    if (!server_.is_connected()) return round_.fail("single: redis-server does not start");
    start();
    const stopwatch begin;
    while (!begin.has_passed(round_.time) && !has_left()) {
      disturb();
      ctx_.restart();
      ctx_.run_for(duration(random_.between(20, 500) * 1'000'000LL));
    }
    is_over_ = true;
    if (!run_until([&] { return ended_ == tasks; }))
      end_hung(round_, ctx_, "single: " + std::to_string(tasks - ended_) + " tasks wait for ever");
    check();
    round_.counts["single: connections that ended"] += relay_.ended();
    round_.counts["single: messages"] += messages_;
    round_.counts["single: gaps"] += gaps_;
    round_.counts["single: transactions"] += transactions_;
    round_.counts["single: elements popped"] += static_cast<long long>(got_.size());
    round_.counts["single: cache hits"] += static_cast<long long>(cache_.stats().hits);
    db_.close();
    beside_.close();
    if (!run_until([&] { return db_.stats().waiting == 0 && db_.stats().in_flight == 0; }))
      round_.fail("single: a closed client has calls under way");
  }

 private:
  bool has_left() const { return !round_.violations.empty(); }
  /// Runs handlers until `done()` returns true. Returns false if it does not within 30 s.
  template <class Done>
  bool run_until(Done done) {
    const stopwatch begin;
    while (!done()) {
      if (begin.has_passed(30s)) return false;
      ctx_.restart();
      ctx_.run_for(duration(10'000'000));
    }
    return true;
  }
  std::string ask(const std::string& line) { return server_.ask(line + "\r\n", "\r\n"); }
  long long number(const std::string& line) {
    const std::string got = ask(line);  // ":7" or "$1", then "7"
    const std::size_t at = got.starts_with("$") ? got.find('\n') + 1 : 1;
    return got.starts_with("$-1") || got.starts_with("_") ? 0 : std::stoll(got.substr(at));
  }

  void start() {
    const auto spawn = [&](task<> one) { co_spawn(ctx_, std::move(one), detached); };
    for (int i = 0; i < pipelines; ++i) spawn(increment(db_, sum_, round_, is_over_, ended_, i));
    for (int i = 0; i < 2; ++i) spawn(transact(*this));
    spawn(push(*this));
    for (int i = 0; i < poppers; ++i) spawn(pop(*this, i));
    spawn(publish(*this));
    for (int i = 0; i < 2; ++i) spawn(subscribe(*this));
    for (int i = 0; i < readers; ++i) spawn(read(*this, i));
  }

  /// Plays a fault, which is over when this returns.
  void disturb() {
    const auto wait = [&](unsigned least_ms, unsigned most_ms) {
      ctx_.restart();
      ctx_.run_for(duration(random_.between(least_ms, most_ms) * 1'000'000LL));
    };
    const auto count = [&](const char* what) { round_.play(std::string("single: ") + what); };
    switch (random_.below(9)) {
      case 0:
        count("cuts");
        return relay_.cut();
      case 1:
      case 2:
        count("cuts at a byte");
        return relay_.cut_after(random_.below(random_.chance(500) ? 300 : 100'000));
      case 3:
        count("silences");
        relay_.set_silent(true);
        wait(20, 1500);
        return relay_.set_silent(false);
      case 4:
        count("SIGSTOPs");
        server_.signal(SIGSTOP);
        wait(20, 1500);
        return server_.signal(SIGCONT);
      case 5:
        count("kills");
        return server_.restart();
      case 6:
        count("CLIENT KILLs");
        ask(random_.chance(500) ? "CLIENT KILL TYPE normal" : "CLIENT KILL TYPE pubsub");
        return;
      case 7:
        count("CLIENT PAUSEs");
        ask(random_.chance(500) ? "CLIENT PAUSE 300 WRITE" : "CLIENT PAUSE 700 ALL");
        return;
      default:
        count("CLIENT UNPAUSEs");
        ask("CLIENT UNPAUSE");
        return;
    }
  }

  void check() {
    ask("CLIENT UNPAUSE");
    for (int key = 0; key < keys; ++key) sum_.compare(key, number("GET " + ledger::name_of(key)));
    const long long a = number("GET both:a");
    const long long b = number("GET both:b");
    if (a != b) round_.fail("single: half of a transaction was run");
    if (a < transactions_ || a > transactions_ + maybe_transactions_)
      round_.fail("single: " + std::to_string(a) + " transactions were run");
    const long long left = number("LLEN list");
    const auto got = static_cast<long long>(got_.size());
    if (got + left > pushed_ + maybe_pushed_) round_.fail("single: elements that were not pushed");
    if (got + left + maybe_popped_ < pushed_) round_.fail("single: elements are lost");
  }

  static task<> transact(single_scene& s) {
    while (!s.is_over_) {
      const auto all =
          co_await s.db_.transaction(cmd<long>("INCR", "both:a"), cmd<long>("INCR", "both:b"));
      if (all.outcome() == outcome::maybe_executed) ++s.maybe_transactions_;
      if (all) {
        ++s.transactions_;
        if (*std::get<0>(*all) != *std::get<1>(*all))
          s.round_.fail("single: a transaction has seen another one");
      }
      co_await pause(s.ctx_.get_executor(), 1ms);
    }
    ++s.ended_;
  }

  static task<> push(single_scene& s) {
    for (int i = 0; !s.is_over_; ++i) {
      const auto r = co_await s.db_.exec<long>("RPUSH", "list", "element" + std::to_string(i));
      if (r) ++s.pushed_;
      if (r.outcome() == outcome::maybe_executed) ++s.maybe_pushed_;
      co_await pause(s.ctx_.get_executor(), 500us);
    }
    ++s.ended_;
  }

  static task<> pop(single_scene& s, int number) {
    testing::small_random random(s.round_.seed + 100 + static_cast<unsigned>(number));
    while (!s.is_over_) {
      auto taken = co_await timeout(s.db_.lane(), 2s);
      if (!taken) continue;
      lane own = std::move(taken).value();
      for (int i = 0; i < 20 && !s.is_over_; ++i) {
        const auto limit = duration(random.below(3'000'000));
        const auto r = co_await timeout(own.exec<popped>("BLPOP", "list", 0.05), limit);
        if (r.outcome() == outcome::maybe_executed) ++s.maybe_popped_;
        if (r && *r && !s.got_.insert(std::get<1>(**r)).second)
          s.round_.fail("single: an element was popped twice");
      }
    }
    ++s.ended_;
  }

  /// Publishes 0, 1, 2, ... over a connection that is not cut.
  static task<> publish(single_scene& s) {
    while (!s.is_over_) {
      const std::string text = std::to_string(s.published_.size());
      s.published_.push_back(outcome::maybe_executed);
      const auto r = co_await s.beside_.exec<long>("PUBLISH", "news", text);
      s.published_.back() = r.outcome();
      co_await pause(s.ctx_.get_executor(), 300us);
    }
    ++s.ended_;
  }

  /// Receives: a message that was published for certain is missing only where there is a gap.
  static task<> subscribe(single_scene& s) {
    while (!s.is_over_) {
      subscription sub(s.db_, {.events = 200});
      const auto on = co_await timeout(sub.add("news"), 3s);
      if (on.error()) continue;
      std::optional<std::size_t> last;  // since the last gap
      for (int i = 0; !s.is_over_; ++i) {
        if (i % 512 == 511) co_await pause(s.ctx_.get_executor(), 100ms);  // the queue fills
        const auto e = co_await timeout(sub.next(), 100ms);
        if (e.error() == beck::error::timeout) continue;
        if (e.error()) break;
        if (e->is_gap()) {
          ++s.gaps_;
          last.reset();
          continue;
        }
        ++s.messages_;
        const std::size_t now = std::stoul(std::string(e->payload()));
        if (last && now <= *last) s.round_.fail("single: a message came twice or late");
        for (std::size_t missing = last ? *last + 1 : now; missing < now; ++missing)
          if (s.published_[missing] == outcome::executed)
            s.round_.fail("single: message " + std::to_string(missing) + " is missing");
        last = now;
      }
    }
    ++s.ended_;
  }

  /// Reads counters from the cache: they never decrease.
  static task<> read(single_scene& s, int number) {
    testing::small_random random(s.round_.seed + 200 + static_cast<unsigned>(number));
    std::vector<long> last(keys, 0);
    while (!s.is_over_) {
      const auto key = random.below(keys);
      const auto r = co_await s.cache_.exec<std::optional<long>>(
          1h, "GET", ledger::name_of(static_cast<int>(key)));
      if (r) {
        const long now = (*r).value_or(0);
        if (now < last[key])
          s.round_.fail("single: " + ledger::name_of(static_cast<int>(key)) + " was " +
                        std::to_string(last[key]) + " and is " + std::to_string(now));
        last[key] = now;
      }
      if (!r || random.chance(300)) co_await pause(s.ctx_.get_executor(), 1ms);
    }
    // All invalidations come in the end: then a reply from the cache is that of the server.
    for (int key = 0; key < keys; ++key) co_await settle(s, ledger::name_of(key));
    ++s.ended_;
  }
  static task<> settle(single_scene& s, std::string key) {
    for (int i = 0; i < 1'000; ++i) {
      const auto held = co_await s.cache_.exec<std::optional<long>>(1h, "GET", key);
      const auto now = co_await s.beside_.exec<std::optional<long>>("GET", key);
      if (held && now && *held == *now) co_return;
      co_await pause(s.ctx_.get_executor(), 10ms);
    }
    s.round_.fail("single: the cache holds an old number of " + key);
  }

  round& round_;
  testing::small_random random_;
  beck::test::temporary_folder folder_{"/tmp"};
  io_context ctx_;
  real_server server_;
  rough_relay relay_;
  client db_;
  client beside_;  // over a connection that is not cut
  cache cache_;
  ledger sum_;
  bool is_over_ = false;
  int ended_ = 0;
  long long transactions_ = 0;
  long long maybe_transactions_ = 0;
  long long pushed_ = 0;
  long long maybe_pushed_ = 0;
  long long maybe_popped_ = 0;
  std::set<std::string> got_;
  std::vector<outcome> published_;
  long long messages_ = 0;
  long long gaps_ = 0;
};

}  // namespace

void run_single_scene(round& of) { single_scene(of).run(); }

}  // namespace beck::redis::test
