// SPDX-License-Identifier: BSL-1.0
// What programs specialise in asio is asked by beck: traits of handlers, and async_result. And the
// classes that they deduce: awaitable of two parameters, executors of their own.
#include <doctest/doctest.h>

#include <array>
#include <concepts>
#include <future>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <asio.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/parallel_group.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace traits_test {

using strand = asio::strand<asio::io_context::executor_type>;

/// A handler without members for its properties: they are in specialised traits.
struct handler {
  const strand* where;
  int* allocated;
  asio::cancellation_slot slot;
  std::string* order;

  void operator()(asio::error_code ec) const {
    *order += where->running_in_this_thread() ? 's' : '-';
    *order += ec ? 'c' : 'w';
  }
};

/// Counts what it allocates.
template <class T>
struct counting_allocator {
  using value_type = T;
  explicit counting_allocator(int* to) noexcept : count(to) {}
  template <class U>
  counting_allocator(const counting_allocator<U>& other) noexcept : count(other.count) {}
  T* allocate(std::size_t n) {
    ++*count;
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* memory, std::size_t n) { std::allocator<T>().deallocate(memory, n); }
  template <class U>
  bool operator==(const counting_allocator<U>& other) const noexcept {
    return count == other.count;
  }
  int* count;
};

/// A handler around another one, which has its properties by `associator`.
template <class Inner>
struct logged {
  Inner inner;
  template <class... A>
  void operator()(A&&... results) {
    inner(std::forward<A>(results)...);
  }
};

/// A token whose result is the number of arguments that came, in a word of the caller.
struct note_count {
  std::size_t* to;
};
/// The same in the form of before Asio 1.14.
struct old_note {
  std::size_t* to;
};

}  // namespace traits_test

namespace asio {

template <class Fallback>
struct associated_executor<traits_test::handler, Fallback> {
  using type = traits_test::strand;
  static type get(const traits_test::handler& h, const Fallback& = Fallback()) noexcept {
    return *h.where;
  }
};
template <class Fallback>
struct associated_allocator<traits_test::handler, Fallback> {
  using type = traits_test::counting_allocator<void>;
  static type get(const traits_test::handler& h, const Fallback& = Fallback()) noexcept {
    return type(h.allocated);
  }
};
template <class Fallback>
struct associated_cancellation_slot<traits_test::handler, Fallback> {
  using type = cancellation_slot;
  static type get(const traits_test::handler& h, const Fallback& = Fallback()) noexcept {
    return h.slot;
  }
};

template <template <class, class> class Associator, class Inner, class Fallback>
struct associator<Associator, traits_test::logged<Inner>, Fallback> : Associator<Inner, Fallback> {
  using type = typename Associator<Inner, Fallback>::type;
  static type get(const traits_test::logged<Inner>& handler) noexcept {
    return Associator<Inner, Fallback>::get(handler.inner);
  }
  static type get(const traits_test::logged<Inner>& handler, const Fallback& fallback) noexcept {
    return Associator<Inner, Fallback>::get(handler.inner, fallback);
  }
};

template <class... Args>
class async_result<traits_test::note_count, void(Args...)> {
 public:
  template <class Initiation, class... More>
  static const char* initiate(Initiation initiation, traits_test::note_count token,
                              More&&... more) {
    std::move(initiation)([to = token.to](Args...) { *to = sizeof...(Args); },
                          std::forward<More>(more)...);
    return "started";
  }
};

template <class... Args>
class async_result<traits_test::old_note, void(Args...)> {
 public:
  struct completion_handler_type {
    explicit completion_handler_type(traits_test::old_note token) : to(token.to) {}
    void operator()(Args...) const { *to = 10 + sizeof...(Args); }
    std::size_t* to;
  };
  using return_type = int;
  explicit async_result(completion_handler_type& handler) : handler_(&handler) {}
  return_type get() { return handler_ != nullptr ? 7 : 0; }

 private:
  completion_handler_type* handler_;
};

}  // namespace asio

