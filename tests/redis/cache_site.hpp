// SPDX-License-Identifier: BSL-1.0
// A client with a cache, and a second client that changes the keys.
#pragma once

#include <beck/redis/cache.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "redis/client_site.hpp"

namespace beck::redis::test {

using text_or_nil = std::optional<std::string>;

/// A site with a cache, and a second client.
struct cache_site : client_site {
  explicit cache_site(std::size_t bytes = 1 << 20, std::size_t entry_bytes = 1 << 20,
                      const client_options& how = client_options())
      : client_site(how),
        cache(std::in_place, *db, bytes, entry_bytes),
        other(ctx, "redis://" + address()) {}

  /// Runs a command over the other client.
  template <class... Args>
  void ask(const Args&... args) {
    bool is_done = false;
    other.exec<redis::value>(args...)([&](beck::error_code ec, const redis::reply<redis::value>&) {
      CHECK(!ec);
      is_done = true;
    });
    REQUIRE(run_until([&] { return is_done; }));
  }
  /// Waits until all messages that the server has sent to the client have come.
  void settle() {
    run([](redis::client& to) -> task<> { beck::ignore(co_await to.exec<void>("PING")); }(*db));
  }
  /// Reads through the cache; "none" of a null.
  template <class... Args>
  std::string read(duration age_max, const Args&... args) {
    std::string got = "?";
    cache->exec<text_or_nil>(age_max,
                             args...)([&](beck::error_code ec, redis::reply<text_or_nil> r) {
      got = ec ? std::string(ec.message()) : (*r).value_or("none");
    });
    REQUIRE(run_until([&] { return got != "?"; }));
    return got;
  }
  std::string get(std::string_view key) { return read(1min, "GET", key); }

  std::optional<redis::cache> cache;
  redis::client other;
};

}  // namespace beck::redis::test
