// SPDX-License-Identifier: BSL-1.0
// Channels in Asio's form, and as_single.
#include <doctest/doctest.h>

#include <exception>
#include <future>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <asio.hpp>
#include <asio/experimental/as_single.hpp>
#include <asio/experimental/basic_channel.hpp>
#include <asio/experimental/channel.hpp>
#include <asio/experimental/concurrent_channel.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace {

using asio::experimental::channel;
using asio::experimental::concurrent_channel;
namespace channel_error = asio::experimental::error;

/// A handler of a channel without errors in its signature, which takes a message or an error.
struct either {
  std::string* order;
  void operator()() const { *order += 'm'; }
  void operator()(int n) const { *order += std::to_string(n); }
  void operator()(asio::error_code ec) const {
    *order += ec == channel_error::channel_closed ? 'c' : '?';
  }
};

}  // namespace

CONFORMANCE_ON(::beck::test::kernel, "a channel carries messages of its signature in their order") {
  asio::io_context context(context_options());
  channel<void(asio::error_code, std::string)> words(context, 1);
  CHECK(words.capacity() == 1);
  std::string order;
  const auto sent = [&order](asio::error_code ec) { order += ec ? 'e' : 's'; };
  words.async_send(asio::error_code(), "one", sent);
  words.async_send(asio::error::eof, "two", sent);
  std::vector<std::pair<asio::error_code, std::string>> got;
  const auto receive = [&] {
    words.async_receive(
        [&](asio::error_code ec, std::string word) { got.emplace_back(ec, std::move(word)); });
  };
  context.poll();
  CHECK(order == "s");  // the second waits for room
  receive();
  receive();
  context.run();
  REQUIRE(got.size() == 2);
  CHECK(order == "ss");
  CHECK(got[0] == std::pair(asio::error_code(), std::string("one")));
  CHECK(got[1] == std::pair(asio::error_code(asio::error::eof), std::string("two")));
}

CONFORMANCE_ON(::beck::test::kernel, "a channel without buffer hands over in a coroutine") {
  asio::io_context context(context_options());
  channel<void(asio::error_code, int, std::string)> hand(context.get_executor());
  std::string result;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        for (int i = 0; i < 3; ++i) {
          co_await hand.async_send(asio::error_code(), i, std::string("v"));
          result += 's';
        }
        hand.close();
      },
      asio::detached);
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        try {
          for (int turn = 0; turn < 200; ++turn) {
            const auto got = co_await hand.async_receive(asio::as_tuple(asio::use_awaitable));
            const asio::error_code ec = std::get<0>(got);
            if (ec) throw asio::system_error(ec);
            result += std::to_string(std::get<1>(got)) + std::get<2>(got);
          }
        } catch (const asio::system_error& e) {
          result += e.code() == asio::experimental::error::channel_closed ? "closed" : "?";
        }
      },
      asio::detached);
  context.run();
  for (const char* part : {"0v", "1v", "2v", "closed"}) {
    CHECK(result.find(part) != std::string::npos);
  }
  CHECK_FALSE(hand.is_open());
}

CONFORMANCE_ON(::beck::test::kernel, "a waiting send makes a channel without buffer ready") {
  asio::io_context context(context_options());
  channel<void(asio::error_code, int)> hand(context);
  CHECK_FALSE(hand.ready());
  asio::error_code sent = asio::error::eof;
  hand.async_send(asio::error_code(), 7, [&](asio::error_code ec) { sent = ec; });
  context.poll();
  CHECK(hand.ready());
  int got = 0;
  CHECK(hand.try_receive([&](asio::error_code, int n) { got = n; }));
  CHECK(got == 7);
  CHECK_FALSE(hand.ready());
  context.restart();
  context.run();
  CHECK_FALSE(sent);
}

CONFORMANCE_ON(::beck::test::kernel, "a channel of void() is a lock, and throws when cancelled") {
  asio::io_context context(context_options());
  channel<void()> lock{context.get_executor(), 1};
  CHECK(lock.try_send());
  CHECK_FALSE(lock.try_send());
  CHECK(lock.ready());
  asio::error_code thrown;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        try {
          co_await lock.async_send();
        } catch (const asio::system_error& e) {
          thrown = e.code();
        }
      },
      asio::detached);
  asio::post(context, [&] { lock.cancel(); });
  context.run();
  CHECK(thrown == asio::experimental::channel_errc::channel_cancelled);
  int received = 0;
  CHECK(lock.try_receive([&](asio::error_code ec) { received += ec ? 0 : 1; }));
  CHECK_FALSE(lock.try_receive([&](auto...) { received = 99; }));
  CHECK(received == 1);
  CHECK_FALSE(lock.ready());
  lock.close();
  CHECK(lock.ready());  // a receive would end at once
  CHECK_FALSE(lock.try_receive([&](auto...) { received = 99; }));
  CHECK(received == 1);
  lock.reset();
  CHECK_FALSE(lock.ready());
  CHECK(lock.is_open());
  CHECK(lock.try_send());
}

