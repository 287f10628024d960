// SPDX-License-Identifier: BSL-1.0
// A cache and the order of the stream: replies, messages of changes, and the end of the connection.
// The server's bytes are those that the cases write.
#include "redis/cache_site.hpp"
#include "redis/hand_server.hpp"

#include <beck/net/connect_stream.hpp>
#include <beck/redis/connector.hpp>
#include <beck/run/post.hpp>

#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "support/allocations.hpp"

using namespace beck::redis::test;

namespace {

constexpr std::string_view invalid_k = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n";

/// A client with a cache of a server whose answers to reads a case sends itself.
struct hand_site : client_site {
  explicit hand_site(const redis::client_options& how = redis::client_options())
      : server_by_hand(ctx,
                       [this](const redis::arguments& c, redis::reply_writer& to) {
                         if (c[0] == "GET" || c[0] == "MGET") {
                           ++reads;
                         } else if (c[0] == "PING") {
                           to.simple("PONG");
                         } else if (c.size() > 1 && c[1] == refused) {
                           to.error(refusal);
                         } else {
                           to.simple("OK");
                         }
                       }),
        own(ctx, server_by_hand.url(), how),
        cache(std::in_place, own, 1 << 20) {}

  /// Starts a read, and waits until the server has it or it is answered by the cache.
  void start_get(std::string& got, beck::duration age_max = 1min) {
    const int before = reads;
    got.clear();
    cache->exec<text_or_nil>(age_max, "GET",
                             "k")([&](beck::error_code ec, const redis::reply<text_or_nil>& r) {
      got = ec ? ec.message() : (*r).value_or("none");
    });
    REQUIRE(run_until([&] { return reads != before || !got.empty(); }));
  }
  /// Sends bytes, and waits until the read has ended.
  void answer(std::string_view bytes, const std::string& got) {
    server_by_hand.send(bytes);
    REQUIRE(run_until([&] { return !got.empty(); }));
  }

  int reads = 0;
  std::string refused;
  std::string refusal;
  hand_server server_by_hand;
  redis::client own;
  std::optional<redis::cache> cache;
};

/// A stream whose received bytes come some turns later, as those of a layer may, or whose receiver
/// is short of memory.
class hooked_stream final : public beck::byte_stream {
 public:
  struct hooks {
    int turns = 0;    ///< that the bytes come later
    int failing = 0;  ///< an allocation fails while the next bytes are taken: this one
    std::optional<beck::test::allocation_fault> fault;
    bool has_failed = false;
  };

  hooked_stream(beck::any_io_executor on, beck::owned_stream carrier, hooks& how)
      : on_(std::move(on)), carrier_(std::move(carrier)), how_(how) {}

  task<beck::io_result<beck::buffer_lease>> receive() override {
    if (how_.fault) how_.has_failed = how_.fault->fired();
    how_.fault.reset();
    auto receiving = carrier_->receive();
    auto got = co_await std::move(receiving);
    for (int i = 0; i < how_.turns; ++i) co_await beck::post(on_);
    if (how_.failing != 0) how_.fault.emplace(std::exchange(how_.failing, 0));
    co_return got;
  }
  task<beck::io_result<std::size_t>> read_some(beck::mutable_buffer to) override {
    return carrier_->read_some(to);
  }
  task<beck::io_result<std::size_t>> write_some(beck::const_buffer_span parts) override {
    return carrier_->write_some(parts);
  }
  std::size_t write_now(beck::const_buffer_span parts, beck::error_code& ec) noexcept override {
    return carrier_->write_now(parts, ec);
  }
  task<beck::io_result<>> finish() override { return carrier_->finish(); }
  void close() noexcept override { carrier_->close(); }
  beck::detail::stream_object& socket() noexcept override { return carrier_->socket(); }
  bool is_plain() const noexcept override { return false; }

 private:
  beck::any_io_executor on_;
  beck::owned_stream carrier_;
  hooks& how_;
};

class hooked_connector final : public redis::connector {
 public:
  explicit hooked_connector(std::uint16_t port) : port_(port) {}

  task<beck::io_result<beck::owned_stream>> connect(beck::any_io_executor on) override {
    auto connecting = beck::ip::connect_stream(on, "127.0.0.1", port_);
    auto result = co_await std::move(connecting);
    if (!result.error())
      result.value_ = beck::owned_stream(new hooked_stream(on, std::move(result.value_), hooks));
    co_return result;
  }

  hooked_stream::hooks hooks;