namespace traits_test {

CONFORMANCE_ON(::beck::test::kernel, "traits that a program specialises in asio are asked") {
  asio::io_context context(context_options());
  const strand inside = asio::make_strand(context.get_executor());
  int allocated = 0;
  std::string order;
  asio::cancellation_signal signal;
  const handler h{&inside, &allocated, {}, &order};
  static_assert(std::is_same_v<asio::associated_executor<handler>::type, strand>);
  static_assert(std::is_same_v<asio::associated_executor_t<handler>, strand>);
  CHECK(asio::get_associated_executor(h) == inside);
  asio::steady_timer timer(context, asio::chrono::milliseconds(1));
  timer.async_wait(h);
  context.run();
  CHECK(order == "sw");
  CHECK(allocated > 0);
  order.clear();
  context.restart();
  timer.expires_after(asio::chrono::hours(1));
  timer.async_wait(handler{&inside, &allocated, signal.slot(), &order});
  asio::post(context, [&] { signal.emit(asio::cancellation_type::all); });
  context.run();
  CHECK(order == "sc");
}

CONFORMANCE_ON(::beck::test::kernel,
               "the trait of a wrapped handler is asked through its wrapper") {
  asio::io_context context(context_options());
  const strand inside = asio::make_strand(context.get_executor());
  int allocated = 0;
  std::string order;
  asio::cancellation_signal signal;
  asio::steady_timer timer(context, asio::chrono::hours(1));
  timer.async_wait(
      asio::bind_cancellation_slot(signal.slot(), handler{&inside, &allocated, {}, &order}));
  asio::post(context, [&] { signal.emit(asio::cancellation_type::all); });
  context.run();
  CHECK(order == "sc");
  CHECK(allocated > 0);
}

CONFORMANCE_ON(::beck::test::kernel, "a specialised associator answers all queries of a handler") {
  asio::io_context context(context_options());
  const strand inside = asio::make_strand(context.get_executor());
  int allocated = 0;
  std::string order;
  asio::cancellation_signal signal;
  using outer = logged<logged<handler>>;
  static_assert(std::is_same_v<asio::associated_executor_t<outer>, strand>);
  static_assert(std::is_same_v<asio::associated_executor<outer>::type, strand>);
  const outer h{{{&inside, &allocated, signal.slot(), &order}}};
  CHECK(asio::get_associated_executor(h) == inside);
  CHECK(asio::get_associated_cancellation_slot(h) == signal.slot());
  asio::steady_timer timer(context, asio::chrono::hours(1));
  timer.async_wait(asio::append(h));
  asio::post(context, [&] { signal.emit(asio::cancellation_type::all); });
  context.run();
  CHECK(order == "sc");
  CHECK(allocated > 0);

  const auto plain = [](asio::error_code) {};
  using around_plain = logged<std::decay_t<decltype(plain)>>;
  static_assert(!beck::detail::has_associated_executor<around_plain>);
  static_assert(!beck::detail::has_immediate_executor<around_plain>);
  static_assert(!beck::detail::has_immediate_executor<outer>);
  CHECK(asio::get_associated_executor(around_plain{plain}, inside) == inside);
  // An answer from behind another wrapper.
  const auto bound = asio::bind_allocator(counting_allocator<void>(&allocated),
                                          asio::bind_cancellation_slot(signal.slot(), plain));
  using around_bound = logged<std::decay_t<decltype(bound)>>;
  static_assert(beck::detail::has_cancellation_slot<around_bound>);
  static_assert(beck::detail::has_associated_allocator<around_bound>);
  static_assert(!beck::detail::has_associated_executor<around_bound>);
  CHECK(asio::get_associated_cancellation_slot(around_bound{bound}) == signal.slot());
  using immediate = asio::immediate_executor_binder<std::decay_t<decltype(plain)>, strand>;
  static_assert(beck::detail::has_immediate_executor<logged<immediate>>);
  CHECK(asio::get_associated_immediate_executor(
            logged<immediate>{asio::bind_immediate_executor(inside, plain)}) == inside);
}

TEST_CASE("handlers without a specialised trait answer as they do in beck") {
  const auto plain = [](asio::error_code) {};
  using plain_type = decltype(plain);
  static_assert(std::is_same_v<asio::associated_executor<plain_type>::type, asio::any_io_executor>);
  static_assert(!beck::detail::has_associated_executor<std::decay_t<plain_type>>);
  static_assert(beck::detail::plain_handler<std::decay_t<plain_type>, void(asio::error_code)>);
  asio::io_context context;
  const auto bound = asio::bind_executor(context, plain);
  static_assert(std::is_same_v<asio::associated_executor<std::decay_t<decltype(bound)>>::type,
                               asio::io_context::executor_type>);
  CHECK(asio::associated_executor<std::decay_t<decltype(bound)>>::get(bound) ==
        context.get_executor());
}

CONFORMANCE_ON(::beck::test::kernel, "tokens of a program decide the result of each operation") {
  asio::io_context context(context_options());
  std::size_t arguments = 99;
  std::size_t old_arguments = 99;
  asio::steady_timer timer(context, asio::chrono::milliseconds(1));
  static_assert(asio::completion_token_for<note_count, void(asio::error_code)>);
  const char* const started = timer.async_wait(note_count{&arguments});
  CHECK(std::string(started) == "started");
  CHECK(timer.async_wait(old_note{&old_arguments}) == 7);
  context.run();
  CHECK(arguments == 1);
  CHECK(old_arguments == 11);
  context.restart();
  asio::post(context, asio::deferred)(note_count{&arguments});
  context.run();
  CHECK(arguments == 0);
  asio::async_result<note_count, void(int, int)>::initiate([](auto h) { h(1, 2); },
                                                           note_count{&arguments});
  CHECK(arguments == 2);
}

TEST_CASE("async_result of the facade is beck's where a program has not specialised it") {
  int sum = 0;
  const auto add = [&sum](int n) { sum += n; };
  const auto start = [](auto h, int n) { h(n); };
  asio::async_result<std::decay_t<decltype(add)>, void(int)>::initiate(start, add, 5);
  CHECK(sum == 5);
  asio::async_result<asio::deferred_t, void(int)>::initiate(start, asio::deferred, 6)(add);
  CHECK(sum == 11);
}

template <class T, class Executor>
Executor executor_of(const asio::awaitable<T, Executor>&);
template <class>
constexpr bool is_awaitable = false;
template <class T, class E>
constexpr bool is_awaitable<asio::awaitable<T, E>> = true;

asio::awaitable<int> give(int n) { co_return n; }
asio::awaitable<int, asio::io_context::executor_type> twice(int n) {
  const int first = co_await give(n);
  const int second = co_await give(n);
  co_return first + second;
}

CONFORMANCE_ON(::beck::test::kernel, "an awaitable has two parameters, which programs deduce") {
  static_assert(std::is_same_v<decltype(executor_of(give(1))), asio::any_io_executor>);
  static_assert(std::is_same_v<decltype(executor_of(twice(1))), asio::io_context::executor_type>);
  static_assert(is_awaitable<decltype(twice(1))> && !is_awaitable<int>);
  asio::io_context context(context_options());
  int result = 0;
  asio::co_spawn(context, twice(4), [&](std::exception_ptr e, int n) { result = e ? -1 : n; });
  context.run();
  CHECK(result == 8);
}

CONFORMANCE_ON(::beck::test::kernel, "&& of awaitables gives both values, || the first") {
  using namespace asio::experimental::awaitable_operators;
  asio::io_context context(context_options());
  std::tuple<int, int> both;
  std::size_t first = 99;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        both = co_await (give(1) && twice(2));
        asio::steady_timer never(context, asio::chrono::hours(1));
        asio::steady_timer soon(context, asio::chrono::milliseconds(1));
        auto won = co_await (never.async_wait(asio::use_awaitable) ||
                             soon.async_wait(asio::use_awaitable));
        first = won.index();
      },
      asio::detached);
  context.run();
  CHECK(both == std::tuple(1, 4));
  CHECK(first == 1);
}

