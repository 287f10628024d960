// SPDX-License-Identifier: BSL-1.0
// The table of commands: facts, and keys compared with those that a server names (COMMAND GETKEYS).
#include <beck/redis/command_table.hpp>

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include <beck/redis/request.hpp>

#include "redis/real_server.hpp"
#include "support/report.hpp"

using namespace beck::redis;
using namespace beck::redis::test;

namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : line + " ") {
    if (c != ' ') {
      word += c;
      continue;
    }
    if (!word.empty()) words.push_back(word == "\"\"" ? "" : word);
    word.clear();
  }
  return words;
}

request request_of(const std::vector<std::string>& words, const char* before = nullptr,
                   const char* second = nullptr) {
  std::vector<std::string> all;
  if (before != nullptr) all = {before, second};
  all.insert(all.end(), words.begin(), words.end());
  const std::vector<std::string> rest(all.begin() + 1, all.end());
  request q;
  q.push_range(all[0], rest);
  return q;
}

std::string keys_of(const arguments& command) {
  std::string keys;
  key_cursor at(command);
  while (at.next()) {
    if (!keys.empty()) keys += ' ';
    keys += at.key();
    CHECK(command[at.index()] == at.key());
  }
  CHECK_FALSE(at.next());
  return at.is_malformed() ? "malformed" : keys;
}

std::string keys_of(const std::string& line) {
  const request q = request_of(words_of(line));
  const std::string wire = keys_of(*q.begin());
  const std::vector<std::string> words = words_of(line);
  const std::vector<std::string_view> views(words.begin(), words.end());
  CHECK(keys_of(arguments(views.data(), views.size())) == wire);
  return wire;
}

command_facts facts(const std::string& line) {
  const request q = request_of(words_of(line));
  return facts_of(*q.begin());
}

struct vector_row {
  std::string line;
  std::string keys;
};

std::vector<vector_row> vectors() {
  std::vector<vector_row> rows;
  std::ifstream file(BECK_REDIS_VECTORS "/command_keys.txt");
  for (std::string line; std::getline(file, line);) {
    const std::size_t arrow = line.find(" -> ");
    if (line[0] == '#' || arrow == std::string::npos) continue;
    rows.push_back({line.substr(0, arrow), line.substr(arrow + 4)});
  }
  return rows;
}

bool has_keys(const std::string& keys) {
  return !keys.empty() && keys != "none" && keys != "malformed";
}

}  // namespace

TEST_CASE("redis: the keys of a command are those that a server names") {
  const std::vector<vector_row> rows = vectors();
  CHECK(rows.size() > 100);
  for (const vector_row& row : rows) {
    CAPTURE(row.line);
    const std::string keys = keys_of(row.line);
    CHECK((has_keys(keys) ? keys : "") == (has_keys(row.keys) ? row.keys : ""));
  }
}

TEST_CASE("redis: a real server still names the keys of the vectors") {
  if (!has_server()) SKIP_CASE("redis-server is not installed");
  real_server server;
  REQUIRE(server.is_connected());
  const bool is_7_0 = server.is_7_0();
  for (const vector_row& row : vectors()) {
    CAPTURE(row.line);
    // Newer servers refuse the one, and name the key of the option alone that counts in the other.
    if (!is_7_0 && (row.line == "XREAD COUNT 2 STREAMS a b 0" ||
                    row.line == "GEORADIUS k 1 2 3 km STOREDIST a STORE b"))
      continue;
    request q = request_of(words_of(row.line), "COMMAND", "GETKEYS");
    q.push("ECHO", "fence");
    const std::string answer = server.ask(q.bytes(), "$5\r\nfence\r\n");
    std::string keys;
    if (answer[0] == '*') {
      const arguments found{std::string_view(answer)};
      for (std::size_t i = 0; i < found.size(); ++i)
        keys += (i == 0 ? "" : " ") + std::string(found[i]);
    }
    CHECK(keys == (has_keys(row.keys) ? row.keys : ""));
  }
}

