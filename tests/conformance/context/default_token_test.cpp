// SPDX-License-Identifier: BSL-1.0
//
// Timers, signals, pipes, descriptors and files with a default token.
#include <unistd.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/interop/default_token.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/system_timer.hpp>
#include <beck/run/as_tuple.hpp>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "support/file_place.hpp"
#include "support/machine.hpp"
#include "support/outcome.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::error_code;
using beck::test::file_place;
using beck::test::machine;
using beck::test::note;
using beck::test::outcome;
using beck::test::run_task;

namespace {

using throwing = beck::use_awaitable_t<>;
using tuple = beck::as_tuple_t<throwing>;
// What a read or write gives with that, which an io_result does not convert to.
using moved = std::tuple<error_code, std::size_t>;
using steady_timer = throwing::as_default_on_t<beck::steady_timer>;
using system_timer = tuple::as_default_on_t<beck::system_timer>;

}  // namespace

CONFORMANCE("timers wait with their default token, and with the one that is given") {
  beck::io_context ctx(context_options());
  run_task(ctx, [&]() -> beck::task<> {
    steady_timer timer(ctx, 0s);
    static_assert(std::is_void_v<decltype(timer.async_wait(beck::detached))>);
    static_assert(std::is_base_of_v<beck::steady_timer, steady_timer>);
    co_await timer.async_wait();
    system_timer dated(ctx.get_executor(), 0s);
    const std::tuple<error_code> waited = co_await dated.async_wait();
    const auto [ec] = waited;
    CHECK_FALSE(ec);
    auto late = throwing::as_default_on(beck::steady_timer(ctx, 1h));
    static_assert(std::is_same_v<decltype(late), steady_timer>);
    outcome given;
    late.async_wait(note(given));
    CHECK(late.cancel() == 1);
    auto again = tuple::as_default_on(std::move(late));
    again.expires_after(0s);
    const std::tuple<error_code> second_wait = co_await again.async_wait();
    const auto [second] = second_wait;
    CHECK_FALSE(second);
    CHECK(given.aborted());
  });
}

CONFORMANCE("a timer that throws by default throws when it is cancelled") {
  beck::io_context ctx(context_options());
  steady_timer timer(ctx, 1h);
  error_code thrown;
  beck::co_spawn(
      ctx,
      [&]() -> beck::task<> {
        try {
          co_await timer.async_wait();
        } catch (const beck::io_error& e) {
          thrown = e.code();
        }
      },
      beck::detached);
  ctx.poll();
  timer.cancel();
  ctx.restart();
  ctx.run();
  CHECK(thrown == beck::error::operation_aborted);
}

CONFORMANCE("signals are waited for with the default token") {
  machine here;
  beck::io_context ctx(here.options());
  throwing::as_default_on_t<beck::signal_set> set(ctx, SIGUSR1);
  run_task(ctx, [&]() -> beck::task<> {
    here.raise(SIGUSR1, 5);
    const int number = co_await set.async_wait();
    CHECK(number == SIGUSR1);
    here.raise(SIGUSR1, 6);
    const beck::signal_info info = co_await set.async_wait_info();
    CHECK(info.value == 6);
  });
}

CONFORMANCE("pipes read and write with the default token") {
  beck::io_context ctx(context_options());
  run_task(ctx, [&]() -> beck::task<> {
    throwing::as_default_on_t<beck::readable_pipe> out(ctx);
    tuple::as_default_on_t<beck::writable_pipe> in(ctx);
    beck::connect_pipe(out, in);
    const moved sent_result = co_await in.async_write_some(beck::buffer("ab\ncd", 5));
    const auto [e1, sent] = sent_result;
    CHECK(sent == 5);
    std::string text;
    const std::size_t line = co_await beck::async_read_until(out, beck::dynamic_buffer(text), "\n");
    CHECK(line == 3);
    const moved more_result = co_await beck::async_write(in, beck::buffer("efg", 3));
    const auto [e2, more] = more_result;
    CHECK(more == 3);
    char data[8];
    const std::size_t rest = co_await beck::async_read(out, beck::buffer(data, 8 - text.size()));
    CHECK(text + std::string(data, rest) == "ab\ncdefg");
    CHECK_FALSE(e1);
    CHECK_FALSE(e2);
  });
}

CONFORMANCE_ON(beck::test::kernel, "descriptors read, write and wait with the default token") {
  beck::io_context ctx(context_options());
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  using descriptor = throwing::as_default_on_t<beck::posix::stream_descriptor>;
  descriptor out(ctx, ends[0]);
  descriptor in(ctx, ends[1]);
  run_task(ctx, [&]() -> beck::task<> {
    const std::size_t sent = co_await beck::async_write(in, beck::buffer("abc", 3));
    CHECK(sent == 3);
    co_await out.async_wait(descriptor::wait_read);
    char data[8];
    const std::size_t got = co_await out.async_read_some(beck::buffer(data));
    CHECK(got == 3);
  });
}

CONFORMANCE("files read and write with the default token") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  constexpr auto how = beck::file_object::read_write | beck::file_object::create;
  run_task(ctx, [&]() -> beck::task<> {
    throwing::as_default_on_t<beck::stream_file> file(ctx, place.path("a"), how);
    const std::size_t wrote = co_await beck::async_write(file, beck::buffer("abcdef", 6));
    CHECK(wrote == 6);
    file.seek(0, beck::file_object::seek_set);
    char data[8];
    const std::size_t got = co_await file.async_read_some(beck::buffer(data, 6));
    CHECK(got != 0);
    tuple::as_default_on_t<beck::random_access_file> at(ctx, place.path("a"), how);
    const moved one_result = co_await at.async_read_some_at(2, beck::buffer(data, 1));
    const auto [e1, one] = one_result;
    CHECK(one == 1);
    CHECK(data[0] == 'c');
    const moved two_result = co_await at.async_write_some_at(2, beck::buffer("x", 1));
    const auto [e2, two] = two_result;
    CHECK(two == 1);
    const moved whole_result = co_await beck::async_read_at(at, 0, beck::buffer(data, 6));
    const auto [e3, whole] = whole_result;
    CHECK(std::string(data, whole) == "abxdef");
    const moved part_result = co_await beck::async_write_at(at, 0, beck::buffer("yz", 2));
    const auto [e4, part] = part_result;
    CHECK(part == 2);
    const moved end_result = co_await beck::async_read_at(at, 6, beck::buffer(data, 1));
    const auto [e5, end] = end_result;
    CHECK(e5 == beck::error::eof);
    CHECK_FALSE(e1);
    CHECK_FALSE(e2);
    CHECK_FALSE(e3);
    CHECK_FALSE(e4);
  });
}