CONFORMANCE_ON(::beck::test::kernel, "functions of a token are members of a parallel group") {
  asio::io_context context(context_options());
  asio::steady_timer never(context, asio::chrono::hours(1));
  asio::steady_timer soon(context, asio::chrono::milliseconds(1));
  std::string result;
  asio::experimental::make_parallel_group([&](auto token) { return never.async_wait(token); },
                                          soon.async_wait(asio::deferred))
      .async_wait(asio::experimental::wait_for_one(),
                  [&](std::array<std::size_t, 2> order, asio::error_code a, asio::error_code b) {
                    result += std::to_string(order[0]) + (a ? "c" : "w") + (b ? "c" : "w");
                  });
  context.run();
  CHECK(result == "1cw");
  context.restart();
  const auto wait = [&soon](auto token) { return soon.async_wait(token); };
  std::vector waits(3, wait);
  asio::experimental::make_parallel_group(waits).async_wait(
      asio::experimental::wait_for_all(),
      [&](std::vector<std::size_t> order, std::vector<asio::error_code> ends) {
        result = std::to_string(order.size()) + "/" + std::to_string(ends.size());
      });
  context.run();
  CHECK(result == "3/3");
}

TEST_CASE("a group of functions without an executor starts outside of every context") {
  asio::thread_pool pool(2);
  std::promise<std::size_t> ended;
  const auto on_pool = [&pool](auto token) {
    return asio::async_initiate<decltype(token), void(int)>(
        [&pool](auto handler) {
          asio::post(pool, [done = std::move(handler)]() mutable { std::move(done)(4); });
        },
        token);
  };
  asio::experimental::make_parallel_group(on_pool, on_pool)
      .async_wait(asio::experimental::wait_for_all(),
                  [&](std::array<std::size_t, 2> order, int a, int b) {
                    ended.set_value(order.size() + static_cast<std::size_t>(a + b));
                  });
  CHECK(ended.get_future().get() == 10);
  pool.join();
}

