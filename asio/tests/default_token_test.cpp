// SPDX-License-Identifier: BSL-1.0
// Default tokens, chains of operations and timers over the narrow headers: none of <asio.hpp>.
#include <doctest/doctest.h>

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <asio/any_io_executor.hpp>
#include <asio/as_tuple.hpp>
#include <asio/async_result.hpp>
#include <asio/basic_socket.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/connect.hpp>
#include <asio/default_completion_token.hpp>
#include <asio/deferred.hpp>
#include <asio/detached.hpp>
#include <asio/detail/noncopyable.hpp>
#include <asio/detail/socket_option.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/udp.hpp>
#include <asio/read.hpp>
#include <asio/steady_timer.hpp>
#include <asio/system_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace default_token_test {

using asio::ip::tcp;

/// A clock that runs on by a second with each look.
struct stepping_clock {
  using duration = std::chrono::seconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<stepping_clock>;
  static constexpr bool is_steady = true;
  static inline rep looks = 0;
  static time_point now() { return time_point(duration(++looks)); }
};

/// Traits that count the waits.
struct counted_waits {
  static inline int waits = 0;
  template <class T>
  static std::chrono::nanoseconds to_wait_duration(const T&) {
    ++waits;
    return std::chrono::nanoseconds(1);
  }
};

}  // namespace default_token_test

// As a program does that has a clock of its own.
template <>
struct asio::wait_traits<default_token_test::stepping_clock> : default_token_test::counted_waits {};

namespace default_token_test {

using token = asio::as_tuple_t<asio::use_awaitable_t<>>;
using socket_type = token::as_default_on_t<tcp::socket>;
using acceptor_type = token::as_default_on_t<tcp::acceptor>;
using timer_type = token::as_default_on_t<asio::steady_timer>;

static_assert(std::is_same_v<asio::default_completion_token_t<socket_type::executor_type>, token>);
static_assert(
    std::is_same_v<asio::default_completion_token<asio::any_io_executor>::type, asio::deferred_t>);
static_assert(std::is_base_of_v<asio::basic_socket<tcp>, tcp::socket>);
static_assert(std::is_base_of_v<asio::basic_socket<asio::ip::udp>, asio::ip::udp::socket>);
static_assert(noexcept(asio::system_category()) &&
              std::is_same_v<decltype(asio::system_category()), const asio::error_category&>);
class kept : asio::detail::noncopyable {};
static_assert(asio::detail::max_iov_len >= 16);
using reuse_port = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;
static_assert(reuse_port(true).value());
static_assert(std::is_default_constructible_v<kept> && !std::is_copy_constructible_v<kept>);
static_assert(std::is_same_v<timer_type::clock_type, std::chrono::steady_clock>);

asio::awaitable<void> echo(socket_type socket) {
  char data[64];
  for (;;) {
    auto [ec, bytes] = co_await socket.async_read_some(asio::buffer(data));
    if (ec) co_return;
    auto [failure, sent] = co_await asio::async_write(socket, asio::buffer(data, bytes));
    if (failure) co_return;
  }
}

asio::awaitable<void> serve(acceptor_type& acceptor) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  auto accepted = co_await acceptor.async_accept();
  REQUIRE_FALSE(std::get<0>(accepted));
  asio::co_spawn(executor, echo(std::get<1>(std::move(accepted))), asio::detached);
}

asio::awaitable<void> ask(tcp::endpoint server, std::string& answer, asio::error_code& end) {
  socket_type socket(co_await asio::this_coro::executor);
  auto [ec] = co_await socket.async_connect(server);
  REQUIRE_FALSE(ec);
  auto [failure, sent] = co_await asio::async_write(socket, asio::buffer("hello", 5));
  CHECK(sent == 5);
  socket.shutdown(tcp::socket::shutdown_send);
  answer.resize(8);
  auto [last, bytes] = co_await asio::async_read(socket, asio::buffer(answer));
  answer.resize(bytes);
  end = last;
}

CONFORMANCE_ON(::beck::test::kernel, "an echo of objects with a default token, narrow headers") {
  asio::io_context context(context_options());
  acceptor_type acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  std::string answer;
  asio::error_code end;
  asio::co_spawn(context, serve(acceptor), asio::detached);
  asio::co_spawn(context, ask(acceptor.local_endpoint(), answer, end), asio::detached);
  context.run();
  CHECK(answer == "hello");
  CHECK(end == asio::error::eof);
}

CONFORMANCE_ON(::beck::test::kernel, "timers with a default token: of a token, from a plain one") {
  asio::io_context context(context_options());
  asio::error_code result;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        timer_type timer(context, asio::chrono::hours(1));
        asio::post(context, [&timer] { timer.cancel(); });
        auto [ec] = co_await timer.async_wait();
        result = ec;
      },
      asio::detached);
  context.run();
  CHECK(result == asio::error::operation_aborted);

  // The waits of this one start in the call, and nothing takes the result.
  auto quiet = asio::detached_t::as_default_on(
      asio::steady_timer(context, asio::steady_timer::time_point::max()));
  static_assert(std::is_void_v<decltype(quiet.async_wait())>);
  quiet.async_wait();
  CHECK(quiet.cancel() == 1);
  CHECK(quiet.expiry() == asio::steady_timer::time_point::max());
  context.restart();
  CHECK(context.run() == 1);
}

