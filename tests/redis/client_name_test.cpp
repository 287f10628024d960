// SPDX-License-Identifier: BSL-1.0
// client_options::name: the objects that take options copy its text.
#include <beck/redis/arguments.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "redis/client_site.hpp"
#include "redis/cluster_site.hpp"
#include "redis/sentinel_site.hpp"

using namespace beck::redis::test;

namespace {

constexpr std::string_view app_name = "an-application-with-a-long-name";

/// Calls `make(options)` with options whose name is overwritten and freed behind it.
template <class Make>
void with_brief_name(Make make) {
  std::string text(app_name);
  make(redis::client_options{.name = text});
  text.assign(text.size(), '!');
}

/// Adds the names that connections are given.
struct name_log {
  std::vector<std::string>& names;
  void operator()(const redis::arguments& command) const {
    if (command.size() == 3 && command[1] == "SETNAME") names.emplace_back(command[2]);
  }
};

bool are_all_right(const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(), [](const auto& one) { return one == app_name; });
}

task<> check_names(redis::client& db) {
  const std::string said = " name=" + std::string(app_name) + " ";
  const auto own = co_await db.exec<std::string>("CLIENT", "INFO");
  CHECK(own->find(said) != std::string::npos);
  for (int i = 0; i < 2; ++i) {  // the second one is the first one, behind a RESET
    auto lane = co_await db.lane();
    REQUIRE(lane);
    const auto of_lane = co_await lane->exec<std::string>("CLIENT", "INFO");
    CHECK(of_lane->find(said) != std::string::npos);
  }
}

}  // namespace

CONFORMANCE("redis client: the text of its name may be gone when it and its lanes connect") {
  client_site s;
  std::vector<std::string> names;
  s.server.on_command(name_log{names});
  with_brief_name([&](const redis::client_options& how) {
    s.db.emplace(s.ctx, "redis://" + s.address(), how);
  });
  s.run(check_names(*s.db));
  s.server.cut();
  s.run(check_names(*s.db));
  CHECK(names.size() >= 5);
  CHECK(are_all_right(names));
}

CONFORMANCE("redis cluster: the text of its name may be gone when nodes are connected to") {
  cluster_site s;
  std::vector<std::string> names;
  for (const auto& one : s.nodes) one->on_command(name_log{names});
  with_brief_name([&](const redis::client_options& how) {
    s.many.emplace(s.ctx, "redis://" + s.truth.addresses[0],
                   redis::cluster_options{.connections = how});
  });
  s.run([](cluster_site& site) -> task<> {
    for (int node = 0; node < 3; ++node) {
      const std::string key = site.key(node);
      const auto n = co_await site.many->exec<long>("INCR", key);
      CHECK(*n == 1);
    }
  }(s));
  CHECK(names.size() == 3);
  CHECK(are_all_right(names));
}

CONFORMANCE("redis sentinel: the text of the client's name may be gone when a primary is found") {
  sentinel_site s;
  std::vector<std::string> names;
  for (const auto& one : s.servers) one->on_command(name_log{names});
  with_brief_name([&](const redis::client_options& how) { s.db.emplace(s.ctx, s.url, how); });
  CHECK(!increment(s).ec);
  s.settle();
  s.fail_over();
  REQUIRE(s.run_until([&] { return s.server(0).connections() == 0; }));
  CHECK(!increment(s).ec);
  CHECK(names.size() == 2);
  CHECK(are_all_right(names));
}
