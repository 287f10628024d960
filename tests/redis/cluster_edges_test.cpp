// SPDX-License-Identifier: BSL-1.0
// A cluster without memory, with logins and a layer, with long calls that are lost, and with
// replicas that were primaries.
#include <beck/redis/cluster.hpp>

#include <doctest/doctest.h>

#include <beck/coro/co_spawn.hpp>
#include <beck/run/bind.hpp>

#include <memory>
#include <new>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "redis/cluster_site.hpp"
#include "redis/ending.hpp"
#include "redis/plain_layer.hpp"
#include "redis/rotation.hpp"
#include "support/allocations.hpp"

using namespace beck::redis::test;

namespace {

/// Nodes and a client in contexts of their own, so that only allocations of the client fail.
struct starving_site {
  explicit starving_site(int n) : left(n) {
    const beck::ip::tcp::endpoint any(beck::ip::make_address("127.0.0.1"), 0);
    for (int i = 0; i < 6; ++i) nodes.push_back(std::make_unique<node_server>(there, truth, any));
    for (int i = 0; i < 3; ++i) truth.replica_of[3 + i] = i;
    truth.gone = {3, 4, 5};
    many.emplace(here, "redis://" + truth.addresses[0]);
  }
  ~starving_site() {
    many.reset();
    nodes.clear();
    for (beck::io_context* const ctx : {&here, &there}) {
      ctx->restart();
      ctx->poll();
    }
  }

  /// Does a part of the client's work, in which the n-th allocation since the first part fails.
  template <class Work>
  void run(Work work) {
    const std::uint64_t before = beck::test::allocations();
    {
      const beck::test::allocation_fault fault(left);
      work();
      has_failed = has_failed || fault.fired();
    }
    const auto used = static_cast<int>(beck::test::allocations() - before);
    left = used < left ? left - used : 0;
  }
  /// Starts an INCR. One that has no memory to start ends at once.
  void increment(const std::string& key, ending& to) {
    run([&] {
      try {
        begin(many->exec<long>("INCR", key), to);
      } catch (const std::bad_alloc&) {
        to.ec = std::make_error_code(std::errc::not_enough_memory);
        to.is_over = true;
      }
    });
  }
  bool run_until_over(const std::vector<ending>& all) {
    const beck::time_point late = beck::steady_now() + cluster_site::limit;
    const auto is_over = [&] {
      return std::all_of(all.begin(), all.end(), [](const ending& one) { return one.is_over; });
    };
    here.restart();
    there.restart();
    while (!is_over() && beck::steady_now() < late) {
      run([&] { here.poll(); });
      there.poll();
    }
    return is_over();
  }

