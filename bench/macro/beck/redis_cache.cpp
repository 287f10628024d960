// SPDX-License-Identifier: BSL-1.0
//
// Hits of a beck::redis::cache in a coroutine, which completes each without a suspension. The
// server is in the same context, and idle while the cache answers.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/task.hpp>
#include <beck/redis/cache.hpp>
#include <beck/redis/client.hpp>
#include <beck/redis/memory_server.hpp>
#include <exception>
#include <string>

#include "../common/redis_hits.hpp"
#include "counters.hpp"

namespace {

namespace redis = beck::redis;
constexpr beck::duration age_max = beck::duration::max();

struct scene {
  scene(bench::meter& m, std::size_t keys, bool has_numbers)
      : meter(m),
        context(beck_peer::context_options(m.options())),
        server(context, beck::ip::tcp::endpoint(beck::ip::make_address("127.0.0.1"), 0)),
        db(context, "redis://127.0.0.1:" + std::to_string(server.port())),
        cache(db, 64 << 20),
        hits(keys, has_numbers) {}

  bench::meter& meter;
  beck::io_context context;
  redis::memory_server server;
  redis::client db;
  redis::cache cache;
  bench::redis_hits hits;
};

// Reads the next key through the cache.
beck::task<> read_number(scene& s) {
  while (!s.meter.over(s.hits.taken())) {
    const auto got = co_await s.cache.exec<long>(age_max, "GET", s.hits.next());
    s.hits.take(*got);
  }
}

beck::task<> read_string(scene& s) {
  while (!s.meter.over(s.hits.taken())) {
    const auto got = co_await s.cache.exec<std::string>(age_max, "GET", s.hits.next());
    s.hits.take(std::string_view(*got));
  }
}

beck::task<> read_buffer(scene& s) {
  char room[bench::redis_hits::value_bytes];
  while (!s.meter.over(s.hits.taken())) {
    const auto got = co_await s.cache.exec(
        age_max, redis::cmd(redis::into(beck::buffer(room)), "GET", s.hits.next()));
    s.hits.take(got->text());
  }
}

using reader = beck::task<> (*)(scene&);

beck::task<> fill_and_read(scene& s, reader read) {
  for (std::size_t i = 0; i < s.hits.keys().size(); ++i) {
    const std::string& key = s.hits.keys()[i];
    beck::ignore(co_await s.db.exec<void>("SET", key, s.hits.values()[i]));
    beck::ignore(co_await s.cache.exec<std::string>(age_max, "GET", key));
  }
  bench::require(s.cache.stats().entries == s.hits.keys().size(), "a reply is not held");
  const std::uint64_t misses = s.cache.stats().misses;
  beck_peer::counters counted(s.context);
  s.meter.start();
  co_await read(s);
  s.meter.finish(s.hits.taken());
  counted.report(s.hits.taken(),
                 [&](const char* name, double value) { s.meter.note(name, value); });
  bench::require(s.cache.stats().misses == misses, "a reply came from the server");
  s.db.close();
  s.server.close();
}

template <reader Read, std::size_t Keys = bench::redis_hits::few>
void run(bench::meter& meter) {
  scene s(meter, Keys, Read == read_number);
  co_spawn(s.context, fill_and_read(s, Read), [](std::exception_ptr failed) {
    if (failed) std::rethrow_exception(failed);
  });
  s.context.run();
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_micro(argc, argv, "redis_cache",
                          {{"long", run<read_number>},
                           {"long_10k", run<read_number, bench::redis_hits::many>},
                           {"string", run<read_string>},
                           {"buffer", run<read_buffer>}});
}
