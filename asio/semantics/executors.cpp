// SPDX-License-Identifier: BSL-1.0
// Executors, what is associated with a handler, tokens, memory of handlers, futures.
#include "rows.hpp"

#include <future>
#include <memory>

namespace semantics::executors {

using namespace std::chrono_literals;
using asio::steady_timer;

struct plain {
  void operator()() const {}
};

ROW("associated: the executor of a handler without one") {
  return line(std::is_same_v<asio::associated_executor_t<plain>, asio::system_executor>);
}
ROW("associated: the fallback of a handler without one") {
  asio::io_context context;
  return line(asio::get_associated_executor(plain(), context.get_executor()) ==
              context.get_executor());
}
ROW("associated: the executor of bind_executor") {
  asio::io_context context, other;
  auto handler = asio::bind_executor(other, plain());
  return line(
      asio::get_associated_executor(handler) == other.get_executor(),
      asio::get_associated_executor(handler, context.get_executor()) == other.get_executor(),
      handler.get_executor() == other.get_executor());
}
ROW("associated: the outer bind_executor counts") {
  asio::io_context context, other;
  auto handler = asio::bind_executor(other, asio::bind_executor(context, plain()));
  return line(asio::get_associated_executor(handler) == other.get_executor());
}
ROW("associated: the allocator of a handler without one") {
  return line(std::is_same_v<asio::associated_allocator_t<plain>, std::allocator<void>>);
}
ROW("associated: the slot of a handler without one") {
  return line(asio::get_associated_cancellation_slot(plain()).is_connected());
}
ROW("associated: a slot under bind_executor") {
  asio::io_context context;
  asio::cancellation_signal signal;
  auto handler = asio::bind_executor(context, asio::bind_cancellation_slot(signal.slot(), plain()));
  return line(asio::get_associated_cancellation_slot(handler).is_connected(),
              asio::get_associated_cancellation_slot(handler) == signal.slot());
}
ROW("executor: an empty any_io_executor") {
  const asio::any_io_executor none;
  return line(bool(none), none == asio::any_io_executor(), none == nullptr);
}
ROW("executor: any_io_executor compares what it holds") {
  asio::io_context context, other;
  const asio::any_io_executor a = context.get_executor(), b = other.get_executor();
  return line(a == asio::any_io_executor(context.get_executor()), a == b, a != nullptr,
              a == asio::any_io_executor());
}
ROW("executor: use of an empty any_io_executor") {
  const asio::any_io_executor none;
  return line(thrown_by([&] { asio::post(none, [] {}); }) != "nothing thrown");
}
ROW("executor: the context of any_io_executor") {
  asio::io_context context;
  const asio::any_io_executor executor = context.get_executor();
  return line(&asio::query(executor, asio::execution::context) == &context);
}
ROW("executor: dispatch with blocking.never does not run inside") {
  asio::io_context context;
  trace words;
  asio::post(context, [&] {
    auto never = asio::require(context.get_executor(), asio::execution::blocking.never);
    asio::dispatch(never, [&] { words << "never"; });
    asio::dispatch(context.get_executor(), [&] { words << "possibly"; });
    words << "end";
  });
  context.run();
  return words;
}
ROW("executor: outstanding_work.tracked keeps run waiting") {
  asio::io_context context;
  trace words;
  {
    auto tracked = asio::require(context.get_executor(), asio::execution::outstanding_work.tracked);
    words << context.poll() << context.stopped();
  }
  words << context.poll() << context.stopped();
  return words;
}
ROW("bind_executor: post to one context runs on the other") {
  asio::io_context context, other;
  trace words;
  asio::post(context, asio::bind_executor(other, [&] {
               words << context.get_executor().running_in_this_thread()
                     << other.get_executor().running_in_this_thread();
             }));
  words << context.run() << other.run();
  return words;
}
ROW("bind_executor: a wait's handler on the other context counts as its work") {
  asio::io_context context, other;
  trace words;
  steady_timer timer(context, -1s);
  timer.async_wait(asio::bind_executor(other, [&](asio::error_code) { words << "handler"; }));
  words << other.poll() << other.stopped() << context.run() << other.run();
  return words;
}
ROW("bind_executor: dispatch goes on at once on the running context") {
  asio::io_context context;
  trace words;
  asio::post(context, [&] {
    asio::dispatch(asio::bind_executor(context, [&] { words << "dispatch"; }));
    words << "end";
  });
  context.run();
  return words;
}

/// Counts what is allocated with it.
template <class T>
struct counting_allocator {
  using value_type = T;
  trace* words;
  int* live;

