// SPDX-License-Identifier: BSL-1.0
// A Redis client over TLS, with a redis-server: calls, lanes, subscriptions, and certificates.
#include <beck/redis/subscription.hpp>

#include <beck/coro/timeout.hpp>
#include <beck/tls/error.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include <netinet/in.h>

#include "redis/names.hpp"
#include "redis/real_server.hpp"
#include "support/conformance.hpp"
#include "support/context_options.hpp"
#include "support/outcome.hpp"
#include "tls/both_contexts.hpp"

using namespace beck::redis::test;
using beck::tls::test::both_contexts;
using beck::tls::test::identity_files;
using beck::tls::test::made;

namespace {

/// Returns a port of 127.0.0.1 that is free at this moment.
std::string free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  ::close(fd);
  return std::to_string(ntohs(address.sin_port));
}

/// A redis-server that speaks TLS, and a client of it.
struct secure_site {
  secure_site()
      : port(free_port()),
        server({"--tls-port", port, "--tls-cert-file", files.chain(made::address), "--tls-key-file",
                files.key(made::address), "--tls-ca-cert-file", files.path("root.pem"),
                "--tls-auth-clients", "no"}),
        db(ctx, "rediss://127.0.0.1:" + port, {.fails_fast = true}) {
    db.secure(both_contexts::get().trust);
  }
  void run(task<> work) {
    bool is_over = false;
    co_spawn(ctx, std::move(work), [&](std::exception_ptr failed) {
      is_over = true;
      CHECK(!failed);
    });
    REQUIRE(beck::test::run_until(ctx, [&] { return is_over; }));
  }

  beck::io_context ctx{context_options()};
  identity_files files;
  std::string port;
  real_server server;
  redis::client db;
};

}  // namespace

CONFORMANCE_ON(beck::test::kernel, "tls: a Redis client sends pipelines and long values") {
  if (!has_server()) return;
  secure_site s;
  REQUIRE(s.server.is_connected());
  s.run([](secure_site& site) -> task<> {
    redis::request many;
    for (int i = 0; i < 2'000; ++i) many.push("INCR", "n");
    const auto all = co_await site.db.exec_each<long>(many);
    REQUIRE(all);
    REQUIRE(all->size() == 2'000);
    CHECK(*(*all)[1999] == 2'000);
    const std::string value(3'000'000, 'v');
    const auto set = co_await site.db.exec<void>("SET", "long", value);
    CHECK(set);
    const auto got = co_await site.db.exec<std::string>("GET", "long");
    CHECK(*got == value);
    CHECK(site.db.stats().connections == 1);
  }(s));
}

CONFORMANCE_ON(beck::test::kernel,
               "tls: a lane of a Redis client, with a BLPOP that is cancelled") {
  using popped = std::optional<std::tuple<std::string, std::string>>;
  if (!has_server()) return;
  secure_site s;
  REQUIRE(s.server.is_connected());
  s.run([](secure_site& site) -> task<> {
    auto lane = co_await site.db.lane();
    REQUIRE(lane);
    CHECK(lane->id() > 0);
    const auto none = co_await beck::timeout(lane->exec<popped>("BLPOP", "q", 0), 50ms);
    CHECK(none.error() == beck::error::timeout);
    CHECK(none.outcome() == outcome::executed);
    const auto push = co_await site.db.exec<long>("RPUSH", "q", "a");
    CHECK(*push == 1);
    const auto one = co_await lane->exec<popped>("BLPOP", "q", 0);
    REQUIRE(one);
    CHECK(std::get<1>(**one) == "a");
  }(s));
}

CONFORMANCE_ON(beck::test::kernel, "tls: a subscription goes on over the next connection") {
  if (!has_server()) return;
  secure_site s;
  REQUIRE(s.server.is_connected());
  s.run([](secure_site& site) -> task<> {
    redis::subscription news(site.db);
    const auto on = co_await news.add("news");
    CHECK_FALSE(on.error());
    const auto first = co_await site.db.exec<long>("PUBLISH", "news", "1");
    CHECK(*first == 1);
    auto event = co_await news.next();
    CHECK(event->payload() == "1");
    static_cast<void>(site.server.ask("CLIENT KILL TYPE pubsub\r\n", "\r\n"));
    event = co_await news.next();
    CHECK(event->is_gap());
    const auto second = co_await site.db.exec<long>("PUBLISH", "news", "2");
    CHECK(*second == 1);
    event = co_await news.next();
    CHECK(event->payload() == "2");
  }(s));
}

CONFORMANCE_ON(beck::test::kernel, "tls: a Redis client refuses a certificate of another host") {
  if (!has_server()) return;
  secure_site s;
  REQUIRE(s.server.is_connected());
  s.run([](secure_site& site) -> task<> {
    redis::client other(site.ctx, "rediss://localhost:" + site.port, {.fails_fast = true});
    other.secure(both_contexts::get().trust);
    const auto got = co_await other.exec<std::string>("GET", "k");
    CHECK(got.error() == beck::tls::error::wrong_name);
    CHECK(got.outcome() == outcome::not_sent);
  }(s));
}