CONFORMANCE_ON(::beck::test::kernel,
               "handlers of a channel are called on its executor, or theirs") {
  asio::io_context context(context_options());
  const auto strand = asio::make_strand(context.get_executor());
  const auto other = asio::make_strand(context.get_executor());
  using strand_type = asio::strand<asio::io_context::executor_type>;
  channel<strand_type, void(std::exception_ptr, int)> numbers(strand, 4);
  std::string order;
  numbers.async_receive([&](std::exception_ptr e, int n) {
    order += strand.running_in_this_thread() ? "in" : "out";
    order += std::to_string(e ? -1 : n);
  });
  numbers.async_receive(asio::bind_executor(other, [&](std::exception_ptr, int n) {
    order += other.running_in_this_thread() ? "in" : "out";
    order += std::to_string(n);
  }));
  CHECK(numbers.try_send(nullptr, 5));
  CHECK(numbers.try_send_n(3, nullptr, 6) == 3);
  context.run();
  CHECK(order == "in5in6");
  context.restart();
  numbers.reset();
  asio::cancellation_signal signal;
  numbers.async_receive(asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr e, int) {
    try {
      std::rethrow_exception(e);
    } catch (const asio::system_error& error) {
      order = error.code() == asio::experimental::error::channel_cancelled ? "cancelled" : "?";
    }
  }));
  asio::post(strand, [&] { signal.emit(asio::cancellation_type::all); });
  context.run();
  CHECK(order == "cancelled");
}

CONFORMANCE_ON(::beck::test::kernel, "a channel takes braces for values, and tokens of any kind") {
  asio::io_context context(context_options());
  channel<void(asio::error_code, int)> numbers(context, 2);
  std::string order;
  numbers.async_send({}, 1, [&](asio::error_code ec) { order += ec ? 'e' : 's'; });
  std::future<void> sent = numbers.async_send({}, 2, asio::use_future);
  std::future<int> first = numbers.async_receive(asio::use_future);
  auto second = numbers.async_receive(asio::deferred);
  std::move(second)([&](asio::error_code, int n) { order += std::to_string(n); });
  context.run();
  CHECK(first.get() == 1);
  CHECK_NOTHROW(sent.get());
  CHECK(order == "s2");

  auto last = numbers.async_receive(asio::as_tuple(asio::use_future));
  numbers.close();
  context.restart();
  context.run();
  CHECK(last.get() == std::tuple(asio::error_code(channel_error::channel_closed), 0));
}

CONFORMANCE_ON(::beck::test::kernel, "a channel starts with the default token of its executor") {
  asio::io_context context(context_options());
  using token = asio::as_tuple_t<asio::use_awaitable_t<>>;
  using numbers = channel<void(asio::error_code, int)>;
  token::as_default_on_t<numbers> results(context, 1);
  auto values = asio::use_awaitable.as_default_on(numbers(context, 2));
  using executor = asio::use_awaitable_t<>::executor_with_default<asio::any_io_executor>;
  using traits = asio::experimental::channel_traits<>;
  asio::experimental::basic_channel<executor, traits, void()> turns(context.get_executor(), 1);
  static_assert(std::is_same_v<decltype(values)::traits_type,
                               traits::rebind<void(asio::error_code, int)>::other>);
  int sum = 0;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        CHECK(co_await results.async_send(asio::error_code(), 1) == std::tuple(asio::error_code()));
        const int n = std::get<1>(co_await results.async_receive());
        co_await values.async_send(asio::error_code(), 20);
        co_await turns.async_send();
        co_await turns.async_receive();
        sum = n + co_await values.async_receive();
      },
      asio::detached);
  context.run();
  CHECK(sum == 21);
  CHECK(values.capacity() == 2);
}

CONFORMANCE_ON(::beck::test::kernel,
               "reset empties a channel and opens it, for operations of before") {
  asio::io_context context(context_options());
  channel<void(asio::error_code, int)> numbers(context, 1);
  std::string order;
  const auto got = [&](asio::error_code ec, int n) { order += ec ? "e" : std::to_string(n); };
  auto receive = numbers.async_receive(asio::deferred);
  numbers.try_send(asio::error_code(), 1);
  numbers.async_send({}, 2, [&](asio::error_code ec) {
    order += ec == channel_error::channel_cancelled ? 'c' : '?';
  });
  numbers.reset();
  CHECK_FALSE(numbers.ready());
  numbers.close();
  numbers.reset();
  CHECK(numbers.is_open());
  std::move(receive)(got);
  CHECK(numbers.try_send(asio::error_code(), 3));
  context.run();
  CHECK(order == "c3");
}