TEST_CASE("an operation composed outside of every context may dispatch itself") {
  std::promise<int> ended;
  const auto steps = [](auto& self, auto... step) {
    if constexpr (sizeof...(step) == 0) {
      asio::dispatch(asio::append(std::move(self), 4));
    } else {
      self.complete(step...);
    }
  };
  const auto done = [&ended](int n) { ended.set_value(n); };
  asio::async_compose<decltype(done), void(int)>(steps, done);
  CHECK(ended.get_future().get() == 4);
  using asio::async_compose;  // with beck's found by the arguments, too
  asio::io_context context;
  int result = 0;
  const auto set = [&result](int n) { result = n; };
  async_compose<decltype(set), void(int)>(steps, set, context);
  context.run();
  CHECK(result == 4);
}

TEST_CASE("a handler without an executor has the system's, as in Asio") {
  const auto plain = [] {};
  const auto executor = asio::get_associated_executor(plain);
  CHECK(executor == asio::any_io_executor(asio::system_executor()));
  const auto guard = asio::make_work_guard(plain);
  CHECK(guard.get_executor() == executor);
  asio::io_context context;
  CHECK(asio::get_associated_executor(asio::bind_executor(context, plain)) ==
        context.get_executor());
  CHECK(asio::get_associated_executor(plain, context.get_executor()) == context.get_executor());
  CHECK(asio::make_work_guard(plain, context).get_executor() == context.get_executor());
  asio::post(context,
             [&] { CHECK(asio::get_associated_executor(plain) == context.get_executor()); });
  CHECK(context.poll() == 1);
  using asio::get_associated_executor;  // with beck's found by the arguments, too
  using asio::make_work_guard;
  CHECK(get_associated_executor(asio::bind_executor(context, plain)) == context.get_executor());
  CHECK(make_work_guard(context).get_executor() == context.get_executor());
  std::promise<bool> ran;
  asio::dispatch(guard.get_executor(), [&ran] { ran.set_value(true); });
  CHECK(ran.get_future().get());
}

/// An executor of a program, which answers and offers properties by members.
struct own_executor {
  asio::io_context* context;
  asio::io_context& query(asio::execution::context_t) const noexcept { return *context; }
  asio::execution::blocking_t query(asio::execution::blocking_t) const noexcept {
    return asio::execution::blocking.never;
  }
  own_executor require(asio::execution::blocking_t::never_t) const { return *this; }
  template <class F>
  void execute(F f) const {
    asio::post(*context, std::move(f));
  }
  bool operator==(const own_executor&) const noexcept = default;
};
static_assert(asio::execution::executor<own_executor>);
static_assert(asio::execution::is_executor<asio::any_io_executor>::value);
static_assert(!asio::execution::executor<int>);

TEST_CASE("properties go to the members of a program's executor, and to beck's executors") {
  asio::io_context context;
  const own_executor own{&context};
  static_assert(
      std::is_same_v<decltype(asio::require(own, asio::execution::blocking.never)), own_executor>);
  CHECK(&asio::query(own, asio::execution::context) == &context);
  CHECK(asio::query(own, asio::execution::blocking) == asio::execution::blocking.never);
  CHECK_FALSE(asio::query(own, asio::execution::blocking) == asio::execution::blocking.always);
  asio::io_context& same = asio::query(context.get_executor(), asio::execution::context);
  CHECK(&same == &context);
  asio::any_io_executor any(context.get_executor());
  CHECK(&asio::query(any, asio::execution::context) == &context);
  const auto never = asio::require(context.get_executor(), asio::execution::blocking.never);
  const auto tracked = asio::prefer(never, asio::execution::outstanding_work.tracked,
                                    asio::execution::relationship.fork);
  int ran = 0;
  asio::post(context, [&] {
    tracked.execute([&] { ++ran; });
    CHECK(ran == 0);  // never inside the call
  });
  context.poll();
  CHECK(ran == 1);
}

}  // namespace traits_test
