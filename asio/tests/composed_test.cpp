// SPDX-License-Identifier: BSL-1.0
// Operations that a program composes: composed, co_composed, and async_compose without a place.
#include <doctest/doctest.h>

#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <asio.hpp>
#include <asio/co_composed.hpp>
#include <asio/composed.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace composed_test {

using asio::error_code;

/// Waits `count` times, then completes with the error of the last wait.
struct waits {
  asio::steady_timer& timer;
  int count;
  template <class Self>
  void operator()(Self& self, error_code ec = {}, int more = 0) {
    count += more;
    if (ec || count-- == 0) return self.complete(ec, 'x');
    timer.expires_after(std::chrono::nanoseconds(0));
    timer.async_wait(std::move(self));
  }
};
using waits_signature = void(error_code, char);

/// Waits for `count` posts as a coroutine. `on_cancel`: what it sets for a cancellation.
template <class Token, class OnCancel>
auto async_posts(asio::io_context& context, int count, OnCancel on_cancel, Token&& token) {
  return asio::async_initiate<Token, waits_signature>(
      asio::co_composed<waits_signature>(
          [](auto state, asio::io_context& c, int left, OnCancel set) -> void {
            set(state);
            try {
              while (left-- > 0) co_await asio::post(c, asio::deferred);
            } catch (const asio::system_error& error) {
              co_return {error.code(), 'e'};
            }
            co_return {error_code(), 'x'};
          },
          context),
      token, std::ref(context), count, on_cancel);
}
constexpr auto nothing = [](auto&) {};

/// The results of waits.
struct results {
  error_code ec;
  char mark = '-';
  auto keep() {
    return [this](error_code e, char m) { ec = e, mark = m; };
  }
};

/// Cancels async_posts after its first post.
template <class OnCancel>
results cancelled_posts(OnCancel on_cancel) {
  asio::io_context context(context_options());
  asio::cancellation_signal signal;
  results at;
  async_posts(context, 100, on_cancel, asio::bind_cancellation_slot(signal.slot(), at.keep()));
  context.run_one();
  signal.emit(asio::cancellation_type::all);
  context.run();
  return at;
}

}  // namespace composed_test
using namespace composed_test;

CONFORMANCE("asio: composed has the steps of async_compose, and the first one has arguments") {
  asio::io_context context(context_options());
  asio::steady_timer timer(context);
  results at;
  auto token = at.keep();
  asio::async_initiate<decltype(token), waits_signature>(
      asio::composed<waits_signature>(waits{timer, 1}, timer), token, error_code(), 2);
  CHECK(context.run() == 3);
  CHECK(at.mark == 'x');
  // Without a signature complete() takes what the handler takes.
  at = {};
  asio::async_initiate<decltype(token), waits_signature>(asio::composed(waits{timer, 0}, timer),
                                                         token);
  CHECK(at.mark == '-');  // not inside of the initiating function
  context.restart();
  context.run();
  CHECK(at.mark == 'x');
}

CONFORMANCE("asio: a composed operation without a place runs where its operations complete") {
  asio::io_context context(context_options());
  asio::steady_timer timer(context);
  std::thread::id ran_on;
  auto token = [&](error_code, char) { ran_on = std::this_thread::get_id(); };
  asio::async_compose<decltype(token), waits_signature>(waits{timer, 2}, token);
  context.run();
  CHECK(ran_on == std::this_thread::get_id());
  auto future_token = asio::use_future;
  std::future<char> at_once = asio::async_compose<decltype(future_token), void(char)>(
      [](auto& self) { self.complete('a'); }, future_token);
  CHECK(at_once.get() == 'a');
}

CONFORMANCE("asio: co_composed completes with what the coroutine returns") {
  asio::io_context context(context_options());
  results at;
  async_posts(context, 3, nothing, at.keep());
  CHECK(context.run() == 3);
  CHECK(!at.ec);
  CHECK(at.mark == 'x');
  std::future<char> at_once = async_posts(context, 0, nothing, asio::use_future);
  CHECK(at_once.get() == 'x');
}