TEST_CASE("redis: a number of keys that does not fit is malformed, and names no key") {
  CHECK(keys_of("EVAL s 0 arg").empty());
  CHECK(keys_of("EVAL s -1 a") == "malformed");
  CHECK(keys_of("EVAL s 2 a") == "malformed");
  CHECK(keys_of("EVAL s 01x a") == "malformed");
  CHECK(keys_of("EVAL s 9223372036854775807 a") == "malformed");
  CHECK(keys_of("EVAL s 18446744073709551617 a") == "malformed");
  CHECK(keys_of("EVAL s 4294967297 a") == "malformed");
  CHECK(keys_of("EVAL s 4611686018427387905 a b") == "malformed");
  CHECK(keys_of("ZUNIONSTORE d 0 a") == "malformed");
  CHECK(keys_of("ZUNIONSTORE d") == "malformed");
  CHECK(keys_of("SINTERCARD") == "malformed");
  CHECK(keys_of("GET") == "malformed");
  CHECK(keys_of("MIGRATE h 1 \"\" 0 1 KEYS") == "malformed");
}

TEST_CASE("redis: channels of a cluster count as keys") {
  CHECK(keys_of("SPUBLISH c m") == "c");
  CHECK(keys_of("SSUBSCRIBE c d") == "c d");
  CHECK(keys_of("PUBLISH c m").empty());
}

TEST_CASE("redis: keys of an unknown command are those that the program has marked") {
  request q;
  q.push("FT.SOMETHING", key("a"), "b", key("c")).push("FT.OTHER", "d").push("GET", key("e"), "f");
  std::vector<std::string> found;
  for (const arguments command : q) found.push_back(keys_of(command));
  CHECK(found == std::vector<std::string>{"a c", "", "e"});
  CHECK_FALSE(facts("FT.SOMETHING a").is_known());
  CHECK_FALSE(facts("FT.SOMETHING a").is_read_only());
}

TEST_CASE(
    "redis: the facts name the commands that may be sent again, that block, and that need a lane") {
  CHECK(facts("get k").is_read_only());
  CHECK(facts("GET k").is_read_only());
  CHECK(facts("gEt k").is_known());
  CHECK_FALSE(facts("SET k v").is_read_only());
  CHECK_FALSE(facts("EVAL s 0").is_read_only());
  CHECK(facts("EVAL_RO s 0").is_read_only());
  CHECK(facts("PING").is_read_only());
  CHECK(facts("config get x").is_read_only());
  CHECK_FALSE(facts("CONFIG SET x y").is_read_only());
  CHECK_FALSE(facts("CONFIG NEW x y").is_known());
  CHECK_FALSE(facts("config|get x").is_known());
  CHECK_FALSE(facts(std::string(500, 'x')).is_known());
  CHECK(facts("BLPOP a 0").is_blocking());
  CHECK(facts("WAIT 1 0").is_blocking());
  CHECK(facts("XREAD BLOCK 0 STREAMS a 0").is_blocking());
  CHECK(facts("xread count 1 block 0 streams a 0").is_blocking());
  CHECK_FALSE(facts("XREAD COUNT 1 STREAMS block 0").is_blocking());
  CHECK_FALSE(facts("XREADGROUP GROUP block block STREAMS a >").is_blocking());
  CHECK(facts("XREADGROUP GROUP g c NOACK BLOCK 1 STREAMS a >").needs_lane());
  CHECK(facts("XREADGROUP BLOCK 0 GROUP g c STREAMS a >").is_blocking());
  CHECK(facts("xreadgroup count 1 block 0 group g c streams a >").is_blocking());
  CHECK(facts("XREADGROUP GROUP g c CLAIM 5 BLOCK 0 STREAMS a >").is_blocking());
  CHECK(facts("XREADGROUP GROUP g c NEW BLOCK 0 STREAMS a >").is_blocking());
  CHECK_FALSE(facts("XREADGROUP COUNT block GROUP block block STREAMS block >").is_blocking());
  CHECK_FALSE(facts("XREADGROUP GROUP").is_blocking());
  for (const char* line : {"SELECT 1",
                           "auth p",
                           "HELLO 3",
                           "RESET",
                           "QUIT",
                           "MULTI",
                           "EXEC",
                           "DISCARD",
                           "WATCH k",
                           "CLIENT REPLY OFF",
                           "client tracking on",
                           "CLIENT caching yes",
                           "READONLY",
                           "READWRITE",
                           "ASKING",
                           "SUBSCRIBE c",
                           "PSUBSCRIBE c",
                           "SSUBSCRIBE c",
                           "UNSUBSCRIBE",
                           "MONITOR",
                           "SYNC",
                           "PSYNC ? -1",
                           "BLPOP a 0",
                           "CLIENT SETINFO LIB-NAME x"}) {
    CAPTURE(line);
    CHECK(facts(line).is_known());
    CHECK(facts(line).needs_lane());
  }
  for (const char* line : {"GET k", "CLIENT ID", "PUBLISH c m", "EVAL s 0", "XREAD STREAMS a 0"})
    CHECK_FALSE(facts(line).needs_lane());
  CHECK(facts("MONITOR").is_relayed_only());
  CHECK(facts("PSYNC ? -1").is_relayed_only());
  CHECK_FALSE(facts("SUBSCRIBE c").is_relayed_only());
  CHECK_FALSE(facts("PING").may_have_keys());
  CHECK(facts("GET k").may_have_keys());
  CHECK(facts("GET k").arity() == 2);
  CHECK(facts("DEL k").arity() == -2);
}

