// SPDX-License-Identifier: BSL-1.0
// Maps of slots from replies of servers, good and malformed ones, and the texts of redirects.
#include "redis/protocol/slot_map.hpp"

#include <beck/redis/reader.hpp>
#include <beck/redis/resp3.hpp>

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

using namespace beck::redis;
using detail::parse_redirect;
using detail::slot_map;

namespace {

/// Returns a reply of the server.
value value_of(std::string_view wire) {
  reply_parser parser;
  token tokens[64];
  value made;
  for (bool is_full = true; is_full;) {
    const parsed found = parser.parse(wire, tokens, 64);
    made.append(tokens, found.tokens);
    wire.remove_prefix(found.consumed);
    is_full = found.outcome == parse_outcome::full;
  }
  REQUIRE(made.is_complete());
  return made;
}

std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

std::string array(std::initializer_list<std::string> elements) {
  std::string wire = "*" + std::to_string(elements.size()) + "\r\n";
  for (const std::string& one : elements) wire += one;
  return wire;
}

std::string number(int of) { return ":" + std::to_string(of) + "\r\n"; }

std::string node(std::string_view host, int port) {
  return array({bulk(host), number(port), bulk("id"), array({})});
}

std::string read(slot_map& map, const std::string& wire) {
  const value reply = value_of(wire);
  return map.read(reply.root(), "seed");
}

/// Returns the address of the owner of a slot.
std::string owner(const slot_map& map, std::uint16_t slot) {
  const std::uint16_t at = map.owner(slot);
  if (at == slot_map::none) return "none";
  return map.nodes()[at].host + ":" + std::to_string(map.nodes()[at].port);
}

}  // namespace

TEST_CASE("redis cluster: a map has the owner and the replicas of each slot that is assigned") {
  slot_map map(4);
  CHECK_FALSE(map.is_known());
  CHECK(owner(map, 0) == "none");
  const std::string wire =
      array({array({number(0), number(99), node("a", 1), node("b", 2)}),
             array({number(200), number(200), node("::1", 3)}),
             array({number(300), number(16383), node("a", 1), node("b", 2), node("c", 4)})});
  CHECK(read(map, wire).empty());
  CHECK(map.is_known());
  CHECK(owner(map, 0) == "a:1");
  CHECK(owner(map, 99) == "a:1");
  CHECK(owner(map, 100) == "none");
  CHECK(owner(map, 199) == "none");
  CHECK(owner(map, 200) == "::1:3");
  CHECK(owner(map, 201) == "none");
  CHECK(owner(map, 16383) == "a:1");
  CHECK(map.nodes().size() == 4);
  CHECK(map.replicas(map.owner(0)).size() == 2);  // each once
  CHECK(map.nodes()[map.replicas(map.owner(0))[1]].host == "c");
  CHECK(map.replicas(map.owner(200)).empty());
}

TEST_CASE("redis cluster: a node without a host is at that of the server that has answered") {
  slot_map map(4);
  const std::string null_host = array({std::string("_\r\n"), number(2)});
  CHECK(read(map, array({array({number(0), number(1), node("", 7), null_host})})).empty());
  CHECK(owner(map, 0) == "seed:7");
  CHECK(map.nodes()[1].host == "seed");
}

TEST_CASE("redis cluster: nodes that the server has no address of are left out of a map") {
  slot_map map(4);
  const std::string unknown = node("?", 1);
  const std::string without_port = node("a", 0);
  CHECK(read(map, array({array({number(0), number(1), unknown, node("b", 1)}),
                         array({number(2), number(3), node("c", 1), without_port, unknown}),
                         array({number(4), number(5), without_port})}))
            .empty());
  CHECK(map.is_known());
  CHECK(owner(map, 1) == "none");
  CHECK(owner(map, 2) == "c:1");
  CHECK(map.replicas(map.owner(2)).empty());
  CHECK(owner(map, 5) == "none");
  CHECK(read(map, array({array({number(0), number(16383), unknown})})).empty());
  CHECK_FALSE(map.is_known());
}