CONFORMANCE("asio: co_composed is awaited like any operation") {
  asio::io_context context(context_options());
  char mark = '-';
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        mark = co_await async_posts(context, 2, nothing, asio::use_awaitable);
      },
      asio::detached);
  context.run();
  CHECK(mark == 'x');
}

CONFORMANCE("asio: a cancelled co_composed completes at its next co_await") {
  const results by_default = cancelled_posts(nothing);
  CHECK(by_default.ec == asio::error::operation_aborted);
  CHECK(by_default.mark == '\0');
  const results chosen = cancelled_posts(
      [](auto& state) { state.on_cancellation_complete_with(asio::error::eof, 'c'); });
  CHECK(chosen.ec == asio::error::eof);
  CHECK(chosen.mark == 'c');
  const results thrown = cancelled_posts([](auto& state) { state.throw_if_cancelled(true); });
  CHECK(thrown.ec == asio::error::operation_aborted);
  CHECK(thrown.mark == 'e');
  const results goes_on = cancelled_posts([](auto& state) { state.complete_if_cancelled(false); });
  CHECK(goes_on.mark == 'x');
  const results filtered = cancelled_posts(
      [](auto& state) { state.reset_cancellation_state(asio::disable_cancellation()); });
  CHECK(!filtered.ec);
  CHECK(filtered.mark == 'x');
}

CONFORMANCE("asio: an exception of co_composed leaves the function that resumed it") {
  asio::io_context context(context_options());
  const auto kept = std::make_shared<int>(0);
  auto start = [&](bool at_once) {
    asio::async_initiate<decltype(asio::detached), void()>(
        asio::co_composed<void()>(
            [](auto, asio::io_context& c, bool now, std::shared_ptr<int>) -> void {
              if (!now) co_await asio::post(c, asio::deferred);
              throw std::runtime_error("thrown");
            },
            context),
        asio::detached, std::ref(context), at_once, kept);
  };
  CHECK_THROWS_WITH(start(true), "thrown");
  CHECK(kept.use_count() == 1);  // the frame is gone
  start(false);
  CHECK(kept.use_count() == 2);
  CHECK_THROWS_WITH(context.run(), "thrown");
  CHECK(kept.use_count() == 1);
}

CONFORMANCE("asio: co_composed ends with its context, and its frame with it") {
  const auto kept = std::make_shared<int>(0);
  bool has_run = false;
  {
    asio::io_context context(context_options());
    auto token = [&has_run] { has_run = true; };
    asio::async_initiate<decltype(token), void()>(
        asio::co_composed(
            [](auto state, asio::io_context& c, std::shared_ptr<int>) -> void {
              co_await asio::post(c, asio::deferred);
              co_yield state.complete();
            },
            context),
        token, std::ref(context), kept);
    CHECK(kept.use_count() == 2);
  }
  CHECK(kept.use_count() == 1);
  CHECK(!has_run);
}

CONFORMANCE("asio: co_composed counts as work of its places, and runs on its handler's executor") {
  asio::io_context place(context_options());
  asio::io_context other(context_options());
  bool on_other = false;
  auto token = asio::bind_executor(other, [&] { on_other = true; });
  asio::async_initiate<decltype(token), void()>(asio::co_composed(
                                                    [](auto state, asio::io_context& c) -> void {
                                                      co_await asio::post(c, asio::deferred);
                                                      co_yield state.complete();
                                                    },
                                                    place),
                                                token, std::ref(other));
  CHECK(place.poll() == 0);
  CHECK(!place.stopped());  // outstanding work
  other.run();
  CHECK(on_other);
  place.poll();
  CHECK(place.stopped());
}

