// SPDX-License-Identifier: BSL-1.0
// Replies as bytes: the same ones that have come, at every split, and beside them the error of the
// server.
#include <beck/redis/raw_reply.hpp>

#include <doctest/doctest.h>

#include <beck/redis/client.hpp>
#include <beck/redis/memory_server.hpp>
#include <beck/redis/reader.hpp>

#include <ostream>
#include <string>
#include <string_view>

#include "redis/cluster_site.hpp"

using namespace beck::redis;
using namespace beck::redis::test;

namespace {

/// Returns the bytes of a reply of a client that speaks a version of the protocol at most.
task<> ask_server(beck::io_context& ctx, const std::string& url, protocol version,
                  std::string& got) {
  client db(ctx, url, {.protocol = version});
  const auto set = co_await db.exec<long>("HSET", "h", "f", "v");
  CHECK(!set.error());
  const auto all = co_await db.exec<raw_reply>("HGETALL", "h");
  CHECK(!all.error());
  got = all->bytes();
  const auto failed = co_await db.exec<raw_reply>("INCR", "h");
  CHECK(failed.error() == error::wrongtype);
  CHECK(failed->bytes() == "-" + std::string(failed.error_text()) + "\r\n");
}

/// Asks for keys of three nodes, of which one is not there.
task<> ask_nodes(cluster_site& s, std::string_view null) {
  for (int i = 0; i < 2; ++i) {
    const auto set = co_await s.many->exec<raw_reply>("SET", s.key(i), i);
    CHECK(set->bytes() == "+OK\r\n");
  }
  const auto got = co_await s.many->exec<raw_reply>("MGET", s.key(0), s.key(2), s.key(1));
  CHECK(!got.error());
  CHECK(got->bytes() == "*3\r\n$1\r\n0\r\n" + std::string(null) + "\r\n$1\r\n1\r\n");
  const auto gone = co_await s.many->exec<raw_reply>("DEL", s.key(0), s.key(2), s.key(1));
  CHECK(gone->bytes() == ":2\r\n");
}

/// Reads a reply, in two parts; longer texts than 4 bytes come in parts. Returns whether it is
/// whole.
bool read(reply<raw_reply>& to, std::string_view wire, std::size_t cut, protocol version,
          const reply_limits& most = {}) {
  parse_limits limits;
  limits.whole_bytes = 4;
  reply_parser parser(limits, version);
  reply_reader reader(to, most);
  token tokens[4];
  std::size_t begin = 0;
  bool is_whole = false;
  for (const std::size_t end : {cut, wire.size()}) {
    for (;;) {
      const parsed found = parser.parse(wire.substr(begin, end - begin), tokens, 4);
      begin += found.consumed;
      REQUIRE(found.outcome != parse_outcome::refused);
      for (std::size_t i = 0; i < found.tokens; ++i) is_whole = reader.feed(tokens[i]);
      if (found.outcome == parse_outcome::more) break;
    }
  }
  return is_whole;
}

/// Checks that a reply is read as its own bytes, at every split.
void check_bytes(std::string_view wire, protocol version, beck::error_code expected = {}) {
  CAPTURE(wire);
  for (std::size_t cut = 0; cut <= wire.size(); ++cut) {
    CAPTURE(cut);
    reply<raw_reply> got;
    CHECK(read(got, wire, cut, version));
    CHECK(got->bytes() == wire);
    CHECK(got.error() == expected);
  }
}

}  // namespace

