// SPDX-License-Identifier: BSL-1.0
// memory_server over the sockets of every backend: several clients, blocked ones, channels, caches,
// bounds, and its end.
#include "redis/memory_peers.hpp"

#include <beck/net/local.hpp>

#include <stdexcept>
#include <string>

#include "support/report.hpp"
#include "support/temporary_folder.hpp"

using namespace beck::redis::test;
using beck::redis::memory_server;
using beck::redis::memory_server_options;

CONFORMANCE("memory_server executes commands, and a test sees the values") {
  memory_site s;
  CHECK(s.server.port() != 0);
  CHECK(s.talk("SET k v|INCR n|INCR n|GET k|HSET h f v|QUIT|") == "+OK|:1|:2|$1|v|:1|+OK|");
  CHECK(s.server.integer("n") == 2);
  CHECK(s.server.integer("none") == 0);
  CHECK(s.server.text("k") == "v");
  CHECK(s.server.text("none").empty());
  CHECK(s.server.exists("h"));
  CHECK(!s.server.exists("none"));
  CHECK(s.server.commands() == 6);
  CHECK_THROWS_AS(s.server.integer("k"), std::invalid_argument);
  CHECK_THROWS_AS(s.server.text("h"), std::invalid_argument);
  s.run_until([&] { return s.server.connections() == 0; });
}

CONFORMANCE("memory_server answers a long pipeline in order, and to a client that has ended") {
  memory_site s;
  std::string lines, expected;
  for (int i = 1; i <= 3000; ++i) {
    lines += "INCR n|";
    expected += ":" + std::to_string(i) + "|";
  }
  memory_client& one = s.start(lines);
  s.run_until([&] { return one.socket.is_open() && !one.received.empty(); });
  one.socket.shutdown(beck::socket_base::shutdown_send);
  s.run_until([&] { return one.done; });
  CHECK((one.received == expected));
  CHECK(s.server.integer("n") == 3000);
}

CONFORMANCE("memory_server takes commands at every split, and refuses other bytes") {
  memory_site s;
  std::string bytes = wires("SET key value|GET key|QUIT|");
  for (std::size_t at = 1; at < bytes.size(); ++at) {
    memory_client& one = s.start_bytes(bytes.substr(0, at));
    const auto rest = std::make_shared<std::string>(bytes.substr(at));
    s.run_until([&] { return one.sent; });
    async_write(one.socket, beck::buffer(*rest), [rest](beck::error_code, std::size_t) {});
    s.run_until([&] { return one.done; });
    CHECK(one.received == "+OK|$5|value|+OK|");
    s.run_until([&] { return s.server.connections() == 0; });
  }
  memory_client& bad = s.start_bytes("*1\r\n$4\r\nPING\r\n*1\r\n$x\r\n");
  s.run_until([&] { return bad.done; });
  CHECK(bad.received == "+PONG|-ERR Protocol error: invalid bulk length|");
  memory_client& typed = s.start_bytes("SET a \"b c\"\r\n\r\nGET a\r\nQUIT\r\n");
  s.run_until([&] { return typed.done; });
  CHECK(typed.received == "+OK|$3|b c|+OK|");
}

CONFORMANCE("memory_server keeps databases and clients apart, and asks for its password") {
  memory_site s({.password = "secret"});
  CHECK(s.talk("GET k|PING|AUTH wrong|AUTH default secret|SET k v|SELECT 1|GET k|QUIT|") ==
        "-NOAUTH Authentication required.|-NOAUTH Authentication required.|"
        "-WRONGPASS invalid username-password pair or user is disabled.|+OK|+OK|+OK|$-1|+OK|");
  CHECK(s.talk("HELLO 3|HELLO 3 AUTH default secret SETNAME me|QUIT|")
            .starts_with("-NOAUTH HELLO must be called with the client already authenticated"));
  CHECK(s.talk("AUTH secret|RESET|GET k|QUIT|") ==
        "+OK|+RESET|-NOAUTH Authentication required.|+OK|");
  CHECK(s.talk("AUTH secret|MULTI|SET k w|RESET|QUIT|").ends_with("+RESET|+OK|"));
  CHECK(s.server.text("k") == "v");
}

