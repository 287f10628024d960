// SPDX-License-Identifier: BSL-1.0
//
// A leaderboard: HTTP in front, a sorted set of Redis behind. Points and the news of them are one
// transaction. One subscription serves all viewers with server-sent events; the top is cached until
// Redis says that it has changed. docs/leaderboard.md describes it.
#pragma once

#include <beck/coro/channel.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/http/metrics.hpp>
#include <beck/http/router.hpp>
#include <beck/http/server.hpp>
#include <beck/http/target.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/read_write.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/redis/cache.hpp>
#include <beck/redis/client.hpp>
#include <beck/redis/subscription.hpp>
#include <charconv>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leaderboard_json.hpp"
#include "leaderboard_page.hpp"

namespace example {

namespace http = beck::http;
namespace redis = beck::redis;
using namespace std::chrono_literals;

/// The application. Thread: that of its context. Lifetime: run() has ended, or the context runs no
/// more.
class leaderboard {
 public:
  static constexpr std::size_t name_bytes_max = 32;
  static constexpr long points_max = 1'000'000;
  static constexpr long top_max = 100;
  static constexpr long shown = 10;  // players that viewers see
  static constexpr std::size_t viewers_max = 1000;
  static constexpr std::size_t events_max = 16;  // that wait for one viewer

  leaderboard(beck::io_context& context, std::string_view redis_url,
              const beck::ip::tcp::endpoint& at)
      : db_(context, redis_url, {.hold_timeout = 3s}), cache_(db_, 1 << 20), server_(routes()) {
    server_.listen(at);
  }

  /// Serves until stop() is called. Throws io_error if it cannot listen.
  beck::task<> run() {
    struct closing {
      redis::client& db;
      ~closing() { db.close(); }
    } const at_end{db_};
    co_await beck::race(server_.serve(), follow());
  }
  /// Ends the streams of the viewers; other exchanges may finish.
  void stop() {
    is_ending_ = true;
    server_.stop();
    for (auto& each : viewers_) each.close();
  }
  /// Returns the port, 0 before run() listens.
  int port() const { return server_.endpoint().port(); }
  std::size_t viewers() const { return viewers_.size(); }

 private:
  using text = std::shared_ptr<const std::string>;
  using handler = beck::task<> (leaderboard::*)(http::request&, http::response&);

  http::router routes() {
    const auto to = [this](handler f) {
      return [this, f](http::request& q, http::response& r) { return (this->*f)(q, r); };
    };
    http::router site;
    site.post("/scores/{name}", to(&leaderboard::add));
    site.get("/players/{name}", to(&leaderboard::show_player));
    site.get("/top", to(&leaderboard::show_top));
    site.get("/events", to(&leaderboard::show_events));
    site.get("/metrics", [this](http::request&, http::response& r) {
      r.set(http::field::content_type, http::metrics_type);
      r.send(http::metrics_text(server_.stats()) + "# TYPE leaderboard_viewers gauge\n" +
             "leaderboard_viewers " + std::to_string(viewers_.size()) + '\n');
    });
    site.get("/", [](http::request&, http::response& r) {
      r.set(http::field::content_type, "text/html; charset=utf-8").send(leaderboard_page);
    });
    return site;
  }

  /// POST /scores/{name}?points=N
  beck::task<> add(http::request& q, http::response& r) {
    const std::string name(q.param("name"));
    long points = 0;
    if (!is_name(name, r) || !read_number(q, "points", points_max, points, r)) co_return;
    // One transaction: there are no points without news, nor news without points.
    auto done = co_await db_.transaction(
        redis::cmd<double>("ZINCRBY", key, points, name),
        redis::cmd<long>("PUBLISH", channel, json(name, "points", static_cast<double>(points))));
    const redis::reply<double>& score = std::get<0>(*done);
    if (done.outcome() == redis::outcome::maybe_executed) {
      co_return fail(r, 504, "the points may have been added, or not: " + reason(done));
    }
    if (!done || !score) co_return fail(r, 503, "no points were added: " + reason(score, done));
    send_json(r, json(name, "score", *score));
  }

  /// GET /players/{name}
  beck::task<> show_player(http::request& q, http::response& r) {
    const std::string name(q.param("name"));
    if (!is_name(name, r)) co_return;
    // A transaction that only reads may be sent twice: score and rank are of one moment.
    auto both = co_await db_
                    .transaction(redis::cmd<std::optional<double>>("ZSCORE", key, name),
                                 redis::cmd<std::optional<long>>("ZREVRANK", key, name))
                    .retryable();
    const auto& [score, rank] = *both;
    if (!both || !score || !rank) co_return fail(r, 503, reason(both, score, rank));
    if (!*score || !*rank) co_return fail(r, 404, "there is no player " + in_quotes(name));
    std::string player = json(name, "score", **score);
    player.insert(player.size() - 1, ",\"rank\":" + std::to_string(**rank + 1));
    send_json(r, player);
  }

  /// GET /top?n=10
  beck::task<> show_top(http::request& q, http::response& r) {
    long n = shown;
    if (!q.query().empty() && !read_number(q, "n", top_max, n, r)) co_return;
    auto top =
        co_await cache_.exec<score_table>(1min, "ZRANGE", key, 0, n - 1, "REV", "WITHSCORES");
    if (!top) co_return fail(r, 503, reason(top));
    send_json(r, json(*top));
  }