TEST_CASE("redis raw_reply: the bytes of every type are those that have come") {
  for (const std::string_view wire :
       {"+OK\r\n", "+\r\n", ":0\r\n", ":-9223372036854775808\r\n", "$-1\r\n", "*-1\r\n",
        "$0\r\n\r\n", "$10\r\n\r\n*1\r\n:1\r\n\r\n", "*0\r\n",
        "*3\r\n*-1\r\n$-1\r\n*1\r\n+a b\r\n"}) {
    check_bytes(wire, protocol::resp2);
    check_bytes(wire, protocol::resp3);
  }
  for (const std::string_view wire :
       {"_\r\n", "#t\r\n", "#f\r\n", ",3.1000000000000001\r\n", ",inf\r\n", ",-0\r\n", ",nan\r\n",
        "(123456789012345678901234567890\r\n", "=8\r\ntxt:abcd\r\n", "=4\r\nmkd:\r\n",
        "=12\r\nmkd:abcdefgh\r\n", "~2\r\n:1\r\n_\r\n", "%2\r\n$1\r\na\r\n*-1\r\n+b\r\n#t\r\n",
        "|1\r\n+k\r\n:1\r\n*1\r\n|2\r\n+a\r\n+b\r\n+c\r\n_\r\n$5\r\nhello\r\n", "%0\r\n",
        "*?\r\n.\r\n", "%?\r\n+a\r\n:1\r\n.\r\n"}) {
    check_bytes(wire, protocol::resp3);
  }
}

TEST_CASE("redis raw_reply: an error of the server is in the bytes and in the reply") {
  check_bytes("-ERR no\r\n", protocol::resp2, error::err);
  check_bytes("-MOVED 1 127.0.0.1:1\r\n", protocol::resp2, error::moved);
  check_bytes("!13\r\nWRONGTYPE bad\r\n", protocol::resp3, error::wrongtype);
  check_bytes("*2\r\n-ERR inside\r\n+OK\r\n", protocol::resp2);
}

TEST_CASE("redis raw_reply: the parts of a streamed text are a streamed text") {
  const std::string_view wire = "*2\r\n$?\r\n;3\r\nabc\r\n;9\r\ndefghijkl\r\n;0\r\n:1\r\n";
  reply<raw_reply> got;
  CHECK(read(got, wire, wire.size(), protocol::resp3));
  CHECK(got->bytes() == wire);
  const std::string_view empty = "$?\r\n;0\r\n";
  CHECK(read(got, empty, 3, protocol::resp3));
  CHECK(got->bytes() == empty);
}

TEST_CASE("redis raw_reply: a reply beyond the limits is an error, and the next one begins anew") {
  reply<raw_reply> got;
  reply_limits few;
  few.text_bytes = 8;
  const std::string_view wire = "$9\r\n123456789\r\n";
  CHECK(read(got, wire, wire.size(), protocol::resp2, few));
  CHECK(got.error() == error::reply_too_large);
  CHECK(got->bytes().size() < wire.size());
  CHECK(read(got, "+OK\r\n", 2, protocol::resp2, few));
  CHECK(!got.error());
  CHECK(got->bytes() == "+OK\r\n");
  got->clear();
  CHECK(got->bytes().empty());
}

CONFORMANCE("redis raw_reply: a client that speaks RESP2 gets its form of a map") {
  beck::io_context ctx(::context_options());
  memory_server server(ctx, beck::ip::tcp::endpoint(beck::ip::make_address("127.0.0.1"), 0));
  const std::string url = "redis://127.0.0.1:" + std::to_string(server.endpoint().port());
  std::string resp2;
  run_to_end(ctx, cluster_site::limit, ask_server(ctx, url, protocol::resp2, resp2));
  CHECK(resp2 == "*2\r\n$1\r\nf\r\n$1\r\nv\r\n");
  std::string resp3;
  run_to_end(ctx, cluster_site::limit, ask_server(ctx, url, protocol::resp3, resp3));
  CHECK(resp3 == "%1\r\n$1\r\nf\r\n$1\r\nv\r\n");
  server.close();
  ctx.restart();
  ctx.poll();
}

CONFORMANCE("redis raw_reply: the reply to a divided command has the null of its protocol") {
  for (const protocol version : {protocol::resp2, protocol::resp3}) {
    cluster_site s({.connections = {.protocol = version}});
    s.run(ask_nodes(s, version == protocol::resp2 ? "$-1" : "_"));
  }
}