CONFORMANCE("memory_server serves blocked clients in the order of their commands") {
  memory_site s;
  memory_client& first = s.start("ECHO 1|BLPOP a b 0|ECHO after|", "$1|1|");
  memory_client& second = s.start("ECHO 2|BRPOP b 0|", "$1|2|");
  memory_client& pusher = s.start("RPUSH b x|", ":1|");
  s.expect(first, 5, "*2|$1|b|$1|x|$5|after|");
  CHECK(second.received == "$1|2|");
  s.ask(pusher, "RPUSH b y z|LRANGE b 0 -1|", ":2|*1|$1|y|");
  s.expect(second, 5, "*2|$1|b|$1|z|");
}

CONFORMANCE("memory_server lets a blocked client go by CLIENT UNBLOCK, or with its connection") {
  memory_site s;
  memory_client& one = s.start("CLIENT ID|BLPOP q 0|", ":1|");
  memory_client& two = s.start("CLIENT ID|BLPOP q 0|", ":2|");
  memory_client& gone = s.start("CLIENT ID|BLPOP q 0|", ":3|");
  memory_client& other = s.start(
      "CLIENT UNBLOCK 1|CLIENT UNBLOCK 1|CLIENT UNBLOCK 2 ERROR|CLIENT UNBLOCK 4|", ":1|:0|:1|:0|");
  s.expect(one, 3, "*-1|");
  s.expect(two, 3, "-UNBLOCKED client unblocked via CLIENT UNBLOCK|");
  gone.socket.close();
  s.run_until([&] { return s.server.connections() == 3; });
  s.ask(other, "RPUSH q x|LLEN q|", ":1|:1|");
}

CONFORMANCE(
    "memory_server serves blocked clients behind a transaction, and one key after another") {
  memory_site s;
  memory_client& waits = s.start("PING|BLPOP q 0|BLPOP q 0|", "+PONG|");
  memory_client& by =
      s.start("MULTI|RPUSH q x|DEL q|EXEC|SADD q 1|DEL q|MULTI|RPUSH q y z|LPOP q|EXEC|",
              "+OK|+QUEUED|+QUEUED|*2|:1|:1|:1|:1|+OK|+QUEUED|+QUEUED|*2|:2|$1|y|");
  s.expect(waits, 6, "*2|$1|q|$1|z|");
  s.ask(by, "LPUSH q last|", ":1|");
  s.expect(waits, 19, "*2|$1|q|$4|last|");
  CHECK(!s.server.exists("q"));
}

CONFORMANCE("memory_server refuses a transaction if another client has changed a watched key") {
  memory_site s;
  memory_client& one = s.start("WATCH k|GET k|MULTI|SET k mine|", "+OK|$-1|+OK|+QUEUED|");
  memory_client& two = s.start("SELECT 1|SET k other|", "+OK|+OK|");
  s.ask(one, "EXEC|", "*1|+OK|");
  s.ask(one, "WATCH k|MULTI|SET k again|", "+OK|+OK|+QUEUED|");
  s.ask(two, "SELECT 0|APPEND k x|", "+OK|:5|");
  s.ask(one, "EXEC|GET k|", "*-1|$5|minex|");
}

CONFORMANCE("memory_server sends messages to subscribers in both protocols") {
  memory_site s;
  memory_client& old =
      s.start("SUBSCRIBE a|PSUBSCRIBE a*|", "*3|$9|subscribe|$1|a|:1|*3|$10|psubscribe|$2|a*|:2|");
  memory_client& now = s.start("SET k v|HELLO 3|");
  s.run_until([&] { return now.received.ends_with("$7|modules|*0|"); });
  s.ask(now, "SUBSCRIBE a|GET k|SSUBSCRIBE a|",
        ">3|$9|subscribe|$1|a|:1|$1|v|>3|$10|ssubscribe|$1|a|:1|");
  const std::size_t of_old = old.received.size();
  const std::size_t of_new = now.received.size();
  memory_client& by =
      s.start("PUBLISH a hi|PUBLISH ab yo|PUBLISH b no|SPUBLISH a s|PUBSUB NUMSUB a|",
              ":3|:1|:0|:1|*2|$1|a|:2|");
  s.expect(old, of_old,
           "*3|$7|message|$1|a|$2|hi|*4|$8|pmessage|$2|a*|$1|a|$2|hi|"
           "*4|$8|pmessage|$2|a*|$2|ab|$2|yo|");
  s.expect(now, of_new, ">3|$7|message|$1|a|$2|hi|>3|$8|smessage|$1|a|$1|s|");
  old.socket.close();
  now.socket.close();
  s.run_until([&] { return s.server.connections() == 1; });
  s.ask(by, "PUBLISH a hi|SPUBLISH a s|", ":0|:0|");
}

