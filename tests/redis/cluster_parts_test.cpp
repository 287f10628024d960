// SPDX-License-Identifier: BSL-1.0
// The parts of a cluster alone: its nodes, its map, the questions for it, and the lists of calls.
#include <beck/io/io_context.hpp>
#include <beck/redis/reader.hpp>
#include <beck/redis/resp3.hpp>

#include <doctest/doctest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "redis/cluster/call_lists.hpp"
#include "redis/cluster/cluster_map.hpp"
#include "redis/scripted_redis.hpp"

using namespace beck::redis;
using namespace beck::redis::test;
using detail::map_answer;

namespace {

constexpr std::int64_t cluster_second = 1'000'000'000;

/// The parts that know nodes, for two seeds; nothing connects.
struct map_parts {
  explicit map_parts(const cluster_options& options = {}) : how(options) {}

  static std::vector<detail::server_url> seeds() {
    return {detail::parse_server_url("redis://h1:7000"),
            detail::parse_server_url("redis://h2:7000")};
  }
  detail::cluster_node& seed(const char* host) { return *nodes.find({host, 7000}); }
  /// The node answers with these bytes.
  map_answer answer(detail::cluster_node& from, std::string_view wire, std::int64_t now) {
    reply<value> got;
    reply_reader reader(got);
    reply_parser parser;
    token tokens[64];
    const parsed found = parser.parse(wire, tokens, 64);
    for (std::size_t i = 0; i < found.tokens; ++i) reader.feed(tokens[i]);
    detail::place_of(got).status().set(outcome::executed);
    return refresh.take(got, from, now);
  }

  beck::io_context ctx;
  const cluster_options how;
  detail::node_table nodes{beck::any_io_executor(ctx.get_executor()), seeds(), how};
  detail::cluster_map map{nodes, how};
  detail::map_refresh refresh{map, nodes, how};
};

/// All slots at h1:7000.
constexpr std::string_view one_node =
    "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$2\r\nh1\r\n:7000\r\n$2\r\nid\r\n";

}  // namespace

TEST_CASE("redis cluster: a map is asked for once at a time, and not again at once") {
  map_parts p;
  CHECK(p.refresh.is_stale(0));
  CHECK(p.refresh.due_at() == INT64_MAX);
  p.refresh.want(0);
  CHECK(p.refresh.due_at() == 0);
  detail::cluster_node& asked = p.refresh.next_to_ask(5);
  p.refresh.begin(asked);
  CHECK(asked.units == 1);
  CHECK(p.refresh.due_at() == INT64_MAX);
  p.refresh.want(0);  // once more, while the answer is on its way
  CHECK(p.refresh.due_at() == INT64_MAX);
  CHECK(p.answer(asked, one_node, 10) == map_answer::taken);
  p.refresh.end(asked);
  CHECK(asked.units == 0);
  CHECK(p.refresh.due_at() == 100'000'005);
  CHECK_FALSE(p.refresh.is_stale(10));
  CHECK_FALSE(p.refresh.is_stale(59 * cluster_second));
  CHECK(p.refresh.is_stale(61 * cluster_second));
  CHECK(p.map.primary_of(77) == &p.seed("h1"));
  p.refresh.begin(asked);
  p.refresh.end(asked);
  CHECK(p.refresh.due_at() == INT64_MAX);  // it was not wanted meanwhile
}

TEST_CASE(
    "redis cluster: the node that has redirected a command is asked first, then all by turns") {
  map_parts p;
  detail::cluster_node& other = p.nodes.get({"h3", 7000});
  p.refresh.want(other.id);
  p.refresh.want(0);  // names none
  CHECK(&p.refresh.next_to_ask(0) == &other);
  CHECK(&p.refresh.next_to_ask(0) == &p.seed("h1"));
  CHECK(&p.refresh.next_to_ask(0) == &p.seed("h2"));
  CHECK(&p.refresh.next_to_ask(0) == &other);
}

