// SPDX-License-Identifier: BSL-1.0
// A primary of Redis replicates behind its answers, so one that fails may lose writes that it has
// answered. Here it first takes no more writes (CLIENT PAUSE) until its replica has all: the
// pipelines wait in its sockets then, and the oracles hold through the failure.
#include "redis/chaos/cluster_scene.hpp"

#include <beck/redis/cluster.hpp>
#include <beck/redis/key_slot.hpp>

#include <beck/coro/co_spawn.hpp>

#include <csignal>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "redis/chaos/ledger.hpp"
#include "redis/names.hpp"
#include "redis/real_cluster.hpp"

namespace beck::redis::test {
namespace {

constexpr int keys = 24;
constexpr int pipelines = 4;
constexpr int tasks = pipelines + 2;
constexpr int pairs = real_cluster::primaries;  // node i and node i + 3

class cluster_scene {
 public:
  explicit cluster_scene(round& of)
      : round_(of),
        random_(of.seed),
        site_(of.on, 1000),
        many_(site_.ctx, site_.url(0) + "," + site_.url(1).substr(8) + "," + site_.url(5).substr(8),
              {.connections = {.connect_timeout = 1s,
                               .hold_timeout = 15s,
                               .ping_interval = 300ms,
                               .silence_timeout = 1s}}),
        sum_(of, "cluster", keys) {
    for (int key = 0; key < keys; ++key) owner_[slot_of(key)] = slot_of(key) * pairs / key_slots;
  }

  void run() {
    if (!site_.is_ready) return round_.fail("cluster: the servers do not start");
    for (int i = 0; i < pipelines; ++i)
      co_spawn(site_.ctx, increment(many_, sum_, round_, is_over_, ended_, i), detached);
    for (int i = 0; i < tasks - pipelines; ++i) co_spawn(site_.ctx, read(*this), detached);
    const stopwatch begin;
    while (!begin.has_passed(round_.time) && round_.violations.empty()) {
      disturb();
      site_.run_for(duration(random_.between(20, 400) * 1'000'000LL));
      require_answers();
    }
    is_over_ = true;
    if (!site_.run_until([&] { return ended_ == tasks; }))
      end_hung(round_, site_.ctx,
               "cluster: " + std::to_string(tasks - ended_) + " tasks wait for ever");
    is_over_ = false;
    for (int key = 0; key < keys; ++key) compare(key);
    const cluster_stats stats = many_.stats();
    round_.counts["cluster: MOVED followed"] += static_cast<long long>(stats.moved);
    round_.counts["cluster: ASK followed"] += static_cast<long long>(stats.asked);
    round_.counts["cluster: sent again"] += static_cast<long long>(stats.resent);
    round_.counts["cluster: divided reads"] += reads_;
    many_.close();
    if (!site_.run_until([&] { return many_.stats().calls == 0; }))
      round_.fail("cluster: a closed client has calls under way");
  }

 private:
  static std::uint16_t slot_of(int key) { return key_slot(ledger::name_of(key)); }
  int primary_of(int pair) { return site_.is_primary(pair) ? pair : pair + pairs; }
  static int other_of(int node) { return (node + pairs) % real_cluster::all; }
  void count(const std::string& what) { round_.play("cluster: " + what); }

  void require_answers() {
    const long long wanted = sum_.answered() + 100;
    if (site_.run_until([&] { return sum_.answered() >= wanted; })) return;
    for (int node = 0; node < real_cluster::all; ++node) {
      if (node == down_) continue;
      std::printf("node %d: %s\n%s\n", node, site_.ask(node, "ROLE").c_str(),
                  site_.ask(node, "CLUSTER NODES").c_str());
    }
    const cluster_stats stats = many_.stats();
    std::printf(
        "refused %llu, maps %llu, moved %llu, asked %llu\n",
        static_cast<unsigned long long>(stats.refused), static_cast<unsigned long long>(stats.maps),
        static_cast<unsigned long long>(stats.moved), static_cast<unsigned long long>(stats.asked));
    end_hung(round_, site_.ctx, "cluster: no call is answered");
  }
  void require(bool is_true, const char* what) {
    if (!is_true) round_.fail(std::string("cluster: ") + what);
  }
  /// Waits until one node of a pair is a primary, and the other one replicates from it.
  void require_pair(int pair) {
    const bool is_whole = site_.run_until([&] {
      const int replica = other_of(primary_of(pair));
      return site_.ask(replica, "INFO replication").find("master_link_status:up") !=
             std::string::npos;
    });
    require(is_whole, "a node does not become a replica");
    require(site_.run_until([&] { return site_.is_complete(); }), "the cluster is not complete");
  }
  /// Lets a primary take no more writes, and waits until its replica has all.
  void quiesce(int primary) {
    site_.ask(primary, "CLIENT PAUSE 60000 WRITE");
    require(site_.run_until([&] { return site_.has_caught_up(other_of(primary), primary); }),
            "a replica does not catch up");
  }