CONFORMANCE("memory_server sends a cache the keys that other clients have changed") {
  memory_site s;
  memory_client& cache = s.start("HELLO 3|CLIENT TRACKING on OPTIN|");
  s.run_until([&] { return cache.received.ends_with("+OK|"); });
  s.ask(cache, "CLIENT CACHING yes|GET k|GET x|", "+OK|_|_|");
  std::size_t before = cache.received.size();
  memory_client& by = s.start("SET x 1|SET k 1|SET k 2|", "+OK|+OK|+OK|");
  s.expect(cache, before, ">2|$10|invalidate|*1|$1|k|");
  before = cache.received.size();
  s.ask(by, "FLUSHALL|", "+OK|");
  s.expect(cache, before, ">2|$10|invalidate|_|");
}

CONFORMANCE("memory_server turns connections away above its limit") {
  memory_site s({.connections = 1});
  memory_client& one = s.start("PING|", "+PONG|");
  memory_client& two = s.start("");
  s.run_until([&] { return two.done; });
  CHECK(two.received == "-ERR max number of clients reached|");
  s.ask(one, "QUIT|", "+OK|");
  s.run_until([&] { return s.server.connections() == 0; });
  CHECK(s.talk("PING|QUIT|") == "+PONG|+OK|");
}

CONFORMANCE("memory_server cuts a client that more replies wait for than it may have") {
  memory_site s({.output_bytes = 100'000});
  s.talk("SETRANGE big 60000 x|QUIT|");
  memory_client& one = s.start("PING|", "+PONG|");
  CHECK(s.talk("GET big|GET big|GET big|GET big|GET big|GET big|QUIT|").size() < 200'000);
  s.run_until([&] { return s.server.connections() == 1; });
  s.ask(one, "STRLEN big|", ":60001|");
}

CONFORMANCE("memory_server ends its connections, and its port is free at once") {
  memory_site s;
  memory_client& one = s.start("SET k v|BLPOP q 10|", "+OK|");
  memory_client& two = s.start("SUBSCRIBE a|", "*3|$9|subscribe|$1|a|:1|");
  const auto at = s.server.endpoint();
  s.server.close();
  s.server.close();
  CHECK(s.server.connections() == 0);
  CHECK(s.server.text("k") == "v");
  s.run_until([&] { return one.done && two.done; });
  s.owner.reset();
  s.owner = std::make_unique<memory_server>(s.ctx, at);
  memory_client& three = s.clients.emplace_back(s.ctx);
  co_spawn(s.ctx, three.converse(at, wires("GET k|QUIT|")), beck::detached);
  s.run_until([&] { return three.done; });
  CHECK(three.received == "$-1|+OK|");
}

CONFORMANCE("memory_server may be destroyed with clients in every state, and the context, too") {
  for (int stage = 0; stage < 6; ++stage) {
    CAPTURE(stage);
    memory_site s;
    s.server.pause();
    if (stage > 0) s.start("PING|");
    if (stage > 1) {
      s.server.resume();
      s.start("PING|BLPOP q 5|", "+PONG|");
    }
    if (stage > 2) s.start("HELLO 3|SUBSCRIBE a|MULTI|SET k v|");
    if (stage > 3) s.start("SUBSCRIBE a|", "*3|$9|subscribe|$1|a|:1|");
    if (stage > 4) s.owner.reset();
    s.ctx.poll();
  }
}

CONFORMANCE("memory_server listens on a UNIX socket") {
  beck::test::temporary_folder folder;
  beck::io_context ctx(context_options());
  const beck::local::stream_protocol::endpoint at(folder.path("s"));
  memory_server server(ctx, at);
  CHECK(server.port() == 0);
  basic_memory_peer<beck::local::stream_protocol> one(ctx);
  co_spawn(ctx, one.converse(at, wires("INCR n|QUIT|")), beck::detached);
  while (!one.done) ctx.run_one();
  CHECK(one.received == ":1|+OK|");
  CHECK(server.integer("n") == 1);
}