CONFORMANCE_ON(::beck::test::kernel, "a chain of operations in Asio's names") {
  asio::io_context context(context_options());
  asio::system_timer timer(context, asio::chrono::milliseconds(1));
  int result = 0;
  auto chain = timer.async_wait(asio::deferred([&](asio::error_code ec) {
    return asio::deferred.when(!ec)
        .then(asio::deferred.values(20))
        .otherwise(asio::deferred.values(-1));
  })) | asio::deferred([](int n) { return asio::deferred.values(n + 1, 2); });
  CHECK(context.run() == 0);  // not started
  context.restart();
  std::move(chain)([&](int a, int b) { result = a * b; });
  context.run();
  CHECK(result == 42);
}

CONFORMANCE_ON(::beck::test::kernel, "wait_traits that a program specialises decide about waits") {
  asio::io_context context(context_options());
  stepping_clock::looks = 0;
  counted_waits::waits = 0;
  asio::basic_waitable_timer<stepping_clock> timer(context, stepping_clock::duration(5));
  asio::error_code result = asio::error::eof;
  timer.async_wait([&](asio::error_code ec) { result = ec; });
  context.run();
  CHECK_FALSE(result);
  CHECK(stepping_clock::now() >= timer.expiry());
  CHECK(counted_waits::waits > 1);

  // Traits that are named count for the clocks of std::chrono as well.
  counted_waits::waits = 0;
  using short_timer = asio::basic_waitable_timer<std::chrono::steady_clock, counted_waits>;
  short_timer steady(context, asio::chrono::milliseconds(2));
  steady.async_wait([&](asio::error_code ec) { result = ec; });
  context.restart();
  context.run();
  CHECK(std::chrono::steady_clock::now() >= steady.expiry());
  CHECK(counted_waits::waits > 0);
}

CONFORMANCE_ON(::beck::test::kernel,
               "a timer of a program's clock is set again, and waits on the calling thread") {
  asio::io_context context(context_options());
  asio::basic_waitable_timer<stepping_clock> timer(context, stepping_clock::time_point::max());
  asio::error_code result;
  std::size_t cancelled = 0;
  timer.async_wait([&](asio::error_code ec) { result = ec; });
  asio::post(context, [&] { cancelled = timer.expires_after(stepping_clock::duration(2)); });
  context.run();
  CHECK(cancelled == 1);
  CHECK(result == asio::error::operation_aborted);
  timer.wait(result);
  CHECK_FALSE(result);
  CHECK(stepping_clock::now() >= timer.expiry());
}

template <class Stream>
std::size_t bottom(Stream& stream, const tcp::endpoint& endpoint) {
  typename Stream::lowest_layer_type& socket = stream.lowest_layer();
  asio::error_code ec;
  const std::array<tcp::endpoint, 1> list = {endpoint};
  asio::connect(socket, list, ec);
  CHECK_FALSE(ec);
  CHECK(socket.remote_endpoint() == endpoint);
  socket.shutdown(tcp::socket::shutdown_both, ec);
  socket.close(ec);
  return sizeof socket;
}

CONFORMANCE_ON(::beck::test::kernel, "the lowest layer of a socket is the socket") {
  asio::io_context context(context_options());
  tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  tcp::socket plain(context);
  CHECK(&plain.lowest_layer() == &plain);
  asio::basic_socket<tcp>& base = plain;
  base.open(tcp::v4());
  base.set_option(tcp::no_delay(true));
  base.close();
  CHECK(bottom(plain, acceptor.local_endpoint()) == sizeof plain);
  CHECK_FALSE(plain.is_open());
  socket_type with_token(context);
  bottom(with_token, acceptor.local_endpoint());
  CHECK_FALSE(with_token.is_open());
  const tcp::socket& kept = plain;
  CHECK(&kept.lowest_layer() == &kept);
}

}  // namespace default_token_test

namespace {

struct give_seven {
  template <class Handler>
  void operator()(Handler&& handler) const {
    static_cast<Handler&&>(handler)(7);
  }
};

/// An operation that is declared with Asio's macros.
template <ASIO_COMPLETION_TOKEN_FOR(void(int))
              Token ASIO_DEFAULT_COMPLETION_TOKEN_TYPE(asio::any_io_executor)>
ASIO_INITFN_DEDUCED_RESULT_TYPE(Token, void(int),
                                (asio::async_initiate<Token, void(int)>(give_seven(),
                                                                        std::declval<Token&>())))
async_seven(Token&& token ASIO_DEFAULT_COMPLETION_TOKEN(asio::any_io_executor)) {
  return asio::async_initiate<Token, void(int)>(give_seven(), token);
}

}  // namespace

TEST_CASE("macros declare an operation with a default token") {
  int seven = 0;
  async_seven([&](int value) { seven = value; });
  CHECK(seven == 7);
  async_seven()([&](int value) { seven += value; });
  CHECK(seven == 14);
}