  explicit counting_allocator(trace& w, int& n) : words(&w), live(&n) {}
  template <class U>
  counting_allocator(const counting_allocator<U>& other) : words(other.words), live(other.live) {}
  T* allocate(std::size_t n) {
    ++*live;
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* p, std::size_t n) {
    --*live;
    std::allocator<T>().deallocate(p, n);
  }
  template <class U>
  bool operator==(const counting_allocator<U>& other) const {
    return live == other.live;
  }
};
/// A handler with an allocator, which says how many blocks are live when it is called.
struct counting_handler {
  using allocator_type = counting_allocator<void>;
  trace* words;
  int* live;
  allocator_type get_allocator() const { return allocator_type(*words, *live); }
  void operator()() const { *words << *live; }
  void operator()(asio::error_code) const { *words << *live; }
  void operator()(asio::error_code, std::size_t) const { *words << *live; }
};

ROW("memory: of a post, freed before the handler is called") {
  asio::io_context context;
  trace words;
  int live = 0;
  asio::post(context, counting_handler{&words, &live});
  words << (live > 0);
  context.run();
  return words;
}
ROW("memory: of a wait, freed before the handler is called") {
  asio::io_context context;
  trace words;
  int live = 0;
  steady_timer timer(context, 1ms);
  timer.async_wait(counting_handler{&words, &live});
  words << (live > 0);
  context.run();
  return words;
}
ROW("memory: of a composed write, freed before the handler is called") {
  asio::io_context context;
  local_pair pair(context);
  trace words;
  int live = 0;
  asio::async_write(pair.near, asio::buffer("x", 1), counting_handler{&words, &live});
  words << (live > 0);
  context.run();
  return words;
}
ROW("memory: of a wait that never ends, freed with the context") {
  trace words;
  int live = 0;
  {
    asio::io_context context;
    steady_timer timer(context, 1h);
    timer.async_wait(counting_handler{&words, &live});
    words << (live > 0);
  }
  words << live;
  return words;
}
/// Counts its copies.
struct copies {
  int* count;
  explicit copies(int& n) : count(&n) {}
  copies(const copies& other) : count(other.count) { ++*count; }
  copies(copies&& other) noexcept : count(other.count) {}
  void operator()() const {}
  void operator()(asio::error_code) const {}
  void operator()(asio::error_code, std::size_t) const {}
};
ROW("handler: a moved one is never copied") {
  asio::io_context context;
  local_pair pair(context);
  int count = 0;
  steady_timer timer(context, -1s);
  asio::post(context, copies(count));
  asio::dispatch(context, copies(count));
  timer.async_wait(copies(count));
  asio::async_write(pair.near, asio::buffer("x", 1), copies(count));
  context.run();
  return line(count);
}
ROW("handler: one that can only be moved") {
  asio::io_context context;
  local_pair pair(context);
  trace words;
  auto number = [] { return std::make_unique<int>(5); };
  asio::post(context, [&, n = number()] { words << *n; });
  asio::async_write(pair.near, asio::buffer("x", 1),
                    [&, n = number()](asio::error_code, std::size_t) { words << *n; });
  context.run();
  return words;
}
ROW("handler: what it owns ends behind the call") {
  asio::io_context context;
  trace words;
  auto owned = std::make_shared<int>(1);
  std::weak_ptr<int> watch = owned;
  steady_timer timer(context, -1s);
  timer.async_wait(
      [&words, watch, owned = std::move(owned)](asio::error_code) { words << watch.use_count(); });
  words << watch.use_count();
  context.run();
  words << watch.use_count();
  return words;
}

ROW("use_future: a value, no value, and an error") {
  asio::io_context context;
  local_pair pair(context);
  char data[4];
  pair.far.write_some(asio::buffer("abc", 3));
  auto n = pair.near.async_read_some(asio::buffer(data), asio::use_future);
  steady_timer timer(context, -1s);
  auto waited = timer.async_wait(asio::use_future);
  asio::ip::tcp::socket closed(context);
  auto failed = closed.async_read_some(asio::buffer(data), asio::use_future);
  context.run();
  waited.get();
  return line(n.get(), thrown_by([&] { failed.get(); }));
}
ROW("use_future: a destroyed context") {
  std::future<void> waited;
  {
    asio::io_context context;
    steady_timer timer(context, 1h);
    waited = timer.async_wait(asio::use_future);
  }
  return thrown_by([&] { waited.get(); });
}
ROW("use_future: of post") {
  asio::io_context context;
  auto done = asio::post(context, asio::use_future);
  context.run();
  return thrown_by([&] { done.get(); });
}
ROW("use_future: a packaged function") {
  asio::io_context context;
  auto sum = asio::post(context, asio::use_future([] { return 5; }));
  auto failed =
      asio::post(context, asio::use_future([]() -> int { throw std::runtime_error("no"); }));
  context.run();
  return line(sum.get(), thrown_by([&] { failed.get(); }));
}

/// A composed operation of two waits.
template <class Token>
auto wait_twice(steady_timer& timer, trace& words, Token&& token) {
  return asio::async_compose<Token, void(asio::error_code, int)>(
      [&, step = 0](auto& self, asio::error_code ec = {}) mutable {
        words << ("step" + std::to_string(step));
        if (ec || step == 2) {
          self.complete(ec, step);
          return;
        }
        ++step;
        timer.expires_after(1ms);
        timer.async_wait(std::move(self));
      },
      token, timer);
}
ROW("async_compose: steps and the result") {
  asio::io_context context;
  trace words;
  steady_timer timer(context);
  wait_twice(timer, words, [&](asio::error_code ec, int n) { words << ec << n; });
  words << "started";
  context.run();
  return words;
}
ROW("async_compose: the handler's executor runs the steps") {
  asio::io_context context;
  auto strand = asio::make_strand(context);
  trace words;
  steady_timer timer(context, 1ms);
  auto operation = [&, begun = false](auto& self, asio::error_code ec = {}) mutable {
    if (begun) {
      words << strand.running_in_this_thread();
      self.complete(ec);
      return;
    }
    begun = true;
    timer.async_wait(std::move(self));
  };
  auto handler = asio::bind_executor(
      strand, [&](asio::error_code) { words << strand.running_in_this_thread(); });
  asio::async_compose<decltype(handler), void(asio::error_code)>(operation, handler, timer);
  context.run();
  return words;
}
ROW("async_initiate: a handler that is called later") {
  asio::io_context context;
  trace words;
  auto token = [&](int n) { words << n; };
  asio::async_initiate<decltype(token), void(int)>(
      [&](auto handler) { asio::post(context, [h = std::move(handler)]() mutable { h(5); }); },
      token);
  words << "started";
  context.run();
  return words;
}
ROW("tokens: redirect_error of a callback") {
  asio::io_context context;
  asio::ip::tcp::socket closed(context);
  char data[4];
  asio::error_code ec;
  trace words;
  closed.async_read_some(asio::buffer(data),
                         asio::redirect_error([&](std::size_t n) { words << n; }, ec));
  context.run();
  words << ec;
  return words;
}
ROW("tokens: as_tuple of a callback") {
  asio::io_context context;
  asio::ip::tcp::socket closed(context);
  char data[4];
  trace words;
  closed.async_read_some(asio::buffer(data), asio::experimental::as_tuple(
                                                 [&](std::tuple<asio::error_code, std::size_t> t) {
                                                   words << std::get<0>(t) << std::get<1>(t);
                                                 }));
  context.run();
  return words;
}
ROW("tokens: detached of an operation with an error") {
  asio::io_context context;
  asio::ip::tcp::socket closed(context);
  char data[4];
  closed.async_read_some(asio::buffer(data), asio::detached);
  return thrown_by([&] { context.run(); });
}

}  // namespace semantics::executors