 private:
  std::uint16_t port_;
};

std::string bulk(std::string_view value) {
  return "$" + std::to_string(value.size()) + "\r\n" + std::string(value) + "\r\n";
}

}  // namespace

CONFORMANCE("redis cache: a message behind a reply drops it, also in the same bytes") {
  hand_site s;
  std::string got;
  s.start_get(got);
  s.answer(bulk("old") + std::string(invalid_k), got);
  CHECK(got == "old");
  CHECK(s.cache->stats().entries == 0);
  CHECK(s.cache->stats().invalidated == 1);
  s.start_get(got);
  s.answer(bulk("new"), got);
  CHECK(got == "new");
  CHECK(s.reads == 2);
}

CONFORMANCE("redis cache: a message before a reply concerns what was read before") {
  hand_site s;
  std::string got;
  s.start_get(got);
  s.answer(bulk("old"), got);
  s.start_get(got, 0s);
  s.answer(std::string(invalid_k) + bulk("new"), got);
  CHECK(got == "new");
  CHECK(s.cache->stats().invalidated == 1);
  CHECK(s.cache->stats().entries == 1);
  s.start_get(got);
  CHECK(got == "new");
  CHECK(s.reads == 2);
}

CONFORMANCE("redis cache: replies and messages keep their order at every split") {
  const std::string bytes = bulk("old") + std::string(invalid_k);
  hand_site s;
  for (std::size_t at = 1; at < bytes.size(); ++at) {
    CAPTURE(at);
    std::string got;
    s.start_get(got);
    s.server_by_hand.send(std::string_view(bytes).substr(0, at));
    s.wait(beck::duration(100'000));
    s.answer(std::string_view(bytes).substr(at), got);
    s.run([](redis::client& db) -> task<> { beck::ignore(co_await db.exec<void>("PING")); }(s.own));
    CHECK(got == "old");
    CHECK(s.cache->stats().entries == 0);
  }
}

CONFORMANCE("redis cache: a message inside a reply does not tear it") {
  hand_site s;
  std::string got;
  std::vector<text_or_nil> values;
  s.cache->exec<std::vector<text_or_nil>>(
      1min, "MGET", "k", "x")([&](beck::error_code ec, redis::reply<std::vector<text_or_nil>> r) {
    got = ec ? ec.message() : "values";
    values = *r;
  });
  REQUIRE(s.run_until([&] { return s.reads == 1; }));
  s.answer("*2\r\n" + std::string(invalid_k) + "_\r\n" + bulk("x"), got);
  CHECK(values == std::vector<text_or_nil>{std::nullopt, "x"});
  CHECK(s.cache->stats().entries == 1);
}

CONFORMANCE("redis cache: pushes of all shapes leave it and the connection whole") {
  hand_site s;
  std::string got;
  s.start_get(got);
  s.answer(bulk("v"), got);
  s.server_by_hand.send(
      ">1\r\n$10\r\ninvalidate\r\n>2\r\n$10\r\ninvalidate\r\n:1\r\n"
      ">2\r\n$10\r\ninvalidate\r\n*0\r\n>2\r\n$10\r\ninvalidate\r\n*2\r\n*1\r\n$1\r\nk\r\n_\r\n"
      ">3\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n_\r\n>2\r\n*0\r\n*1\r\n$1\r\nk\r\n>0\r\n"
      ">2\r\n$10\r\ninvalidate\r\n*2\r\n$1\r\nx\r\n$0\r\n\r\n");
  s.run([](redis::client& db) -> task<> { beck::ignore(co_await db.exec<void>("PING")); }(s.own));
  CHECK(s.cache->stats().entries == 1);
  s.server_by_hand.send(">2\r\n$10\r\ninvalidate\r\n_\r\n");
  s.run([](redis::client& db) -> task<> { beck::ignore(co_await db.exec<void>("PING")); }(s.own));
  CHECK(s.cache->stats().entries == 0);
  CHECK(s.server_by_hand.connections() == 1);
}

CONFORMANCE("redis cache: a lost connection empties it, also while there is none") {
  hand_site s;
  std::string got;
  s.start_get(got);
  s.answer(bulk("old"), got);
  CHECK(s.cache->stats().entries == 1);
  s.server_by_hand.cut();
  REQUIRE(s.run_until([&] { return s.cache->stats().entries == 0; }));
  CHECK(s.cache->stats().lost == 1);
  s.start_get(got);
  CHECK(got.empty());  // it waits for the next connection
  s.answer(bulk("new"), got);
  CHECK(got == "new");
  CHECK(s.server_by_hand.connections() == 2);
  s.start_get(got);
  CHECK(got == "new");
}

CONFORMANCE("redis cache: a client that is closed leaves nothing in it, at any moment") {
  bool is_early = false;  // the moment
  bool is_late = false;
  for (int turns = 0; turns < 120; ++turns) {
    CAPTURE(turns);
    hand_site s;
    hooked_connector late(s.server_by_hand.port());
    late.hooks.turns = 10;
    s.own.connect_with(late);
    std::string got;
    s.start_get(got);
    s.server_by_hand.send(bulk("v"));
    s.ctx.restart();
    for (int i = 0; i < turns && got.empty(); ++i) s.ctx.run_one_for(beck::duration(1'000'000));
    is_early = is_early || got.empty();
    is_late = is_late || !got.empty();
    s.own.close();
    CHECK(s.cache->stats().entries == 0);
    for (int i = 0; i < 100; ++i) {
      s.ctx.poll_one();
      CHECK(s.cache->stats().entries == 0);
    }
    REQUIRE(s.run_until([&] { return !got.empty(); }));
  }
  CHECK(is_early);
  CHECK(is_late);
}

CONFORMANCE(
    "redis cache: a read that is lost with its connection is sent again, with its tracking") {
  hand_site s;
  std::string got;
  for (const std::string& before :
       {std::string(), std::string("$5\r\nol"), std::string("*2\r\n:1\r\n"), std::string("+")}) {
    CAPTURE(before);
    s.start_get(got, 0s);
    s.server_by_hand.send(before);
    s.wait(beck::duration(100'000));
    const int reads = s.reads;
    s.server_by_hand.cut();
    REQUIRE(s.run_until([&] { return s.reads == reads + 1; }));
    s.answer(bulk("new"), got);
    CHECK(got == "new");
    s.start_get(got);
    CHECK(got == "new");  // it was held
  }
  CHECK(s.server_by_hand.connections() == 5);
}

CONFORMANCE_ON(
    beck::test::kernel,
    "redis cache: a reply that finds no memory costs its calls, and not the connection") {
  NEEDS_ALLOCATION_FAULTS();
  hand_site s;
  hooked_connector scarce(s.server_by_hand.port());
  s.own.connect_with(scarce);
  const std::string without = std::make_error_code(std::errc::not_enough_memory).message();
  const std::string long_text(100, 'v');
  bool has_failed = true;
  int failures = 0;  // of calls
  for (int n = 1; has_failed; ++n) {
    CAPTURE(n);
    REQUIRE(n < 50);
    std::string got;
    s.start_get(got, 0s);
    scarce.hooks.failing = n;
    s.answer(bulk(long_text), got);
    s.run([](redis::client& db) -> task<> { CHECK(co_await db.exec<void>("PING")); }(s.own));
    CHECK((got == long_text || got == without));
    failures += got == without ? 1 : 0;
    has_failed = scarce.hooks.has_failed;
  }
  CHECK(failures > 1);
  CHECK(s.server_by_hand.connections() == 1);
  CHECK(s.cache->stats().entries == 1);  // of the last one
}

CONFORMANCE("redis cache: a reply whose CLIENT CACHING was refused is not held") {
  hand_site s;
  s.refused = "CACHING";
  s.refusal = "NOPERM this user has no permissions to run this command";
  std::string got;
  for (int i = 1; i <= 2; ++i) {
    s.start_get(got);
    s.answer(bulk("v"), got);
    CHECK(got == "v");
    CHECK(s.reads == i);
  }
  CHECK(s.cache->stats().uncached == 2);
  CHECK(s.cache->stats().entries == 0);
}

CONFORMANCE(
    "redis cache: a server that speaks RESP2, or refuses to track, is asked for each call") {
  for (const bool is_old : {true, false}) {
    CAPTURE(is_old);
    cache_site s;
    if (is_old) s.server.fail_next("HELLO", "ERR unknown command `HELLO`, with args", 1);
    if (!is_old) s.server.fail_next("client|tracking", "NOPERM this user has no permissions", 1);
    s.run([](redis::client& db) -> task<> {
      beck::ignore(co_await db.exec<void>("SET", "k", "v"));
    }(*s.db));
    for (int i = 0; i < 2; ++i) CHECK(s.get("k") == "v");
    CHECK(s.cache->stats().uncached == 2);
    CHECK(s.cache->stats().entries == 0);
    s.server.cut();
    s.settle();
    for (int i = 0; i < 2; ++i) CHECK(s.get("k") == "v");
    CHECK(s.cache->stats().hits == 1);  // the next connection is a better one
  }
}

CONFORMANCE(
    "redis cache: a connection in RESP2 whose server has refused RESP3 last tracks nothing") {
  cache_site s;
  bool is_first = true;
  int tracked = 0;
  s.server.on_command([&](const redis::arguments& c) {
    if (c[0] == "HELLO" && std::exchange(is_first, false)) s.server.cut();
    if (c[0] == "PING") s.server.fail_next("HELLO", "NOPROTO unsupported protocol version", 1);
    tracked += c[0] == "CLIENT" && c[1] == "TRACKING" ? 1 : 0;
  });
  s.run([](redis::client& db) -> task<> {
    beck::ignore(co_await db.exec<void>("SET", "k", "v"));
  }(*s.db));
  for (int i = 0; i < 2; ++i) CHECK(s.get("k") == "v");
  CHECK(!is_first);
  CHECK(tracked == 0);
  CHECK(s.cache->stats().uncached == 2);
}

CONFORMANCE("redis cache: a server that only says that it tracks the keys is asked for each call") {
  hand_site s;
  const auto reads_of = [&s](int calls) {
    const int before = s.reads;
    for (int i = 0; i < calls; ++i) {
      std::string got;
      s.start_get(got);
      if (s.reads != before + i + 1) break;  // the cache has answered
      s.answer(bulk("v"), got);
      CHECK(got == "v");
    }
    return s.reads - before;
  };
  s.refused = "TRACKING";  // but CACHING is answered with OK
  s.refusal = "NOPERM this user has no permissions to run this command";
  CHECK(reads_of(2) == 2);
  s.refused.clear();
  s.server_by_hand.cut();
  CHECK(reads_of(2) == 1);  // it tracks on this connection
  s.server_by_hand.cut();
  s.refused = "TRACKING";
  REQUIRE(s.run_until([&] { return s.cache->stats().entries == 0; }));
  CHECK(reads_of(2) == 2);
  CHECK(s.server_by_hand.connections() == 3);
  CHECK(s.cache->stats().uncached == 4);
}

CONFORMANCE("redis cache: a reply beyond the client's limits is not copied to its end") {
  if (!beck::test::counts_allocations()) SKIP_CASE("this build has an operator new of its own");
  redis::reply_limits few;
  few.elements = 1'000;
  hand_site s({.replies = few});
  std::string got;
  s.start_get(got);
  constexpr std::size_t elements = 500'000;
  std::string bytes = "*" + std::to_string(elements) + "\r\n";
  for (std::size_t i = 0; i < elements; ++i) bytes += ":1\r\n";
  const std::uint64_t before = beck::test::allocated_bytes();
  s.answer(bytes, got);
  CHECK(beck::test::allocated_bytes() - before < elements * sizeof(redis::token));
  CHECK(got == make_error_code(redis::error::reply_too_large).message());
  CHECK(s.cache->stats().entries == 0);
  CHECK(s.server_by_hand.connections() == 1);
}

CONFORMANCE("redis cache: a key whose message would be refused is not read through it") {
  constexpr std::size_t push_bytes = 1'000;
  redis::parse_limits narrow;
  narrow.push_bytes = push_bytes;
  cache_site s(1 << 20, 1 << 20, {.parsing = narrow});
  const std::string good(push_bytes - 64, 'k');
  const std::string bad(push_bytes, 'k');
  CHECK(s.get(good) == "none");
  s.cache->exec<std::vector<text_or_nil>>(1min, "MGET", "k", bad)(
      [&](beck::error_code ec, const redis::reply<std::vector<text_or_nil>>& r) {
        CHECK(ec == redis::error::not_cacheable);
        CHECK(r.error_text() ==
              "MGET: a key of it is longer than the server's message of a change "
              "may be (parse_limits::push_bytes)");
      });
  s.ask("MSET", good, 1, bad, 1);
  s.settle();
  CHECK(s.cache->stats().entries == 0);
  CHECK(s.get(good) == "1");
  CHECK(s.db->stats().connections == 1);
}

CONFORMANCE("redis cache: what a server refuses for now is sent again") {
  cache_site s;
  s.ask("SET", "k", "v");
  s.server.fail_next("client|tracking", "BUSY Redis is busy running a script", 2);
  s.server.fail_next("client|caching", "BUSY Redis is busy running a script", 1);
  s.server.fail_next("get", "LOADING Redis is loading the dataset in memory", 3);
  CHECK(s.get("k") == "v");
  CHECK(s.cache->stats().misses == 1);
  CHECK(s.cache->stats().entries == 1);
  CHECK(s.get("k") == "v");
  CHECK(s.cache->stats().hits == 1);
}
