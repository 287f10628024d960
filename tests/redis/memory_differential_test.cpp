// SPDX-License-Identifier: BSL-1.0
// Sends the same commands to a memory_server and to a real redis-server, in both protocols, and
// compares the bytes of their replies.
#include <beck/net/local.hpp>

#include <algorithm>
#include <cstring>
#include <string>

#include "redis/memory_peers.hpp"
#include "redis/memory_scripts.hpp"
#include "redis/real_server.hpp"
#include "support/report.hpp"
#include "support/temporary_folder.hpp"

using namespace beck::redis::test;
using beck::redis::memory_server;
namespace local = beck::local;

namespace {

using local_peer = basic_memory_peer<local::stream_protocol>;

/// Returns the replies to a script, of a server on a path.
std::string replies(const std::string& path, const std::string& bytes) {
  beck::io_context ctx({.backend = beck::backend::epoll});
  local_peer peer(ctx);
  beck::co_spawn(ctx, peer.converse(local::stream_protocol::endpoint(path), bytes), beck::detached);
  ctx.run();
  return peer.received;
}

std::string replies(memory_server& server, beck::io_context& ctx, const std::string& bytes) {
  memory_client peer(ctx);
  beck::co_spawn(ctx, peer.converse(server.endpoint(), bytes), beck::detached);
  while (!peer.done) {
    ctx.restart();
    REQUIRE(ctx.run_one() != 0);
  }
  return peer.received;
}

/// Returns the replies with the numbers of connections, which differ, as "N".
std::string without_ids(std::string text) {
  const std::string_view id = "$2|id|:";
  for (std::size_t at = 0; (at = text.find(id, at)) != std::string::npos; at += id.size()) {
    const std::size_t from = at + id.size();
    text.replace(from, text.find('|', from) - from, "N");
  }
  return text;
}

/// Returns the part of two texts where they begin to differ.
std::string difference(const std::string& real, const std::string& ours) {
  std::size_t at = 0;
  while (at < real.size() && at < ours.size() && real[at] == ours[at]) ++at;
  const std::size_t from = at < 60 ? 0 : at - 60;
  return "real: ..." + real.substr(from, 160) + "\nours: ..." + ours.substr(from, 160);
}

}  // namespace

TEST_CASE("memory_server answers as redis-server does, in both protocols") {
  if (!has_server()) SKIP_CASE("redis-server is not installed");
  real_server real;
  REQUIRE(real.is_connected());
  if (!real.is_7_0()) SKIP_CASE("memory_server answers as Redis 7.0 does");
  beck::io_context ctx({.backend = beck::backend::epoll});
  memory_server ours(ctx, beck::ip::tcp::endpoint(beck::ip::address_v4::loopback(), 0));
  long long commands = 0;
  for (const bool is_new : {false, true}) {
    for (const char* const script : memory_scripts) {
      CAPTURE(script);
      const std::string bytes =
          wires(is_new ? "FLUSHALL|HELLO 3|" : "FLUSHALL|") + wires(script) + wires("QUIT|");
      const std::string expected = without_ids(replies(real.path(), bytes));
      const std::string got = without_ids(replies(ours, ctx, bytes));
      CHECK_MESSAGE(expected == got, difference(expected, got));
      commands += std::count(script, script + std::strlen(script), '|');
    }
  }
  CHECK(commands >= 800);
  beck::test::report_value("memory_server.compared", commands);
}