  /// GET /events: "top" with the table at first and when it has changed, "change" for all points.
  beck::task<> show_events(http::request& q, http::response& r) {
    if (is_ending_ || viewers_.size() >= viewers_max) {
      co_return fail(r, 503, "there are " + std::to_string(viewers_max) + " viewers, or it ends");
    }
    r.set(http::field::content_type, "text/event-stream")
        .set(http::field::cache_control, "no-store");
    if (q.method() == http::method::head) co_return;  // no write would ever fail
    const auto here = viewers_.emplace(viewers_.end(), events_max);
    for (text next = table_;;) {
      const auto written = co_await beck::async_write(r, beck::buffer(*next));
      if (!written) break;
      const auto flushed = co_await r.async_flush();  // else 64 KiB of old news might wait here
      if (!flushed) break;
      auto news = co_await beck::timeout(here->async_receive(), 15s);
      if (news.error() == beck::error::timeout) {
        next = heartbeat();  // finds out that a viewer has gone
      } else if (news) {
        next = std::move(news).value();
      } else {
        break;
      }
    }
    viewers_.erase(here);
  }

  /// Waits for a second. Returns false if run() has ended.
  beck::task<bool> pause() {
    beck::steady_timer timer(db_.get_executor(), 1s);
    const auto passed = co_await timer.async_wait();
    co_return !passed.error();
  }
  /// Sends the news to the viewers, over one subscription after another.
  beck::task<> follow() {
    for (bool goes_on = true; goes_on;) {
      redis::subscription changes(db_);
      const auto on = co_await changes.add(channel);
      if (on) co_await follow(changes);
      goes_on = co_await pause();
    }
  }
  beck::task<> follow(redis::subscription& changes) {
    co_await send_table();
    while (auto change = co_await changes.next()) {
      for (; change; change = changes.try_next()) {  // all that has come needs one new table
        if (!change->is_gap()) broadcast(event("change", change->payload()));
      }
      co_await send_table();  // behind a gap, too: what was lost is in it
    }
  }
  /// Sends the table to all viewers if it has changed. It is read from Redis, not from the cache: a
  /// message may come before the cache hears of the change.
  beck::task<> send_table() {
    for (bool goes_on = true; goes_on;) {
      auto top = co_await db_.exec<score_table>("ZRANGE", key, 0, shown - 1, "REV", "WITHSCORES");
      if (top) {
        text now = event("top", json(*top));
        if (*now == *table_) co_return;
        table_ = std::move(now);
        co_return broadcast(table_);
      }
      goes_on = co_await pause();
    }
  }
  void broadcast(const text& news) {
    for (auto& each : viewers_) {
      if (each.try_send(news)) continue;
      while (each.try_receive()) continue;  // a slow viewer loses what it has not seen,
      each.try_send(table_);                // and begins again with the table
    }
  }

  static text event(std::string_view kind, std::string_view data) {
    std::string line(data);
    for (char& c : line)
      if (c == '\n' || c == '\r') c = ' ';  // of messages that others have published
    return std::make_shared<const std::string>("event: " + std::string(kind) + "\ndata: " + line +
                                               "\n\n");
  }
  static text heartbeat() { return std::make_shared<const std::string>(":\n\n"); }

  /// Returns whether a name is good; else it is refused.
  static bool is_name(std::string_view name, http::response& r) {
    constexpr std::string_view good =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    if (!name.empty() && name.size() <= name_bytes_max &&
        name.find_first_not_of(good) == std::string_view::npos)
      return true;
    fail(r, 400,
         "the name " + in_quotes(name.substr(0, 64)) + " has " + std::to_string(name.size()) +
             " bytes; it needs 1 to " + std::to_string(name_bytes_max) +
             " letters, digits, - and _");
    return false;
  }
  /// Reads a number from 1 to `most`; another one is refused.
  static bool read_number(http::request& q, std::string_view name, long most, long& to,
                          http::response& r) {
    const std::string_view value = http::query_parameters(q.query()).get(name);
    const auto [end, ec] = std::from_chars(value.data(), value.data() + value.size(), to);
    if (ec == std::errc() && end == value.data() + value.size() && to >= 1 && to <= most)
      return true;
    fail(r, 400,
         std::string(name) + " is " + in_quotes(value.substr(0, 40)) + "; it needs 1 to " +
             std::to_string(most));
    return false;
  }
  static void send_json(http::response& r, const std::string& body) {
    r.set(http::field::content_type, "application/json")
        .set(http::field::cache_control, "no-store");
    r.send(body);
  }
  static void fail(http::response& r, unsigned status, const std::string& why) {
    r.status(status).set(http::field::content_type, "text/plain; charset=utf-8");
    if (status == 503) r.set(http::field::retry_after, "1");
    r.send(why + '\n');
  }
  /// Returns the first error of replies in words.
  template <class Reply, class... More>
  static std::string reason(const Reply& first, const More&... more) {
    if constexpr (sizeof...(More) != 0) {
      if (first) return reason(more...);
    }
    return first.error_text().empty() ? first.error().message() : std::string(first.error_text());
  }

  static constexpr const char* key = "leaderboard";
  static constexpr const char* channel = "leaderboard.changes";

  redis::client db_;
  redis::cache cache_;
  http::server server_;
  std::list<beck::channel<text>> viewers_;
  text table_ = heartbeat();  // the event that a viewer begins with
  bool is_ending_ = false;
};

}  // namespace example