  beck::io_context here{::context_options()};
  beck::io_context there{::context_options()};
  cluster_truth truth;
  std::vector<std::unique_ptr<node_server>> nodes;
  std::optional<redis::cluster> many;
  int left;
  bool has_failed = false;
};

/// Returns a key of a node.
std::string key_of(const cluster_truth& truth, int node) {
  for (int i = 0;; ++i) {
    const std::string key = "k" + std::to_string(i);
    if (truth.owner_of(key) == node) return key;
  }
}

/// Runs three calls of which one is redirected to a node that no map has named, and one is asked
/// for at another node; the n-th allocation meanwhile fails. Returns whether there was one.
bool call_short_of_memory(int n) {
  starving_site s(n);
  const std::string keys[] = {key_of(s.truth, 0), key_of(s.truth, 1), key_of(s.truth, 2)};
  const std::string slot = std::to_string(redis::key_slot(keys[0]));
  s.truth.refusals["0:INCR"] = {"MOVED " + slot + " " + s.truth.addresses[4], 1};
  s.truth.migrations[redis::key_slot(keys[1])] = {2, {keys[1]}};
  std::vector<ending> all(3);
  for (std::size_t i = 0; i < 3; ++i) s.increment(keys[i], all[i]);
  REQUIRE(s.run_until_over(all));
  for (const ending& one : all) {
    const bool is_redirect = one.ec == redis::error::moved || one.ec == redis::error::ask;
    if (one.ec && !is_redirect) CHECK(one.ec == std::errc::not_enough_memory);
    if (!one.ec) CHECK(one.value == 1);
  }
  s.left = 0;
  std::vector<ending> later(3);
  for (std::size_t i = 0; i < 3; ++i) s.increment(keys[i], later[i]);
  REQUIRE(s.run_until_over(later));
  for (const ending& one : later) CHECK(!one.ec);
  CHECK(s.many->stats().calls == 0);
  return s.has_failed;
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel,
               "redis cluster: each allocation may fail: calls end, and later ones are executed") {
  NEEDS_ALLOCATION_FAULTS();
  bool has_failed = true;
  for (int n = 1; has_failed; ++n) {
    CAPTURE(n);
    has_failed = call_short_of_memory(n);
  }
}

CONFORMANCE("redis cluster: calls are cancelled without memory") {
  NEEDS_ALLOCATION_FAULTS();
  cluster_site s;
  ending warm;
  begin(s.many->exec<long>("INCR", s.key(0)), warm);
  REQUIRE(s.run_until([&] { return warm.is_over; }));
  beck::cancellation_signal stop;
  bool is_over = false;
  beck::error_code end;
  s.many->exec(cmd<long>("INCR", s.key(0)), cmd<long>("INCR", s.key(1)),
               cmd<long>("INCR", s.key(2)))(
      bind_cancellation_slot(stop.slot(), [&](beck::error_code ec, const auto&) {
        end = ec;
        is_over = true;
      }));
  {
    const beck::test::allocation_fault fault(1);
    stop.emit(beck::cancellation_type::terminal);
  }
  REQUIRE(s.run_until([&] { return is_over; }));
  CHECK(end == beck::error::operation_aborted);
  CHECK(s.many->stats().calls == 0);
}

CONFORMANCE("redis cluster: the login of each connection is asked for, also that of a named node") {
  rotation logins;
  cluster_site s;
  s.truth.password = "first";
  logins.logins = {{"", "first"}, {"", "first"}, {"", "first"}, {"app", "second"}};
  s.many->login_with(logins);
  s.run([](cluster_site& at, const rotation& from) -> task<> {
    for (int node = 0; node < 3; ++node) CHECK(co_await at.many->exec<long>("INCR", at.key(node)));
    CHECK(from.asked == 3);
    at.truth.password = "second";  // connections stay, and the next one has the next login
    CHECK(co_await at.many->exec<long>("INCR", at.key(1)));
    at.nodes[1]->cut();
    CHECK(co_await at.many->exec<long>("GET", at.key(1)));
    CHECK(from.asked == 4);
  }(s, logins));
}

CONFORMANCE("redis cluster: a login that comes later is that of nodes that are known") {
  rotation logins;
  logins.logins = {{"", "secret"}};
  cluster_site s;
  s.run([](cluster_site& at, rotation& from) -> task<> {
    CHECK(co_await at.many->exec<long>("INCR", at.key(0)));
    at.many->login_with(from);
    at.truth.password = "secret";
    at.nodes[0]->cut();
    CHECK(co_await at.many->exec<long>("GET", at.key(0)));
    CHECK(from.asked == 1);
  }(s, logins));
  logins.failure = beck::error::not_found;  // of an attempt to connect, of which more follow
  s.nodes[0]->cut();
  ending late;
  begin(s.many->exec<long>("GET", s.key(0)), late);
  REQUIRE(s.run_until([&] { return logins.asked > 3; }));
  CHECK(!late.is_over);
  logins.failure = beck::error_code();
  REQUIRE(s.run_until([&] { return late.is_over; }));
  CHECK(!late.ec);
}

CONFORMANCE(
    "redis cluster: the login and the layer are those of every node, however it was named") {
  cluster_site s;
  s.truth.password = "secret";
  plain_layer layer;
  s.many.emplace(s.ctx, "rediss://:secret@" + s.truth.addresses[0],
                 redis::cluster_options{.reads = redis::prefer_replica});
  s.many->secure(layer);
  const std::string moved = s.key(0);
  const std::string asked = s.key(1);
  s.truth.gone = {3, 4, 5};
  s.run([](cluster_site& at, std::string first, std::string second) -> task<> {
    CHECK(co_await at.many->exec<long>("INCR", first));
    at.truth.gone.clear();
    at.truth.moved[redis::key_slot(first)] = 3;                    // a node that no map has named
    at.truth.migrations[redis::key_slot(second)] = {4, {second}};  // another one
    CHECK(co_await at.many->exec<long>("INCR", first));
    CHECK(co_await at.many->exec<long>("INCR", second));
    CHECK(co_await at.many->exec<long>("INCR", at.key(2)));
    CHECK(co_await at.many->exec<long>("EXISTS", at.key(2)));
  }(s, moved, asked));
  std::size_t connections = 0;
  for (const auto& one : s.nodes) connections += static_cast<std::size_t>(one->connections());
  CHECK(s.nodes[3]->connections() == 1);
  CHECK(s.nodes[4]->connections() == 1);
  CHECK(layer.peers.size() == connections);
  for (const std::string& name : layer.peers) CHECK(name == "127.0.0.1");
}

CONFORMANCE("redis cluster: a layer that is set late encrypts the later connections of all nodes") {
  cluster_site s;
  s.many.emplace(s.ctx, "rediss://" + s.truth.addresses[0],
                 redis::cluster_options{.connections = {.fails_fast = true}});
  ending e;
  begin(s.many->exec<long>("INCR", s.key(0)), e);
  REQUIRE(s.run_until([&] { return e.is_over; }));
  CHECK(e.ec == std::errc::protocol_not_supported);
  plain_layer layer;
  s.many->secure(layer);
  e = ending();
  begin(s.many->exec<long>("INCR", s.key(0)), e);
  REQUIRE(s.run_until([&] { return e.is_over; }));
  CHECK(e.value == 1);
}

CONFORMANCE(
    "redis cluster: a primary that becomes a replica redirects the reads of calls that write") {
  cluster_site s({.reads = redis::prefer_replica});
  const std::string key = s.key(1);
  const auto increment_and_get = [](cluster_site& at, std::string of, long wanted) -> task<> {
    auto two = co_await at.many->exec(cmd<long>("INCR", of), cmd<long>("GET", of));
    REQUIRE(!two.error());
    CHECK(*std::get<0>(*two) == wanted);
    CHECK(*std::get<1>(*two) == wanted);
  };
  s.run(increment_and_get(s, key, 1));
  s.truth.fail_over(1, 4);
  s.truth.replica_of[1] = 4;
  s.truth.replica_of.erase(4);
  s.run(increment_and_get(s, key, 2));
  CHECK(s.truth.log.back() == "4:GET " + key);
  // Calls that only read are answered by the former primary, when the map names it.
  REQUIRE(s.run_until([&] { return s.many->stats().maps == 2; }));
  s.run([](cluster_site& at, std::string of) -> task<> {
    CHECK(*co_await at.many->exec<long>("GET", of) == 2);
  }(s, key));
  CHECK(s.truth.log.back() == "1:GET " + key);
  CHECK(s.executed(1) == 3);
}

CONFORMANCE_ON(
    beck::test::sim,
    "redis cluster: 20,000 lost commands on a moving slot cost no more than each twice") {
  cluster_site s;
  constexpr std::uint64_t count = 20'000;
  const std::uint16_t slot = redis::key_slot("{t}");
  const int owner = s.truth.owner(slot);
  migration& way = s.truth.migrations[slot];
  way.to = (owner + 1) % 3;
  redis::request q;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string key = "{t}" + std::to_string(i);
    q.push("EXISTS", key);
    s.truth.values[key] = 0;
    way.moved.insert(key);
  }
  node_server& target = *s.nodes[static_cast<std::size_t>(way.to)];
  int seen = 0;
  target.on_command([&](const redis::arguments& command) {
    if (command[0] == "EXISTS" && ++seen == 100) target.cut();
  });
  s.run([](cluster_site& at, const redis::request& all) -> task<> {
    const auto each = co_await at.many->exec_each<long>(all);
    for (std::size_t i = 0; i < each->size(); ++i)
      if (*(*each)[i] != 1) FAIL("reply ", i);
  }(s, q));  // a cost for each pair of commands takes so long that the watchdog ends the case
  CHECK(s.many->stats().resent > count / 2);
}