namespace composed_test {

/// Posts a completion with `results`, and leaves its handler in the slot as careless operations do.
template <class Signature, class... Results>
auto async_posted(asio::io_context& context, int* requests, Results... results) {
  return asio::async_initiate<const asio::deferred_t, Signature>(
      [&context, requests, ... kept = std::move(results)](auto handler) mutable {
        auto slot = asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) slot.assign([requests](asio::cancellation_type) { ++*requests; });
        asio::post(context, [h = std::move(handler), ... values = std::move(kept)]() mutable {
          std::move(h)(std::move(values)...);
        });
      },
      asio::deferred);
}

/// A handler of several signatures that notes which one was called.
struct any_results {
  std::string* said;
  void operator()(int n) const { *said = "int " + std::to_string(n); }
  void operator()(error_code ec, int n) const {
    *said = (ec == asio::error::operation_aborted ? "aborted " : "? ") + std::to_string(n);
  }
  void operator()(error_code, const std::string& text) const { *said = "text " + text; }
  void operator()(std::exception_ptr e, int n) const {
    try {
      if (e) std::rethrow_exception(e);
      *said = "no exception";
    } catch (const asio::system_error& error) {
      (*this)(error.code(), n);
    }
  }
};

/// Posts three times, and gets a request of `type` after the first post.
template <class... Signatures>
std::string cancelled_by(asio::cancellation_type type) {
  asio::io_context context(context_options());
  asio::cancellation_signal signal;
  std::string said;
  auto token = asio::bind_cancellation_slot(signal.slot(), any_results{&said});
  asio::async_initiate<decltype(token), Signatures...>(
      asio::co_composed<Signatures...>(
          [](auto state, asio::io_context& c) -> void {
            for (int left = 3; left > 0; --left) co_await asio::post(c, asio::deferred);
            for (;;) co_yield state.complete(error_code(), 7);
          },
          context),
      token, std::ref(context));
  context.run_one();
  signal.emit(type);
  context.run();
  return said;
}

}  // namespace composed_test

CONFORMANCE("asio: a cancelled co_composed completes with the first signature that has an error") {
  using enum asio::cancellation_type;
  using text = void(error_code, std::string);
  CHECK(cancelled_by<void(int), void(error_code, int), text>(terminal) == "aborted 0");
  CHECK(cancelled_by<text, void(error_code, int)>(terminal) == "text ");
  CHECK(cancelled_by<void(error_code, int)>(total) == "? 7");  // terminal requests only
  CHECK(cancelled_by<void(error_code, int)>(partial) == "? 7");
  CHECK(cancelled_by<void(std::exception_ptr, int), void(error_code, int)>(terminal) ==
        "aborted 0");
}

CONFORMANCE("asio: the frame of co_composed is gone when its handler is called, or after its end") {
  asio::io_context context(context_options());
  const auto kept = std::make_shared<int>(0);
  long count = -1;
  auto token = [&](int) { count = kept.use_count(); };
  asio::async_initiate<decltype(token), void(int)>(
      asio::co_composed<void(int)>(
          [](auto, asio::io_context& c, std::shared_ptr<int>) -> void {
            co_await asio::post(c, asio::deferred);
            co_return {1};
          },
          context),
      token, std::ref(context), kept);
  CHECK(kept.use_count() == 2);
  context.run();
  CHECK(count == 1);
  // Without a signature a coroutine may end without results: its handler is dropped.
  count = -1;
  asio::async_initiate<decltype(token), void(int)>(
      asio::co_composed([](auto, asio::io_context& c, std::shared_ptr<int>)
                            -> void { co_await asio::post(c, asio::deferred); },
                        context),
      token, std::ref(context), kept);
  CHECK(kept.use_count() == 2);
  context.restart();
  context.run();
  CHECK(kept.use_count() == 1);
  CHECK(count == -1);
}