CONFORMANCE_ON(::beck::test::kernel,
               "what waits in a channel ends when it goes or is assigned to") {
  asio::io_context context(context_options());
  using numbers = channel<void(asio::error_code, int)>;
  std::string order;
  const auto ends = [&](asio::error_code ec, auto...) {
    order += ec == channel_error::channel_cancelled ? 'c' : '?';
  };
  auto first = std::make_unique<numbers>(context);
  first->async_receive(ends);
  first.reset();
  numbers target(context, 1);
  target.async_receive(ends);
  numbers source(context, 2);
  source.try_send(asio::error_code(), 4);
  target = std::move(source);
  context.run();
  CHECK(order == "cc");
  CHECK(target.capacity() == 2);
  CHECK(target.ready());
  CHECK_FALSE(source.ready());
  CHECK(source.try_send(asio::error_code(), 5));
}

CONFORMANCE_ON(::beck::test::kernel, "a handler of void(...) takes a message or an error") {
  asio::io_context context(context_options());
  channel<void()> turns(context, 1);
  channel<void(int)> numbers(context, 1);
  std::string order;
  turns.try_send();
  turns.async_receive(either{&order});
  context.run();
  numbers.try_send(5);
  numbers.async_receive(asio::bind_executor(context, either{&order}));
  context.restart();
  context.run();
  turns.async_receive(either{&order});
  turns.close();
  context.restart();
  context.run();
  CHECK(order == "m5c");
}

CONFORMANCE_ON(::beck::test::kernel, "a channel completes at once on an immediate executor") {
  asio::io_context context(context_options());
  channel<void(asio::error_code, int)> numbers(context, 1);
  std::string order;
  asio::post(context, [&] {
    const auto here = [&](auto handler) {
      return asio::bind_immediate_executor(context.get_executor(), std::move(handler));
    };
    numbers.async_send({}, 3, here([&](asio::error_code) { order += 's'; }));
    numbers.async_receive(here([&](asio::error_code, int n) { order += std::to_string(n); }));
    numbers.close();
    numbers.async_send({}, 3, here([&](asio::error_code ec) { order += ec ? 'e' : 's'; }));
    order += '.';
  });
  context.run();
  CHECK(order == "s3e.");
}

CONFORMANCE_ON(::beck::test::kernel,
               "a concurrent channel connects a pool of threads and a context") {
  asio::io_context context(context_options());
  asio::thread_pool pool(2);
  concurrent_channel<void(asio::error_code, int)> numbers(context, 3);
  asio::co_spawn(
      pool,
      [&]() -> asio::awaitable<void> {
        for (int i = 1; i <= 100; ++i) co_await numbers.async_send(asio::error_code(), i);
        numbers.close();
      },
      asio::detached);
  int sum = 0;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        for (int turn = 0; turn < 200; ++turn) {
          const auto got = co_await numbers.async_receive(asio::as_tuple(asio::use_awaitable));
          if (std::get<0>(got)) break;
          sum += std::get<1>(got);
        }
      },
      asio::detached);
  context.run();
  pool.join();
  CHECK(sum == 5050);
}

CONFORMANCE_ON(::beck::test::kernel, "as_single gives one value: a tuple of several") {
  asio::io_context context(context_options());
  asio::posix::stream_descriptor in(context);
  asio::steady_timer timer(context, asio::chrono::milliseconds(1));
  std::string order;
  timer.async_wait(
      asio::experimental::as_single([&](asio::error_code ec) { order += ec ? "e" : "w"; }));
  char data[4];
  in.async_read_some(asio::buffer(data), asio::experimental::as_single(
                                             [&](std::tuple<asio::error_code, std::size_t> both) {
                                               order += std::get<0>(both) ? "E" : "R";
                                             }));
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        const auto both = co_await in.async_read_some(
            asio::buffer(data), asio::experimental::as_single(asio::use_awaitable));
        order += std::get<0>(both) == asio::error::bad_descriptor ? "B" : "?";
      },
      asio::detached);
  context.run();
  CHECK(order.size() == 3);
  for (const char part : {'w', 'E', 'B'}) CHECK(order.find(part) != std::string::npos);
}
