// SPDX-License-Identifier: BSL-1.0
// A cache of a redis-server beside direct reads of the same keys: any read that is cached, behind
// any change, made in any way.
#include <doctest/doctest.h>

#include <beck/redis/cache.hpp>
#include <beck/redis/lane.hpp>

#include <cstddef>
#include <iterator>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "redis/names.hpp"
#include "redis/real_site.hpp"
#include "support/report.hpp"

using namespace beck::redis::test;

namespace {

using words = std::vector<std::string>;

/// Reads of the kinds of keys that changes() makes.
constexpr std::string_view reads[] = {
    "GET s1",
    "get s1",
    "STRLEN s1",
    "GETRANGE s2 0 2",
    "SUBSTR s1 0 1",
    "MGET s1 h s2 s1",
    "EXISTS s1 s2 l s1",
    "TYPE s1",
    "GETBIT s1 3",
    "BITCOUNT s2",
    "BITPOS s1 1",
    "BITFIELD_RO s1 GET u8 0",
    "LCS s1 s2",
    "DUMP s1",
    "EXPIRETIME s1",
    "PEXPIRETIME l",
    "HGET h f",
    "HGETALL h",
    "HMGET h f g",
    "HLEN h",
    "HKEYS h",
    "HVALS h",
    "HEXISTS h f",
    "HSTRLEN h f",
    "LLEN l",
    "LRANGE l 0 -1",
    "LINDEX l 0",
    "LPOS l a",
    "SCARD t1",
    "SMEMBERS t1",
    "SISMEMBER t1 a",
    "SMISMEMBER t2 a b",
    "SINTER t1 t2",
    "SUNION t1 t2",
    "SDIFF t1 t2",
    "sintercard 2 t1 t2 LIMIT 1",
    "ZCARD z1",
    "ZSCORE z1 a",
    "ZMSCORE z1 a b",
    "ZRANGE z1 0 -1 WITHSCORES",
    "ZRANGEBYSCORE z1 -inf +inf",
    "ZREVRANGE z2 0 -1",
    "ZRANGEBYLEX z1 - +",
    "ZREVRANGEBYSCORE z1 9 0",
    "ZLEXCOUNT z1 - +",
    "ZCOUNT z1 0 9",
    "ZRANK z1 b",
    "ZREVRANK z1 b",
    "ZUNION 2 z1 z2 WEIGHTS 1 2",
    "ZINTER 2 z1 z2",
    "ZDIFF 2 z1 t2",
    "ZINTERCARD 2 z1 z2",
    "XLEN x",
    "XRANGE x - +",
    "XREVRANGE x + -",
    "XREAD STREAMS x 0",
    "xread COUNT 2 streams x y 0 0",
    "PFCOUNT p1 p2",
    "PFCOUNT p1",
    "GEOPOS g a",
    "GEODIST g a b",
    "GEOHASH g b",
    "GEOSEARCH g FROMMEMBER a BYRADIUS 900 km ASC",
    "GEORADIUS_RO g 1 1 900 km",
    "GEORADIUSBYMEMBER_RO g a 900 km",
};

constexpr std::string_view changes[] = {
    "SET s1 abcd",
    "SET s1 17",
    "APPEND s1 x",
    "SETRANGE s2 1 zz",
    "INCR s1",
    "MSET s1 a s2 ab",
    "MSETNX s1 a s2 b",
    "SETBIT s1 3 1",
    "BITFIELD s1 SET u8 0 7",
    "BITOP NOT s2 s1",
    "DEL s1",
    "UNLINK s1 s2 l",
    "GETDEL s1",
    "GETEX s1 EX 9999",
    "EXPIRE s1 99999",
    "PERSIST s1",
    "PEXPIREAT l 32503680000000",
    "RENAME s1 s2",
    "RENAMENX s2 s1",
    "COPY s1 s2 REPLACE",
    "HSET h f 1 g 2",
    "HINCRBY h f 1",
    "HDEL h f",
    "HSETNX h f 5",
    "RPUSH l a b",
    "LPUSH l a",
    "LPOP l",
    "LSET l 0 q",
    "LTRIM l 0 1",
    "LMOVE l l LEFT RIGHT",
    "RPOPLPUSH l l",
    "LREM l 1 a",
    "LINSERT l BEFORE a c",
    "SADD t1 a b c",
    "SADD t2 b",
    "SREM t1 a",
    "SPOP t1",
    "SMOVE t1 t2 b",
    "SINTERSTORE t2 t1 t2",
    "SUNIONSTORE t1 t1 t2",
    "ZADD z1 1 a 2 b 3 c",
    "ZADD z2 0.5 b",
    "ZINCRBY z1 2 a",
    "ZREM z1 a",
    "ZPOPMIN z1",
    "ZRANGESTORE z2 z1 0 -1",
    "ZUNIONSTORE z1 2 z1 z2",
    "ZREMRANGEBYRANK z1 0 0",
    "XADD x * f v",
    "XADD y * f v",
    "XTRIM x MAXLEN 2",
    "PFADD p1 a b c d",
    "PFADD p2 c z",
    "PFMERGE p1 p2",
    "SORT l ALPHA STORE l",
    "GEOADD g 1 1 a 2 2 b",
    "GEOADD g 1.1 1 a",
    "ZREM g b",
    "GEOSEARCHSTORE g g FROMMEMBER a BYRADIUS 90 km",
    "FLUSHDB",
    "FLUSHALL ASYNC",
    "DEL h x y",
    "DEL t1 t2 z1 z2 p1 p2",
    "DEL g l",
};

words split(std::string_view line) {
  words all(1);
  for (const char c : line) {
    if (c == ' ') all.emplace_back();
    if (c != ' ') all.back() += c;
  }
  return all;
}

words rest_of(const words& of) { return {of.begin() + 1, of.end()}; }

/// Makes a change, over one of several ways; each ends before it returns.
task<> change(redis::client& db, redis::client& other, const words& command, unsigned way) {
  const words rest = rest_of(command);
  const auto arguments = redis::each(rest);
  words script(command);
  script.insert(script.begin(), {"return redis.call(unpack(ARGV))", "0"});
  if (way == 0) {
    beck::ignore(co_await other.exec<redis::value>(command[0], arguments));
  } else if (way == 1) {
    beck::ignore(co_await db.exec<redis::value>(command[0], arguments));
  } else if (way == 2) {
    beck::ignore(
        co_await db.transaction(cmd<void>("PING"), cmd<redis::value>(command[0], arguments)));
  } else if (way == 3) {
    beck::ignore(co_await db.exec<redis::value>("EVAL", redis::each(script)));
  } else if (way == 4) {
    beck::ignore(co_await other.exec<redis::value>("EVAL", redis::each(script)));
  } else {
    auto lane = co_await db.lane();
    if (lane) beck::ignore(co_await lane->exec<redis::value>(command[0], arguments));
  }
  beck::ignore(co_await db.exec<void>("PING"));  // the messages have come
}

std::string text_of(const redis::reply<redis::value>& r) {
  return r ? redis::to_text<std::string>(r->root()) : r.error().message();
}

task<> compare(redis::client& db, redis::cache& cache, const words& command) {
  const words rest = rest_of(command);
  const auto arguments = redis::each(rest);
  const auto held = co_await cache.exec<redis::value>(1min, command[0], arguments);
  const auto direct = co_await db.exec<redis::value>(command[0], arguments);
  CAPTURE(command[0]);
  CHECK(text_of(held) == text_of(direct));
}

task<> play(redis::client& db, redis::client& other, redis::cache& cache) {
  std::mt19937 random(20);
  const auto below = [&random](std::size_t n) { return random() % n; };
  for (int i = 0; i < 1'500; ++i) {
    const std::string_view line = changes[below(std::size(changes))];
    const bool is_rare = line.starts_with("FLUSH") || line.starts_with("DEL ");
    if (is_rare && below(4) != 0) continue;
    CAPTURE(line);
    co_await change(db, other, split(line), static_cast<unsigned>(below(6)));
    for (int j = 0; j < 10; ++j) co_await compare(db, cache, split(reads[below(std::size(reads))]));
  }
}

}  // namespace

TEST_CASE("redis cache: each read of a redis-server agrees with a direct one, behind any change") {
  if (!has_server()) SKIP_CASE("redis-server is not installed");
  real_site s;
  redis::client other(s.ctx, "unix://" + s.real.path());
  redis::cache cache(s.db, 1 << 20);
  s.run(play(s.db, other, cache));
  const redis::cache_stats stats = cache.stats();
  CHECK(stats.hits > 3'000);
  CHECK(stats.invalidated > 1'000);
  CHECK(stats.lost == 0);
}