CONFORMANCE(
    "redis cluster: a command that loses every connection is sent as often as attempts says") {
  cluster_site s({.connections = {.attempts = 3}});
  const std::string key = s.key(1);
  s.nodes[1]->on_command([&](const redis::arguments& command) {
    if (command[0] == "INCR") s.nodes[1]->cut_behind_next();
  });
  ending e;
  begin(s.many->exec<long>("INCR", key).retryable(), e);
  REQUIRE(s.run_until([&] { return e.is_over; }));
  CHECK(e.ec);
  CHECK(e.what == outcome::maybe_executed);
  CHECK(s.truth.number(key) == 3);
}

CONFORMANCE("redis cluster: a command that was lost and then refused may have run") {
  cluster_site s({.connections = {.hold_timeout = 300ms}});
  const std::string key = s.key(1);
  ending e;
  begin(s.many->exec<long>("INCR", key), e);
  REQUIRE(s.run_until([&] { return e.is_over; }));
  bool is_first = true;
  s.nodes[1]->on_command([&](const redis::arguments& command) {
    if (command[0] != "INCR" || !std::exchange(is_first, false)) return;
    s.truth.refusals["INCR"] = {"TRYAGAIN x", 1'000'000};
    s.nodes[1]->cut();
  });
  e = ending();
  begin(s.many->exec<long>("INCR", key).retryable(), e);
  REQUIRE(s.run_until([&] { return e.is_over; }));
  CHECK(e.ec == redis::error::tryagain);
  CHECK(e.what == outcome::maybe_executed);
  // The same of a transaction, whose refusal is EXECABORT.
  s.truth.refusals.clear();
  s.nodes[1]->on_command([&](const redis::arguments& command) {
    if (command[0] == "EXEC" && s.truth.refusals.empty()) s.nodes[1]->cut();
    if (command[0] == "EXEC") s.truth.refusals["INCR"] = {"MOVED 1 127.0.0.1:1", 1'000'000};
  });
  s.run([](cluster_site& at, std::string of) -> task<> {
    auto call = at.many->transaction(cmd<long>("INCR", of)).retryable();
    const auto one = co_await std::move(call);
    CHECK(one.error() == redis::error::exec_abort);
    CHECK(std::get<0>(*one).error() == redis::error::moved);
    CHECK(std::get<0>(*one).outcome() == outcome::maybe_executed);
  }(s, key));
  CHECK(s.truth.number(key) == 2);  // the transaction has run
}
