// SPDX-License-Identifier: BSL-1.0
// Two leaderboards with one Redis in simulated worlds with faults: browsers add points and watch.
// No points are lost or invented, no table is older than one that was seen before, and no browser
// is left with an old one when the faults have ended.
#include <doctest/doctest.h>

#include <beck/coro/timeout.hpp>
#include <beck/io/steady_timer.hpp>

#include <charconv>
#include <ostream>

#include "examples/leaderboard_site.hpp"
#include "support/report.hpp"
#include "support/scale.hpp"

using namespace leaderboard_test;

namespace {

constexpr int players = 4;
constexpr int callers = 2;
constexpr int calls_each = 6;
constexpr int boards = 2;
constexpr int viewers = boards;  // each of another board
constexpr const char* origins[boards] = {"http://10.0.0.2", "http://10.0.0.4"};

/// Counters of all worlds: a case that never occurs was not tried.
struct tally {
  long confirmed = 0;  // changes
  long refused = 0;
  long maybe = 0;
  long tops = 0;     // replies to /top
  long streams = 0;  // that viewers have begun
  long tables = 0;   // that they have got
  long news = 0;
};

/// The events of a world.
struct record {
  explicit record(tally& all) : total(all) {}

  tally& total;
  std::map<std::string, long> added;  // points that were confirmed
  std::map<std::string, long> maybe;  // points that may have been added
  long newest[boards] = {};           // of the tables that its viewers have seen
  long points = 0;                    // of the last change: each has another number
  int called = 0;                     // callers that have ended
  int watched = 0;                    // viewers that have ended
  bool is_over = false;
};

task<> pause(sim::world& world, beck::any_io_executor on, std::uint64_t most) {
  beck::steady_timer timer(on, beck::duration(static_cast<long long>(world.random().below(most))));
  beck::ignore(co_await timer.async_wait());
}

/// The status and the body of a reply; 0 if there was none that is whole.
struct outcome {
  unsigned status = 0;
  std::string body;
};

/// Finishes a call, maybe within a limit.
task<outcome> finish(sim::world& world, beck::http::detail::call_finish call) {
  beck::io_result<http::client_response> got;
  if (world.random().chance(0.1)) {
    const auto limit = beck::duration(static_cast<long long>(world.random().below(4'000'000)));
    got = co_await beck::timeout(std::move(call), limit);
  } else {
    got = co_await std::move(call);
  }
  outcome to;
  if (got.error()) co_return to;
  const http::client_response r = std::move(got).value();
  auto text = co_await r.body().async_read_all(100'000);
  if (text.error()) co_return to;
  to.status = http::number_of(r.status());
  to.body = std::move(*text);
  if (to.status == 503) sim::require(r.get(http::field::retry_after) == "1", "no Retry-After");
  co_return to;
}

long score_in(const std::string& player) {
  const std::size_t at = player.find("\"score\":");
  sim::require(at != std::string::npos, "a reply without a score");
  long score = 0;
  std::from_chars(player.data() + at + 8, player.data() + player.size(), score);
  return score;
}

std::string any_player(sim::world& world) {
  return std::string(1, static_cast<char>('a' + world.random().below(players)));
}

task<> add(sim::world& world, http::client& web, record& sum, std::string origin,
           std::string name) {
  const long points = ++sum.points;
  const long before = sum.added[name];
  const outcome got = co_await finish(
      world, web.async_post(origin + "/scores/" + name + "?points=" + std::to_string(points),
                            "text/plain", beck::const_buffer()));
  if (got.status == 200) {
    ++sum.total.confirmed;
    sum.added[name] += points;
    sim::require(score_in(got.body) >= before + points, "a score without points that were added");
  } else if (got.status == 0 || got.status == 504) {
    ++sum.total.maybe;
    sum.maybe[name] += points;
  } else {
    ++sum.total.refused;
    sim::require(got.status == 503 || got.status == 408, "points were refused: " + got.body);
  }
}

task<> look(sim::world& world, world_site& site, http::client& web, record& sum, int board,
            std::string name) {
  const std::string origin = origins[board];
  const long newest = sum.newest[board];
  const long before = sum.added[name];
  if (world.random().chance(0.7)) {
    const outcome top = co_await finish(world, web.async_get(origin + "/top"));
    if (top.status != 200) co_return;
    ++sum.total.tops;
    sim::require(site.all.age(top.body) >= 0, "a table that never was: " + top.body);
    sim::require(site.all.age(top.body) >= newest, "a table that is out of date");
  } else {
    const outcome player = co_await finish(world, web.async_get(origin + "/players/" + name));
    if (player.status == 404) sim::require(before == 0, "a player is missing");
    if (player.status != 200) co_return;
    sim::require(score_in(player.body) >= before, "a score that is out of date");
    sim::require(score_in(player.body) <= site.all.score(name), "a score that never was");
  }
}

task<> call(sim::world& world, world_site& site, http::client& web, record& sum) {
  for (int i = 0; i < calls_each; ++i) {
    const std::string name = any_player(world);
    const auto board = static_cast<int>(world.random().below(boards));
    if (world.random().chance(0.6)) {
      co_await add(world, web, sum, origins[board], name);
    } else {
      co_await look(world, site, web, sum, board, name);
    }
    if (world.random().chance(0.5)) co_await pause(world, web.get_executor(), 2'000'000);
  }
  ++sum.called;
}

/// A browser with the page.
struct viewer {
  int board = 0;
  std::string table;
  long age = -1;
};

/// Reads a stream up to its end, and checks each event.
task<> read(sim::world& world, world_site& site, http::client_response stream, viewer& me,
            record& sum) {
  ++sum.total.streams;
  std::string bytes;
  std::set<std::string> changes;
  for (;;) {
    char part[300];
    const auto [ec, n] = co_await stream.body().async_read_some(beck::buffer(part));
    if (ec) co_return;
    bytes.append(part, n);
    for (event next; take_event(bytes, next);) {
      if (next.kind == "change") {
        ++sum.total.news;
        sim::require(site.all.has(next.data), "news of points that were not added");
        sim::require(changes.insert(next.data).second, "news came twice");
      } else if (next.kind == "top") {
        ++sum.total.tables;
        const long age = site.all.age(next.data);
        sim::require(age >= 0, "a table that never was");
        sim::require(age >= me.age, "a table that is older than the one before");
        me.age = age;
        me.table = next.data;
        sum.newest[me.board] = std::max(sum.newest[me.board], age);
      }
    }
    if (world.random().chance(0.05)) co_await pause(world, site.far.get_executor(), 10'000'000);
    if (world.random().chance(0.02)) co_return;  // leaves
  }
}

/// Watches, and connects again when a stream has ended, as EventSource does.
task<> watch(sim::world& world, world_site& site, http::client& web, viewer& me, record& sum) {
  while (!sum.is_over) {
    auto got = co_await web.async_get(std::string(origins[me.board]) + "/events");
    if (!got.error() && got->status() == http::status::ok)
      co_await read(world, site, std::move(got).value(), me, sum);
    beck::steady_timer timer(web.get_executor(), beck::duration(1s));
    beck::ignore(co_await timer.async_wait());
  }
  ++sum.watched;
}

void disturb(sim::world& world, world_site& site) {
  const char* const board = world.random().chance(0.5) ? "app" : "twin";
  switch (world.random().below(9)) {
    case 0:
      return site.server.fail_next("subscribe", "NOPERM no");
    case 1:
      return site.server.fail_next("zincrby", "OOM no memory");
    case 2:
      return site.server.fail_next("zrange",
                                   world.random().chance(0.5) ? "LOADING not yet" : "NOPERM no", 2);
    case 3:
      world.link(world.host(board), world.host("browsers")).cut();
      return;
    case 4:
      world.link(world.host(board), world.host("redis")).cut();
      return;
    case 5:
      return world.host(board).inject(sim::fault::reset);
    default:
      return site.disturb(1, 3'000'000, 900);
  }
}

/// Adds points at one board while the other one has lost Redis: the last news that it misses.
void add_behind_its_back(sim::world& world, world_site& site, http::client& web, record& sum) {
  world.link(world.host("app"), world.host("redis")).cut();
  world.run_for(site.below(1'000'000'000));
  bool has_ended = false;
  add(world, web, sum, origins[1], any_player(world)).start(site.far, [&](std::exception_ptr) {
    has_ended = true;
  });
  site.run_until([&] { return has_ended; });
  world.run_for(site.below(20'000'000'000));
  world.heal();
}

/// Returns what is wrong with the scores; an empty text if nothing is.
std::string compare_scores(const world_site& site, record& sum) {
  for (int i = 0; i < players; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    const long stored = site.all.score(name);
    if (stored < sum.added[name]) return "points that were confirmed are missing";
    if (stored > sum.added[name] + sum.maybe[name]) return "points were added that were refused";
  }
  return {};
}

std::string leaderboard_program(sim::world& world, tally& total) {
  auto how = sim::settings().with(sim::faults());
  if (world.random().chance(0.3)) how.buffer_sizes(1 + world.random().below(3000), 2048);
  world.configure(how);
  world_site site(world);
  beck::io_context beside(world.host("twin"));
  instance twin(beside);
  record sum(total);
  viewer watching[viewers];
  {
    http::client web(
        site.far,
        {.per_origin = callers + viewers, .body_rate = 0, .body_timeout = beck::duration(40s)});
    for (int i = 0; i < viewers; ++i) {
      watching[i].board = i;
      co_spawn(site.far, watch(world, site, web, watching[i], sum), beck::detached);
    }
    for (int i = 0; i < callers; ++i)
      co_spawn(site.far, call(world, site, web, sum), beck::detached);
    for (int i = 0; i < 5; ++i) {
      world.run_for(site.below(3'000'000));
      disturb(world, site);
    }
    site.calm();
    if (!site.run_until([&] { return sum.called == callers; })) return "a call has not ended";
    if (world.random().chance(0.2)) add_behind_its_back(world, site, web, sum);
    const std::string wrong = compare_scores(site, sum);
    if (!wrong.empty()) return wrong;
    const auto is_new = [&](const viewer& one) { return one.table == site.all.table(); };
    world.run_for(3min);
    if (!std::all_of(watching, watching + viewers, is_new)) return "a viewer has an old table";
    sum.is_over = true;
    for (instance* const each : {&site.app, &twin}) each->board.stop();
    const auto has_ended = [&] {
      return sum.watched == viewers && site.app.has_ended && twin.has_ended;
    };
    if (!site.run_until(has_ended)) return "a viewer or a board has not ended";
  }
  if (site.app.board.viewers() + twin.board.viewers() != 0) return "a viewer is left";
  if (!site.end() || beside.stats().outstanding != 0) return "operations of a board are left";
  if (site.far.stats().outstanding != 0) return "operations of the browsers are left";
  return site.server.connections() == 0 ? "" : "a connection to Redis is left";
}

}  // namespace

TEST_CASE("leaderboard: 2,000 schedules with faults lose no points and leave no old table") {
  const auto wanted = static_cast<std::uint64_t>(beck::test::scaled(2'000));
  tally total;
  const sim::check_outcome outcome =
      sim::check(sim::check_options{.seeds = wanted},
                 [&](sim::world& world) { return leaderboard_program(world, total); });
  CHECK(outcome.passed);
  const auto runs = static_cast<long>(outcome.runs);
  CHECK(total.confirmed > 3 * runs);
  CHECK(total.refused > runs / 4);
  CHECK(total.maybe > runs / 4);
  CHECK(total.tops > runs);
  CHECK(total.streams > viewers * runs + runs / 4);
  CHECK(total.tables > 4 * runs);
  CHECK(total.news > 4 * runs);
  beck::test::report_value("leaderboard.schedules", static_cast<long long>(outcome.runs));
}