  /// Plays a fault. When this returns the cluster is complete again, or will be by itself.
  void disturb() {
    const int pair = static_cast<int>(random_.below(pairs));
    switch (random_.below(9)) {
      case 0:
        count("CLIENT KILLs");
        site_.ask(static_cast<int>(random_.below(real_cluster::all)), "CLIENT KILL TYPE normal");
        return;
      case 1:
        count("CLIENT PAUSEs");
        site_.ask(primary_of(pair), "CLIENT PAUSE 300 ALL");
        return;
      case 2: {
        count("short SIGSTOPs");
        const int node = static_cast<int>(random_.below(real_cluster::all));
        site_.nodes[site_.index(node)]->signal(SIGSTOP);
        site_.run_for(duration(random_.between(20, 250) * 1'000'000LL));
        site_.nodes[site_.index(node)]->signal(SIGCONT);
        return;
      }
      case 3:
        return fail_over(pair);
      case 4:
        return kill_primary(pair);
      case 5:
        return stop_primary(pair);
      case 6:
        return kill_replica(pair);
      default:
        return reshard(static_cast<int>(random_.below(keys)));
    }
  }
  void fail_over(int pair) {
    count("CLUSTER FAILOVERs");
    const int old = primary_of(pair);
    bool has_switched = false;
    for (int tries = 0; tries < 3 && !has_switched;
         ++tries) {  // redis-server stops trying after 5 s
      site_.ask(other_of(old), "CLUSTER FAILOVER");
      has_switched = site_.run_until([&] { return site_.is_primary(other_of(old)); });
    }
    require(has_switched, "a replica does not take over");
    require_pair(pair);
  }
  void kill_primary(int pair) {
    count("kills of primaries");
    const int old = primary_of(pair);
    quiesce(old);
    down_ = old;
    site_.kill(old);
    require(site_.run_until([&] { return site_.is_primary(other_of(old)); }),
            "a replica does not take over for a killed primary");
    require_answers();
    site_.restart(old);
    down_ = -1;
    require_pair(pair);
  }
  void stop_primary(int pair) {
    count("SIGSTOPs of primaries");
    const int old = primary_of(pair);
    quiesce(old);
    down_ = old;
    site_.nodes[site_.index(old)]->signal(SIGSTOP);
    require(site_.run_until([&] { return site_.is_primary(other_of(old)); }),
            "a replica does not take over for a stopped primary");
    require_answers();
    site_.nodes[site_.index(old)]->signal(SIGCONT);
    down_ = -1;
    require_pair(pair);
    site_.ask(old, "CLIENT UNPAUSE");
  }
  void kill_replica(int pair) {
    count("kills of replicas");
    const int replica = other_of(primary_of(pair));
    site_.kill(replica);
    site_.run_for(duration(random_.between(20, 400) * 1'000'000LL));
    site_.restart(replica);
    require_pair(pair);
  }
  /// Moves the slot of a key to another pair under traffic.
  void reshard(int key) {
    count("slots that moved");
    const std::uint16_t slot = slot_of(key);
    const std::string number = std::to_string(slot);
    const int from = primary_of(owner_[slot]);
    owner_[slot] = (owner_[slot] + 1 + static_cast<int>(random_.below(pairs - 1))) % pairs;
    const int to = primary_of(owner_[slot]);
    const std::string to_id = site_.ask(to, "CLUSTER MYID");
    site_.ask(to, "CLUSTER SETSLOT " + number + " IMPORTING " + site_.ask(from, "CLUSTER MYID"));
    site_.ask(from, "CLUSTER SETSLOT " + number + " MIGRATING " + to_id);
    require_answers();
    for (int each = 0; each < keys; ++each) {
      if (slot_of(each) != slot) continue;
      site_.ask(from, "MIGRATE 127.0.0.1 " + std::to_string(site_.ports[site_.index(to)]) + " " +
                          ledger::name_of(each) + " 0 5000");
    }
    require_answers();
    require(site_.ask(to, "CLUSTER SETSLOT " + number + " NODE " + to_id) == "OK" &&
                site_.ask(from, "CLUSTER SETSLOT " + number + " NODE " + to_id) == "OK",
            "a slot does not move");
  }

  void compare(int key) {
    long long stored = -1;
    many_.exec<std::optional<long>>(
        "GET", ledger::name_of(key))([&](error_code ec, const reply<std::optional<long>>& r) {
      stored = ec ? -2 : (*r).value_or(0);
    });
    if (!site_.run_until([&] { return stored != -1; }))
      end_hung(round_, site_.ctx, "cluster: a read in the end has no answer");
    sum_.compare(key, stored);
  }

  /// Reads all counters with one divided command: each value is one that was counted.
  static task<> read(cluster_scene& s) {
    request q;
    std::vector<std::string> names;
    for (int key = 0; key < keys; ++key) names.push_back(ledger::name_of(key));
    q.push("MGET", each(names));
    while (!s.is_over_) {
      const auto all = co_await s.many_.exec_each<std::vector<std::optional<long>>>(q);
      const auto& values = (*all)[0];
      if (values && values->size() != static_cast<std::size_t>(keys))
        s.round_.fail("cluster: MGET returned " + std::to_string(values->size()) + " values");
      if (values) ++s.reads_;
      co_await pause(s.many_.get_executor(), 2ms);
    }
    ++s.ended_;
  }

  round& round_;
  testing::small_random random_;
  real_cluster site_;
  cluster many_;
  ledger sum_;
  std::map<std::uint16_t, int> owner_;  // pair
  int down_ = -1;                       // the primary that is killed or stopped
  bool is_over_ = false;
  int ended_ = 0;
  long long reads_ = 0;
};

}  // namespace

void run_cluster_scene(round& of) { cluster_scene(of).run(); }

}  // namespace beck::redis::test
