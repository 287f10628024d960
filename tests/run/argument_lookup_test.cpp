// SPDX-License-Identifier: BSL-1.0
// Lookup through arguments: functions of a program that are called like the library's own ones are
// found, and the library's are not, though the arguments derive from the library's types.
#include <doctest/doctest.h>
#include <beck/beck.hpp>
#include <beck/interop/stop_token.hpp>
#include <beck/interop/use_future.hpp>

namespace program {

struct connection : beck::ip::tcp::socket {
  using basic_stream_socket::basic_stream_socket;
};
struct pause : beck::steady_timer {
  using basic_timer::basic_timer;
};
struct step : beck::op<step, void(beck::error_code)> {
  void initiate(handler done) { done(beck::error_code()); }
};
struct crew : beck::io_context {};

// As open to every argument as the library's own ones.
template <class... T>
int launch(T&&...) {
  return 1;
}
template <class... T>
int part_of(T&&...) {
  return 2;
}
template <class... T>
int configure(T&&...) {
  return 3;
}
template <class... T>
int disown(T&&...) {
  return 4;
}
template <class... T>
int value_at(T&&...) {
  return 5;
}
template <class... T>
int within(T&&...) {
  return 6;
}
template <class... T>
int own_executor(T&&...) {
  return 7;
}

template <class Object>
int sum(Object& object, int other) {
  return launch(object, other) + part_of(object, other) + configure(object, other) +
         disown(object) + value_at(object, other) + within(object, other) + own_executor(object);
}

}  // namespace program

namespace {

// True if a function of this name is found through the type of the arguments alone.
template <class... T>
concept finds_launch = requires(T&... object) { launch(object...); };
template <class... T>
concept finds_within = requires(T&... object) { within(object...); };
template <class... T>
concept finds_start_callback = requires(T&... object) { start_callback(object...); };
template <class... T>
concept finds_call_or_post = requires(T&... object) { call_or_post(object...); };
template <class... T>
concept finds_executor_of = requires(T&... object) { executor_of(object...); };
template <class... T>
concept finds_as_task = requires(T&... object) { as_task(object...); };
template <class... T>
concept finds_opaque_value = requires(T&... object) { opaque_value(object...); };

template <class Object>
constexpr bool finds_none =
    !finds_launch<Object, int> && !finds_within<Object, int> && !finds_within<int, Object> &&
    !finds_start_callback<Object, int> && !finds_call_or_post<Object, void()> &&
    !finds_executor_of<Object> && !finds_as_task<Object> && !finds_opaque_value<Object*>;

static_assert(finds_none<beck::ip::tcp::socket>);
static_assert(finds_none<beck::ip::tcp::acceptor>);
static_assert(finds_none<beck::ip::udp::socket>);
static_assert(finds_none<beck::steady_timer>);
static_assert(finds_none<beck::io_context>);
static_assert(finds_none<beck::stream_file>);
static_assert(finds_none<beck::writable_pipe>);
static_assert(finds_none<beck::task<int>>);
static_assert(finds_none<beck::mutex>);
static_assert(finds_none<decltype(std::declval<beck::steady_timer&>().async_wait())>);
static_assert(finds_none<decltype(std::declval<beck::mutex&>().lock())>);

}  // namespace

TEST_CASE("a program's functions are found for its types, though they derive from the library's") {
  program::crew context;
  program::connection connection(context);
  program::pause pause(context);
  program::step step;
  CHECK(program::sum(context, 0) == 28);
  CHECK(program::sum(connection, 0) == 28);
  CHECK(program::sum(pause, 0) == 28);
  CHECK(program::sum(step, 0) == 28);
  CHECK(launch(connection, 0) == 1);
  CHECK(within(pause, 0) == 6);
}
