// SPDX-License-Identifier: BSL-1.0
// As in a cluster, a primary takes no more writes before it fails, until its replicas have all. One
// that comes back does: it says that it is the primary for some 10 s, until the sentinels have made
// it a replica, and drops the writes of that time. The client must not go there.
#include "redis/chaos/sentinel_scene.hpp"

#include <beck/redis/client.hpp>

#include <beck/coro/co_spawn.hpp>

#include <csignal>
#include <optional>
#include <string>

#include "redis/chaos/ledger.hpp"
#include "redis/names.hpp"
#include "redis/real_sentinels.hpp"

namespace beck::redis::test {
namespace {

constexpr int keys = 12;
constexpr int pipelines = 4;

class sentinel_scene {
 public:
  explicit sentinel_scene(round& of)
      : round_(of),
        random_(of.seed),
        site_(of.on, 2000),
        db_(site_.ctx, site_.url(),
            {.connect_timeout = 1s,
             .hold_timeout = 15s,
             .ping_interval = 300ms,
             .silence_timeout = 1s}),
        sum_(of, "sentinel", keys) {}

  void run() {
    if (!site_.is_ready) return round_.fail("sentinel: the servers do not start");
    for (int i = 0; i < pipelines; ++i)
      co_spawn(site_.ctx, increment(db_, sum_, round_, is_over_, ended_, i), detached);
    const stopwatch begin;
    while (!begin.has_passed(round_.time) && round_.violations.empty()) {
      disturb();
      run_for(random_.between(20, 400));
      require_answers();
    }
    is_over_ = true;
    if (!site_.run_until([&] { return ended_ == pipelines; }))
      end_hung(round_, site_.ctx, "sentinel: tasks wait for ever");
    for (int key = 0; key < keys; ++key) compare(key);
    round_.counts["sentinel: connections"] += static_cast<long long>(db_.stats().connections);
    db_.close();
    if (!site_.run_until([&] { return site_.ctx.stats().outstanding == 0; }))
      end_hung(round_, site_.ctx, "sentinel: a closed client has work");
  }

 private:
  void count(const std::string& what) { round_.play("sentinel: " + what); }
  void require(bool is_true, const char* what) {
    if (!is_true) round_.fail(std::string("sentinel: ") + what);
  }
  void run_for(unsigned ms) {
    const stopwatch begin;
    site_.run_until([&] { return begin.has_passed(std::chrono::milliseconds(ms)); });
  }
  void require_answers() {
    const long long wanted = sum_.answered() + 100;
    if (!site_.run_until([&] { return sum_.answered() >= wanted; }))
      end_hung(round_, site_.ctx, "sentinel: no call is answered");
  }
  int primary() {
    int found = -1;
    require(site_.run_until([&] { return (found = site_.primary()) >= 0; }), "there is no primary");
    return found;
  }
  /// Returns how far a server is in the stream of a primary; empty if it is no part of it now.
  std::string offset_of(int server, int primary) const {
    const std::string info = site_.ask(server, "INFO replication");
    if (server != primary && info.find("master_link_status:up") == std::string::npos) return {};
    const std::size_t at = info.find("master_repl_offset:");
    return at == info.npos ? std::string() : info.substr(at, info.find('\r', at) - at);
  }
  bool are_copies(int primary) const {
    const std::string wanted = offset_of(primary, primary);
    for (int i = 0; i < real_sentinels::servers; ++i)
      if (offset_of(i, primary) != wanted) return false;
    return true;
  }
  /// Waits until the sentinels agree, and the two other servers replicate from the primary.
  void require_group() {
    const auto is_whole = [&] {
      const int primary = site_.primary();
      for (int i = 1; i < 3; ++i)
        if (site_.primary(real_sentinels::servers + i) != primary) return false;
      for (int i = 0; i < real_sentinels::servers; ++i)
        if (primary < 0 || offset_of(i, primary).empty()) return false;
      return true;
    };
    require(site_.run_until(is_whole) || site_.run_until(is_whole),  // within 30 s
            "the group does not become whole");
  }
  /// Lets a primary take no more writes, and waits until its replicas have all.
  void quiesce(int primary) {
    site_.ask(primary, "CLIENT PAUSE 60000 WRITE");
    require(site_.run_until([&] { return are_copies(primary); }), "a replica does not catch up");
  }
  void wait_for_other(int old) {
    const bool has_switched = site_.run_until([&] {
      const int now = site_.primary();
      return now >= 0 && now != old;
    });
    require(has_switched, "no replica takes over");
  }

  void disturb() {
    const int replica = (primary() + 1 + static_cast<int>(random_.below(2))) % 3;
    const int sentinel = real_sentinels::servers + static_cast<int>(random_.below(3));
    switch (random_.below(8)) {
      case 0:
        count("CLIENT KILLs");
        site_.ask(primary(), "CLIENT KILL TYPE normal");
        return;
      case 1: {
        count("short SIGSTOPs");
        const int process = static_cast<int>(random_.below(real_sentinels::all));
        site_.signal(process, SIGSTOP);
        run_for(random_.between(20, 250));
        return site_.signal(process, SIGCONT);
      }
      case 2:
        count("kills of sentinels");
        site_.end(sentinel);
        run_for(random_.between(20, 1500));
        return site_.start(sentinel);
      case 3:
        count("kills of replicas");
        site_.end(replica);
        run_for(random_.between(20, 400));
        site_.start(replica);
        return require_group();
      case 4:
      case 5:
        return exchange("kills of primaries", SIGKILL);
      default:
        return exchange("SIGSTOPs of primaries", SIGSTOP);
    }
  }
  /// Lets another server become the primary, since the present one gets SIGKILL or SIGSTOP. Then
  /// brings the former one back. (SENTINEL FAILOVER needs no majority: sentinels that find the
  /// paused primary down at the same time promote another one, and writes are lost.)
  void exchange(const char* what, int signal) {
    count(what);
    require_group();
    const int old = primary();
    quiesce(old);
    if (signal == SIGKILL) {
      site_.end(old);
    } else {
      site_.signal(old, SIGSTOP);
    }
    wait_for_other(old);
    require_answers();
    if (signal == SIGKILL) {
      site_.start(old);
    } else {
      site_.signal(old, SIGCONT);
    }
    site_.ask(old, "CLIENT UNPAUSE");
    require_answers();
    require_group();
  }

  void compare(int key) {
    long long stored = -1;
    db_.exec<std::optional<long>>(
        "GET", ledger::name_of(key))([&](error_code ec, const reply<std::optional<long>>& r) {
      stored = ec ? -2 : (*r).value_or(0);
    });
    if (!site_.run_until([&] { return stored != -1; }))
      end_hung(round_, site_.ctx, "sentinel: a read in the end has no answer");
    sum_.compare(key, stored);
  }

  round& round_;
  testing::small_random random_;
  real_sentinels site_;
  client db_;
  ledger sum_;
  bool is_over_ = false;
  int ended_ = 0;
};

}  // namespace

void run_sentinel_scene(round& of) { sentinel_scene(of).run(); }

}  // namespace beck::redis::test