TEST_CASE("redis cluster: calls wait for the first map, unless waiting is in vain") {
  for (const bool fails_fast : {false, true}) {
    map_parts p({.connections = {.fails_fast = fails_fast}});
    const beck::error_code lost = connection_reset();
    CHECK(p.refresh.fail(lost, "first", false) == map_answer::failed);
    CHECK(p.refresh.error() == lost);
    CHECK(p.refresh.text() == "first");
    const auto all_seeds = fails_fast ? map_answer::hopeless : map_answer::failed;
    CHECK(p.refresh.fail(lost, {}, false) == all_seeds);
    CHECK(p.refresh.fail(lost, {}, false) == map_answer::failed);  // the seeds once more
    CHECK(p.refresh.fail(lost, {}, true) == map_answer::hopeless);
    CHECK(p.answer(p.seed("h2"), "-LOADING soon\r\n", 0) == map_answer::failed);
    CHECK(p.answer(p.seed("h2"), ":1\r\n", 0) == map_answer::hopeless);
    CHECK(p.answer(p.seed("h2"), one_node, 0) == map_answer::taken);
    CHECK(p.refresh.fail(lost, {}, true) == map_answer::failed);  // there is a map
  }
}

TEST_CASE("redis cluster: nodes that no map names are forgotten, but for seeds and those in use") {
  map_parts p;
  detail::cluster_node& used = p.nodes.get({"h3", 7000});
  used.units = 1;
  p.nodes.get({"h4", 7000});
  CHECK(p.map.patch(5, {"h5", 7000}));
  CHECK(p.map.primary_of(5) == p.nodes.find({"h5", 7000}));
  CHECK(p.map.primary_of(6) == nullptr);
  p.nodes.sweep();
  CHECK(p.nodes.find({"h1", 7000}) != nullptr);
  CHECK(p.nodes.find({"h2", 7000}) != nullptr);
  CHECK(p.nodes.find({"h3", 7000}) == &used);
  CHECK(p.nodes.find({"h4", 7000}) == nullptr);
  CHECK(p.nodes.find({"h5", 7000}) != nullptr);
  CHECK(p.answer(p.seed("h2"), one_node, 0) == map_answer::taken);
  used.units = 0;
  p.nodes.sweep();
  CHECK(p.nodes.find({"h3", 7000}) == nullptr);
  CHECK(p.nodes.find({"h5", 7000}) == nullptr);
}

TEST_CASE("redis cluster: calls rest together, and longer each time until one is accepted") {
  ledger commands;
  scripted_exchange first(commands, 0, "g", false);
  scripted_exchange second_one(commands, 1, "g", false);
  detail::call_lists calls;
  detail::cluster_call& a = calls.make(first, 0);
  detail::cluster_call& b = calls.make(second_one, 0);
  calls.add(a);
  calls.add(b);
  CHECK(first.is_under_way());
  CHECK(calls.size() == 2);
  CHECK(calls.wake_at() == INT64_MAX);
  calls.rest(a, 0);
  calls.rest(b, 5'000'000);
  calls.rest(a, 5'000'000);  // it does already
  CHECK(calls.wake_at() == 10'000'000);
  calls.wake(9'999'999);
  CHECK(calls.first_ready() == nullptr);
  calls.wake(10'000'000);
  CHECK(calls.first_ready() == &a);
  CHECK(calls.next_ready(a) == &b);
  CHECK(calls.wake_at() == INT64_MAX);
  calls.rest(a, 0);
  CHECK(calls.wake_at() == 20'000'000);
  calls.wake(INT64_MAX);
  calls.reset_pause();
  calls.rest(a, 0);
  CHECK(calls.wake_at() == 10'000'000);
  CHECK(&calls.end(a) == &first);
  CHECK(&calls.end(b) == &second_one);
  CHECK_FALSE(first.is_under_way());
  CHECK(calls.size() == 0);
  CHECK(calls.wake_at() == INT64_MAX);
  CHECK(calls.first_ready() == nullptr);
}