TEST_CASE("redis: the table has the commands of later servers, with their keys") {
  for (const char* line : {"HEXPIRE k 10 FIELDS 1 f",
                           "hpexpireat k 1 NX FIELDS 1 f",
                           "HGETDEL k FIELDS 1 f",
                           "HGETEX k EX 1 FIELDS 1 f",
                           "HSETEX k FNX FIELDS 1 f v",
                           "XDELEX k KEEPREF IDS 1 1-1",
                           "XACKDEL k g IDS 1 1-1",
                           "VADD k FP32 x e",
                           "VREM k e",
                           "DELEX k",
                           "DELIFEQ k v",
                           "JSON.SET k $ 1",
                           "json.del k",
                           "BF.ADD k v",
                           "CF.DEL k v",
                           "TS.ADD k 1 1",
                           "CMS.INCRBY k i 1",
                           "TOPK.ADD k i",
                           "TDIGEST.ADD k 1",
                           "FT.SUGADD k s 1"}) {
    CAPTURE(line);
    CHECK(facts(line).is_known());
    CHECK_FALSE(facts(line).is_read_only());
    CHECK_FALSE(facts(line).needs_lane());
    CHECK(keys_of(line) == "k");
  }
  for (const char* line :
       {"HTTL k FIELDS 1 f", "VSIM k ELE e", "VCARD k", "DIGEST k", "JSON.GET k",
        "JSON.DEBUG MEMORY k", "BF.EXISTS k v", "TS.RANGE k - +", "CMS.QUERY k i", "TOPK.LIST k",
        "TDIGEST.QUANTILE k .5", "FT.SUGGET k s"}) {
    CAPTURE(line);
    CHECK(facts(line).is_read_only());
    CHECK(keys_of(line) == "k");
  }
  CHECK(keys_of("MSETEX 2 a 1 b 2 EX 10") == "a b");
  CHECK(keys_of("MSETEX 3 a 1 b 2") == "malformed");
  CHECK(keys_of("JSON.MGET a b $") == "a b");
  CHECK(keys_of("JSON.MSET a $ 1 b $ 2") == "a b");
  CHECK(keys_of("TS.CREATERULE a b AGGREGATION avg 1") == "a b");
  CHECK(keys_of("CMS.MERGE a 2 b c WEIGHTS 1 2") == "a b c");
  CHECK(keys_of("TDIGEST.MERGE a 2 b c OVERRIDE") == "a b c");
  CHECK(keys_of("TDIGEST.MERGE a 3 b c") == "malformed");
  CHECK(facts("FT.SEARCH i q").is_read_only());
  CHECK_FALSE(facts("FT.SEARCH i q").may_have_keys());
  CHECK_FALSE(facts("FT.CURSOR READ i 1").is_read_only());
  for (const char* line :
       {"CLIENT CAPA redirect", "client maint_notifications on", "CLIENT IMPORT-SOURCE ON"})
    CHECK(facts(line).needs_lane());
  CHECK(facts("CLUSTER SLOT-STATS ORDERBY key-count").is_read_only());
  CHECK(facts("COMMANDLOG GET 1 slow").is_read_only());
  CHECK_FALSE(facts("FT.NONE i q").is_known());
}

TEST_CASE("redis: a cluster divides seven commands, and no other") {
  CHECK(facts("MGET a b").split() == split_kind::values);
  CHECK(facts("mset a 1").split() == split_kind::all);
  for (const char* line : {"DEL a", "UNLINK a", "EXISTS a", "TOUCH a"})
    CHECK(facts(line).split() == split_kind::sum);
  for (const char* line : {"MSETNX a 1", "GET a", "SUNION a b", "PFCOUNT a b"})
    CHECK(facts(line).split() == split_kind::none);
  CHECK(facts("OBJECT FREQ a").split() == split_kind::none);
}
