// SPDX-License-Identifier: BSL-1.0
// The leaderboard of the examples in a simulated world: Redis on the first host, the application on
// the second, browsers on the third.
#pragma once

#include "examples/leaderboard.hpp"

#include <beck/coro/co_spawn.hpp>
#include <beck/http/client.hpp>
#include <beck/redis/memory_server.hpp>
#include <beck/testing/check.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "redis/world_site.hpp"

namespace leaderboard_test {

namespace http = beck::http;
namespace redis = beck::redis;
namespace sim = beck::testing::sim;
using beck::task;
using namespace std::chrono_literals;

inline const std::string origin = "http://10.0.0.2";

/// The changes that the server of Redis has executed.
class history {
 public:
  void note(const redis::arguments& command) {
    if (command[0] == "PUBLISH") changes_.insert(std::string(command[2]));
    if (command[0] != "ZINCRBY") return;
    scores_[std::string(command[3])] += std::stol(std::string(command[2]));
    tables_.emplace(table(), static_cast<long>(tables_.size()));
  }
  /// Returns the table of now as JSON.
  std::string table() const {
    std::vector<std::pair<long, std::string>> all;
    for (const auto& [name, score] : scores_) all.emplace_back(score, name);
    std::sort(all.rbegin(), all.rend());
    std::string text;
    for (const auto& [score, name] : all) {
      text += (text.empty() ? "{\"name\":\"" : ",{\"name\":\"") + name +
              "\",\"score\":" + std::to_string(score) + "}";
    }
    return "[" + text + "]";
  }
  /// Returns how many changes were before a table; -1 if there never was such a one.
  long age(const std::string& of) const {
    const auto at = tables_.find(of);
    return at == tables_.end() ? -1 : at->second;
  }
  long score(const std::string& name) const {
    const auto at = scores_.find(name);
    return at == scores_.end() ? 0 : at->second;
  }
  bool has(const std::string& change) const { return changes_.contains(change); }

 private:
  std::map<std::string, long> scores_;
  std::map<std::string, long> tables_{{"[]", 0}};
  std::set<std::string> changes_;
};

/// An event of a stream.
struct event {
  std::string kind;  // empty: a heartbeat
  std::string data;
};

/// Takes the first event off the bytes of a stream. Returns false if there is no whole one.
inline bool take_event(std::string& bytes, event& to) {
  const std::size_t end = bytes.find("\n\n");
  if (end == std::string::npos) return false;
  const std::string text = bytes.substr(0, end);
  bytes.erase(0, end + 2);
  const std::size_t line = text.find("\ndata: ");
  to = event();
  if (text == ":") return true;
  sim::require(text.starts_with("event: ") && line != std::string::npos, "a malformed event");
  to.kind = text.substr(7, line - 7);
  to.data = text.substr(line + 7);
  return true;
}

/// The application on a host.
struct instance {
  explicit instance(beck::io_context& on)
      : board(on, "redis://10.0.0.1", beck::ip::tcp::endpoint(beck::ip::tcp::v4(), 80)) {
    on.on_log([](const char*, void*) {});  // of acceptors that find no descriptor
    board.run().start(on, [this](std::exception_ptr error) { has_ended = error == nullptr; });
  }

  example::leaderboard board;
  bool has_ended = false;
};

/// The three hosts.
struct world_site : beck::redis::test::world_site {
  explicit world_site(sim::world& in) : beck::redis::test::world_site(in) {
    server.on_command([this](const redis::arguments& command) { all.note(command); });
  }

  history all;
  beck::io_context far{world.host("browsers")};
  instance app{front};
};

}  // namespace leaderboard_test
