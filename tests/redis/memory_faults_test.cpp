// SPDX-License-Identifier: BSL-1.0
// The faults of memory_server, on every backend: cuts at every byte, pauses, refusals, and the
// function that sees each command.
#include "redis/memory_peers.hpp"

#include <string>
#include <vector>

#include "support/report.hpp"

using namespace beck::redis::test;
using beck::redis::memory_server;

CONFORMANCE("memory_server cuts its connections, and takes new ones") {
  memory_site s;
  memory_client& one = s.start("SET k v|SUBSCRIBE a|", "+OK|*3|$9|subscribe|$1|a|:1|");
  memory_client& two = s.start("PING|BLPOP q 0|", "+PONG|");
  s.server.cut();
  CHECK(s.server.connections() == 0);
  s.run_until([&] { return one.done && two.done; });
  CHECK(two.received == "+PONG|");
  CHECK(s.talk("RPUSH q x|PUBLISH a x|GET k|QUIT|") == ":1|:0|$1|v|+OK|");
  CHECK(s.server.exists("q"));
}

CONFORMANCE("memory_server executes nothing while it is paused, and everything afterwards") {
  memory_site s;
  memory_client& one = s.start("INCR n|", ":1|");
  s.server.pause();
  memory_client& two = s.start("INCR n|QUIT|");
  s.send(one, "INCR n|GET n|");
  s.run_until([&] { return s.server.connections() == 2; });
  for (int i = 0; i < 100; ++i) s.ctx.poll();
  CHECK(s.server.integer("n") == 1);
  CHECK(one.received == ":1|");
  CHECK(two.received == "");
  s.server.resume();
  s.run_until([&] { return two.done && one.received.size() >= 11; });
  CHECK(s.server.integer("n") == 3);
}

CONFORMANCE("memory_server receives a bounded number of bytes while it is paused") {
  memory_site s;
  s.server.pause();
  std::string lines;
  for (int i = 0; i < 100; ++i)
    lines += "SET k" + std::to_string(i) + " " + std::string(30'000, 'v') + "|";
  memory_client& one = s.start(lines + "INCR n|QUIT|");
  for (int i = 0; i < 1000; ++i) s.ctx.poll();
  CHECK(s.server.commands() == 0);
  s.server.resume();
  s.run_until([&] { return one.done; });
  CHECK(one.received.ends_with(":1|+OK|"));
  CHECK(s.server.commands() == 102);
}

CONFORMANCE("memory_server refuses the commands that a test names") {
  memory_site s;
  s.server.fail_next("incr", "LOADING Redis is loading the dataset in memory", 2);
  s.server.fail_next("INCR", "BUSY later");
  s.server.fail_next("client|id", "ERR not now");
  s.server.fail_next("GET", "ERR never", 0);
  CHECK(s.talk("SET n 5|INCR n|GET n|INCR n|INCR n|INCR n|CLIENT ID|CLIENT ID|QUIT|") ==
        "+OK|-LOADING Redis is loading the dataset in memory|$1|5|"
        "-LOADING Redis is loading the dataset in memory|-BUSY later|:6|-ERR not now|:1|+OK|");
  CHECK(s.server.commands() == 5);
  s.server.fail_next("SET", "OOM no");
  s.server.fail_next("EXEC", "LOADING no");
  CHECK(s.talk("MULTI|SET a 1|EXEC|MULTI|INCR n|EXEC|EXEC|QUIT|") ==
        "+OK|-OOM no|-EXECABORT Transaction discarded because of: LOADING no|+OK|+QUEUED|*1|:7|"
        "-ERR EXEC without MULTI|+OK|");
}

CONFORMANCE("memory_server cuts connections behind every byte of their replies") {
  const std::string lines = "INCR n|HELLO 3|GET n|QUIT|";
  memory_site s;
  std::string whole = s.talk(lines);
  for (std::size_t bytes = 0; bytes < 60; ++bytes) {
    CAPTURE(bytes);
    s.server.cut_after(bytes, 1);
    memory_client& one = s.start(lines);
    s.run_until([&] { return one.done; });
    std::size_t got = one.received.size();
    for (const char c : one.received) got += c == '|' ? 1 : 0;  // two bytes
    CHECK(got == bytes);
    CHECK(s.server.integer("n") == static_cast<long long>(bytes) + 2);
    s.run_until([&] { return s.server.connections() == 0; });
  }
  CHECK(s.talk(lines).size() >= whole.size());  // the plan was for one connection each
}

CONFORMANCE("memory_server cuts a connection that has been sent more with its next reply") {
  memory_site s;
  memory_client& one = s.start("PING|", "+PONG|");
  s.server.cut_after(3);
  memory_client& two = s.start("PING|");
  s.run_until([&] { return two.done; });
  CHECK(two.received == "+PO");
  CHECK(!one.done);
  s.send(one, "INCR n|");
  s.run_until([&] { return one.done; });
  CHECK(one.received == "+PONG|");
  CHECK(s.server.integer("n") == 1);
  s.server.cut_after(7, 1);
  CHECK(s.talk("PING|") == "+PONG|");  // exactly so many
  s.server.cut_after(0, 0);
  CHECK(s.talk("PING|QUIT|") == "+PONG|+OK|");
}

CONFORMANCE("memory_server shows each command to a test, which may cut there") {
  memory_site s;
  std::vector<std::string> seen;
  s.server.on_command([&](const beck::redis::arguments& command) {
    seen.emplace_back(command[0]);
    if (command[0] == "BLPOP" || command[0] == "SUBSCRIBE") s.server.cut();
  });
  CHECK(s.talk("MULTI|INCR n|GET n|EXEC|NOPE|GET|QUIT|")
            .ends_with("*2|:1|$1|1|-ERR unknown command "
                       "'NOPE', with args beginning with: |-ERR wrong number of arguments for "
                       "'get' command|+OK|"));
  CHECK(seen == std::vector<std::string>{"MULTI", "EXEC", "INCR", "GET", "QUIT"});
  CHECK(s.talk("PING|BLPOP q 0|INCR n|") == "");
  CHECK(s.talk("SUBSCRIBE a|INCR n|") == "");
  s.server.on_command([](const beck::redis::arguments&) {});
  CHECK(s.talk("RPUSH q x|LLEN q|PUBLISH a x|GET n|QUIT|") == ":1|:1|:0|$1|1|+OK|");
  CHECK(seen.size() == 8);
}
