// SPDX-License-Identifier: BSL-1.0
// The end of a connection while something is under way: parts of a message, writes that wait,
// streams that are assigned.
#include <beck/websocket/stream.hpp>

#include <optional>
#include <string>
#include <utility>

#include "support/conformance.hpp"
#include "websocket/pair.hpp"

using namespace beck::websocket;
using namespace beck::websocket::test;

namespace {

constexpr auto text = message_kind::text;

}  // namespace

CONFORMANCE("websocket: a stream that gets another connection cuts its own") {
  pair_site s;
  REQUIRE(!s.connect());
  REQUIRE(!s.connect());
  std::optional<std::string> first;
  s.start(read_text(s.servers[0]), first);
  s.settle();
  s.clients[0] = std::move(s.clients[1]);
  s.ends.run_until([&] { return first.has_value(); });
  CHECK(s.servers[0].peer_code() == close_code::abnormal);
  CHECK(!s.clients[1]);
  stream& same = s.clients[0];
  s.clients[0] = std::move(same);
  CHECK(!s.run(s.clients[0].write(text, as_buffer("still"))).error());
  CHECK(s.run(read_text(s.servers[1])) == "still");
}