CONFORMANCE("asio: co_await in co_composed returns values, or throws the exception") {
  asio::io_context context(context_options());
  std::string said;
  int requests = 0;
  auto token = [&said](std::string text) { said = std::move(text); };
  asio::async_initiate<decltype(token), void(std::string)>(
      asio::co_composed<void(std::string)>(
          [](auto, asio::io_context& c, int* unused) -> void {
            using pointer = std::unique_ptr<int>;
            const auto one = co_await async_posted<void(error_code, pointer)>(
                c, unused, error_code(), std::make_unique<int>(1));
            const auto [number, text] =
                co_await async_posted<void(int, std::string)>(c, unused, 2, std::string("three"));
            std::string all = std::to_string(*one) + std::to_string(number) + text;
            try {
              co_await async_posted<void(std::exception_ptr)>(
                  c, unused, std::make_exception_ptr(std::runtime_error("four")));
            } catch (const std::runtime_error& error) {
              all += error.what();
            }
            co_return {all};
          },
          context),
      token, std::ref(context), &requests);
  context.run();
  CHECK(said == "12threefour");
}

CONFORMANCE("asio: no request reaches an operation inside that has ended") {
  asio::io_context context(context_options());
  asio::cancellation_signal signal;
  int requests = 0;
  bool has_run = false;
  auto token = asio::bind_cancellation_slot(signal.slot(), [&] { has_run = true; });
  const auto request = [&] { signal.emit(asio::cancellation_type::terminal); };
  asio::async_initiate<decltype(token), void()>(
      asio::co_composed<void()>(
          [](auto, asio::io_context& c, int* count, auto emit) -> void {
            co_await async_posted<void()>(c, count);
            emit();
            co_return {};
          },
          context),
      token, std::ref(context), &requests, request);
  context.run();
  CHECK(has_run);
  CHECK(requests == 0);
  // The same between the steps of async_compose, and after its end.
  has_run = false;
  int step = 0;
  asio::async_compose<decltype(token), void()>(
      [&](auto& self) {
        if (step == 1) request();
        if (step++ == 1) return self.complete();
        async_posted<void()>(context, &requests)(std::move(self));
      },
      token, context);
  context.restart();
  context.run();
  CHECK(has_run);
  request();
  CHECK(requests == 0);
}

CONFORMANCE("asio: the executors of co_composed: its first place, the calling handler's, its own") {
  asio::io_context place(context_options());
  asio::io_context other(context_options());
  std::string order;
  const auto steps = [](auto state, asio::io_context& c, std::string* said) -> void {
    *said += state.get_io_executor() == c.get_executor() ? 'i' : '-';
    co_await asio::post(c, asio::deferred);
    co_return {};
  };
  auto bound = asio::bind_executor(other, [&order] { order += 'b'; });
  asio::async_initiate<decltype(bound), void()>(asio::co_composed<void()>(steps, place), bound,
                                                std::ref(place), &order);
  CHECK(other.poll() == 0);
  CHECK(!other.stopped());  // outstanding work
  place.poll();
  other.poll();
  CHECK(order == "ib");
  CHECK(other.stopped());
  auto plain = [&order] { order += 'p'; };
  asio::post(place, [&] {
    asio::async_initiate<decltype(plain), void()>(asio::co_composed<void()>(steps), plain,
                                                  std::ref(place), &order);
    auto composed = [&order] { order += 'c'; };
    asio::async_compose<decltype(composed), void()>(
        [&](auto& self) {
          order += self.get_io_executor() == place.get_executor() ? 'i' : '-';
          self.complete();
        },
        composed);
  });
  place.restart();
  place.run();
  CHECK(order.substr(0, 4) == "ibii");
  CHECK(order.size() == 6);
}

CONFORMANCE("asio: what composed returns may start several operations") {
  asio::io_context context(context_options());
  std::string said;
  auto token = [&said](int n) { said += std::to_string(n); };
  const auto steps = asio::composed<void(int)>(
      [kept = std::make_shared<int>(4)](auto& self) { self.complete(kept ? *kept : 0); }, context);
  asio::async_initiate<decltype(token), void(int)>(steps, token);
  asio::async_initiate<decltype(token), void(int)>(steps, token);
  context.run();
  CHECK(said == "44");
}
