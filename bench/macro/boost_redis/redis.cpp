// SPDX-License-Identifier: BSL-1.0
//
// Commands for Redis with Boost.Redis: a coroutine for each caller, which awaits one command after
// the other on a connection of all. Each command is a request of its own, as it is with the others.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/redis/connection.hpp>
#include <boost/redis/src.hpp>

#include <exception>
#include <string>
#include <tuple>

#include "../common/redis_calls.hpp"

namespace {

namespace asio = boost::asio;
namespace redis = boost::redis;

struct session {
  bench::redis_calls& calls;
  asio::io_context context{1};
  redis::connection db{context};
  std::size_t left = calls.callers();
};

void rethrow(std::exception_ptr failure) {
  if (failure) std::rethrow_exception(failure);
}

asio::awaitable<void> calls_in_turn(session& s) {
  for (bool more = true; more;) {
    redis::request get;
    get.push("GET", bench::redis_calls::key);
    redis::response<std::string> got;
    co_await s.db.async_exec(get, got, asio::deferred);
    more = s.calls.take(std::get<0>(got).value());
  }
  if (--s.left != 0) co_return;
  s.calls.finish();
  s.db.cancel();
}

asio::awaitable<void> begin(session& s) {
  redis::request ping;
  ping.push("PING");
  co_await s.db.async_exec(ping, redis::ignore, asio::deferred);
  s.calls.start();
  for (std::size_t i = 0; i < s.calls.callers(); ++i)
    asio::co_spawn(s.context, calls_in_turn(s), rethrow);
}

void run(bench::redis_calls& calls) {
  bench::require(!calls.is_local(), "Boost.Redis 1.88 has no UNIX sockets");
  session s{calls};
  redis::config how;
  how.addr = {"127.0.0.1", std::to_string(calls.options().port)};
  s.db.async_run(how, {redis::logger::level::emerg}, asio::detached);
  asio::co_spawn(s.context, begin(s), rethrow);
  s.context.run();
}

}  // namespace

int main(int argc, char** argv) { return bench::run_redis<run>(argc, argv); }
