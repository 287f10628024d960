// SPDX-License-Identifier: BSL-1.0
//
// Commands for Redis with Boost.Redis: a coroutine for each caller, which awaits one command after
// the other on a connection of all. Each command is a request of its own, as it is with the others.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
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
  bool is_over = false;  // all callers have ended
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

asio::awaitable<void> publish_in_turn(session& s) {
  using ping = std::string;
  for (bool more = true; more;) {
    redis::request both;
    for (int i = 0; i < bench::redis_calls::pings; ++i) both.push("PING");
    both.push("PUBLISH", bench::redis_calls::channel, bench::redis_calls::value);
    redis::response<ping, ping, ping, ping, ping, long long> got;
    co_await s.db.async_exec(both, got, asio::deferred);
    bench::require(std::get<5>(got).value() == 1, "a message had no subscriber");
    more = s.calls.take(bench::redis_calls::value);
  }
  if (--s.left != 0) co_return;
  s.calls.finish();
  s.is_over = true;
  if (s.calls.has_all_messages()) s.db.cancel();
}

// Messages are read into one response, as its guide has it: those that have come are taken at once.
asio::awaitable<void> take_messages(session& s) {
  redis::generic_response messages;
  s.db.set_receive_response(messages);
  for (;;) {
    boost::system::error_code error;
    co_await s.db.async_receive(asio::redirect_error(asio::deferred, error));
    if (error) co_return;
    for (const auto& node : messages.value())
      if (node.depth == 1 && node.value == bench::redis_calls::value)
        s.calls.take_message(node.value);
    messages.value().clear();
    if (!s.is_over || !s.calls.has_all_messages()) continue;
    s.db.cancel();
    co_return;
  }
}

asio::awaitable<void> begin_pushes(session& s) {
  redis::request subscribe;
  subscribe.push("SUBSCRIBE", bench::redis_calls::channel);
  co_await s.db.async_exec(subscribe, redis::ignore, asio::deferred);
  s.calls.start();
  for (std::size_t i = 0; i < s.calls.callers(); ++i)
    asio::co_spawn(s.context, publish_in_turn(s), rethrow);
}

void run_with(bench::redis_calls& calls, bool pushes) {
  bench::require(!calls.is_local(), "Boost.Redis 1.88 has no UNIX sockets");
  session s{calls};
  redis::config how;
  how.addr = {"127.0.0.1", std::to_string(calls.options().port)};
  s.db.async_run(how, {redis::logger::level::emerg}, asio::detached);
  if (pushes) {
    asio::co_spawn(s.context, take_messages(s), rethrow);
    asio::co_spawn(s.context, begin_pushes(s), rethrow);
  } else {
    asio::co_spawn(s.context, begin(s), rethrow);
  }
  s.context.run();
  if (pushes) bench::require(calls.has_all_messages(), "messages are missing");
}

void run(bench::redis_calls& calls) { run_with(calls, false); }
void run_pushes(bench::redis_calls& calls) { run_with(calls, true); }

}  // namespace

int main(int argc, char** argv) { return bench::run_redis<run, run_pushes>(argc, argv); }