TEST_CASE("redis cluster: a map may have a range for each slot, and 65,535 nodes") {
  slot_map map(65'535);
  std::string wire = "*16384\r\n";
  for (int slot = 0; slot < 16'384; ++slot) {
    const std::string host = "node-" + std::to_string(slot) + ".example.org";
    std::string replicas;
    const int count = slot == 0 ? 2 : 3;
    for (int port = 2; port < 2 + count; ++port) replicas += node(host, port);
    wire += "*" + std::to_string(3 + count) + "\r\n" + number(slot) + number(slot) + node(host, 1) +
            replicas;
  }
  CHECK(read(map, wire).empty());
  CHECK(map.nodes().size() == 65'535);
  CHECK(owner(map, 16'383) == "node-16383.example.org:1");
  CHECK(map.replicas(map.owner(0)).size() == 2);
  CHECK(map.replicas(map.owner(16'383)).size() == 3);
}

TEST_CASE("redis cluster: a malformed map is refused with its place, and the map stays") {
  slot_map map(3);
  REQUIRE(read(map, array({array({number(0), number(5), node("a", 1)})})).empty());
  const std::string good = node("a", 1);
  const std::pair<std::string, std::string_view> cases[] = {
      {bulk("x"), "no array: \"x\""},
      {array({number(1)}), "not a range of slots and its nodes: 1"},
      {array({array({number(0), number(1)})}), "not a range of slots and its nodes: [0, 1]"},
      {array({array({number(2), number(1), good})}), "not a range of slots and its nodes: [2, 1,"},
      {array({array({number(0), number(16384), good})}), "nodes: [0, 16384,"},
      {array({array({number(-1), number(1), good})}), "nodes: [-1, 1,"},
      {array({array({bulk("0"), number(1), good})}), "nodes: [\"0\", 1,"},
      {array({array({number(0), number(1), bulk("a")})}), "not the address of a node: \"a\""},
      {array({array({number(0), number(1), node("a", -1)})}),
       "not the address of a node: [\"a\", -1"},
      {array({array({number(0), number(1), node("a", 65536)})}), "a node: [\"a\", 65536"},
      {array({array({number(0), number(1), array({number(1), number(2)})})}), "a node: [1, 2]"},
      {array({array({number(0), number(1), node(std::string(256, 'h'), 1)})}), "not the host"},
      {array({array({number(0), number(4), good}), array({number(4), number(5), good})}),
       "slot 4 has two owners"},
      {array({array({number(0), number(1), good, node("b", 1), node("c", 1), node("d", 1)})}),
       "more than 3 nodes"}};
  for (const auto& [wire, wrong] : cases) {
    CAPTURE(wire);
    const std::string said = read(map, wire);
    CAPTURE(said);
    CHECK(said.find(wrong) != said.npos);
    CHECK(owner(map, 5) == "a:1");
    CHECK(map.nodes().size() == 1);
  }
  CHECK(read(map, array({})).empty());  // a cluster whose slots are not assigned yet
  CHECK_FALSE(map.is_known());
}

TEST_CASE("redis cluster: a redirect moves one slot, to a node that is added within the bound") {
  slot_map map(2);
  REQUIRE(read(map, array({array({number(0), number(5), node("a", 1)})})).empty());
  map.patch(3, map.add({"b", 2}));
  CHECK(owner(map, 2) == "a:1");
  CHECK(owner(map, 3) == "b:2");
  CHECK(owner(map, 4) == "a:1");
  CHECK(map.add({"b", 2}) == 1);
  CHECK(map.add({"b", 3}) == slot_map::none);
  CHECK(map.nodes().size() == 2);
}

TEST_CASE("redis cluster: the texts of MOVED and ASK are parsed strictly") {
  const auto moved = parse_redirect("MOVED 3999 127.0.0.1:6381");
  REQUIRE(moved);
  CHECK_FALSE(moved->is_ask);
  CHECK(moved->slot == 3999);
  CHECK(moved->host == "127.0.0.1");
  CHECK(moved->port == 6381);
  const auto asked = parse_redirect("ASK 16383 fe80::1:7000");
  REQUIRE(asked);
  CHECK(asked->is_ask);
  CHECK(asked->slot == 16383);
  CHECK(asked->host == "fe80::1");
  CHECK(asked->port == 7000);
  const auto same_host = parse_redirect("MOVED 0 :1");
  REQUIRE(same_host);
  CHECK(same_host->host.empty());
  for (const std::string_view bad :
       {"MOVED",        "MOVED ",      "MOVED 1",         "MOVED 1 ",     "MOVED 1 h",
        "MOVED 1 h:",   "MOVED 1 h:0", "MOVED 1 h:65536", "MOVED 1 h:1x", "MOVED 16384 h:1",
        "MOVED -1 h:1", "MOVED x h:1", "MOVED  1 h:1",    "MOVED 1 ?:1",  "MOVED 1 h :1",
        "MOVED 1 h:+1", "moved 1 h:1", "ASKING 1 h:1",    "ERR 1 h:1",    ""}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_redirect(bad));
  }
}
