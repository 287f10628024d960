// SPDX-License-Identifier: BSL-1.0
// Executors as Asio's programs name them: their properties, inline executors, the system's, and
// io_context::strand.
#include <doctest/doctest.h>
#include <stdlib.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <asio.hpp>
#include <asio/inline_executor.hpp>
#include <asio/inline_or_executor.hpp>

#include "support/conformance.hpp"
#include "support/context_options.hpp"

namespace executor_test {

using asio::execution::allocator;
using asio::execution::blocking;
using asio::execution::inline_exception_handling;
using asio::execution::mapping;
using asio::execution::outstanding_work;
using asio::execution::relationship;

/// An executor of a program.
struct counting_executor {
  int* count;
  template <class F>
  void execute(F&& function) const {
    ++*count;
    std::forward<F>(function)();
  }
  friend bool operator==(const counting_executor&, const counting_executor&) = default;
};

template <class Executor>
void check_usual_properties(const Executor& executor) {
  CHECK(asio::query(executor, blocking) == blocking.possibly);
  CHECK(asio::query(executor, blocking.never) == blocking.possibly);
  CHECK(asio::query(executor, outstanding_work) == outstanding_work.untracked);
  CHECK(asio::query(executor, relationship) == relationship.fork);
  CHECK(asio::query(executor, mapping) == mapping.thread);
  CHECK(asio::query(executor, allocator) == std::allocator<void>());
}

}  // namespace executor_test
using namespace executor_test;

// Libraries name these types: Boost.MQTT5, Boost.Redis.
static_assert(
    std::is_same_v<asio::prefer_result<asio::any_io_executor,
                                       asio::execution::outstanding_work_t::tracked_t>::type,
                   decltype(asio::prefer(std::declval<const asio::any_io_executor&>(),
                                         asio::execution::outstanding_work.tracked))>);
static_assert(std::is_same_v<asio::ip::basic_resolver<asio::ip::tcp, asio::any_io_executor>,
                             asio::ip::tcp::resolver>);

CONFORMANCE("asio: executors answer for their properties") {
  asio::io_context context(context_options());
  const auto own = context.get_executor();
  check_usual_properties(own);
  check_usual_properties(asio::make_strand(context));
  check_usual_properties(asio::any_io_executor(own));
  CHECK(&asio::query(own, asio::execution::context) == &context);
  CHECK(asio::query(own, inline_exception_handling) == inline_exception_handling.capture);
  CHECK(asio::query(asio::require(own, blocking.never), blocking) == blocking.never);
  CHECK(asio::query(asio::require(own, blocking.always), blocking) == blocking.always);
  const auto tracked = asio::require(own, outstanding_work.tracked);
  CHECK(asio::query(tracked, outstanding_work) == outstanding_work.tracked);
  CHECK(asio::require(own, allocator(std::allocator<int>())) == own);
  CHECK(blocking.never != asio::query(own, blocking));
}

CONFORMANCE("asio: a handler on the system's executor runs where its operation completes") {
  asio::io_context context(context_options());
  const asio::system_executor system;
  std::thread::id ran_on;
  const auto note = [&] { ran_on = std::this_thread::get_id(); };
  asio::dispatch(system, note);
  CHECK(ran_on == std::this_thread::get_id());
  ran_on = {};
  asio::post(context, asio::bind_executor(system, note));
  context.run();
  CHECK(ran_on == std::this_thread::get_id());
  ran_on = {};
  asio::any_io_executor(system).execute(note);
  CHECK(ran_on == std::this_thread::get_id());
  CHECK(asio::query(system, inline_exception_handling) == inline_exception_handling.terminate);
}

CONFORMANCE("asio: inline_or runs at once, and on the other executor where it must not") {
  asio::io_context context(context_options());
  int count = 0;
  const auto increment = [&] { ++count; };
  const auto executor = asio::inline_or(context);
  executor.execute(increment);
  asio::require(executor, blocking.always).execute(increment);
  CHECK(count == 2);
  asio::require(executor, blocking.never).execute(increment);
  CHECK(count == 2);
  context.run();
  CHECK(count == 3);
  CHECK(asio::query(executor, blocking) == blocking.always);
  CHECK(&asio::query(executor, asio::execution::context) == &context);
  const asio::inline_or_executor<asio::any_io_executor> general = executor;
  CHECK(general == asio::inline_or(asio::any_io_executor(context.get_executor())));
}

TEST_CASE("asio: inline_executor passes exceptions on, in one of its two forms") {
  const asio::inline_executor executor;
  CHECK_THROWS_AS(executor.execute([] { throw std::runtime_error("thrown"); }), std::runtime_error);
  CHECK(asio::query(executor, inline_exception_handling) == inline_exception_handling.propagate);
  const auto terminates = asio::require(executor, inline_exception_handling.terminate);
  CHECK(asio::query(terminates, inline_exception_handling) == inline_exception_handling.terminate);
  static_assert(noexcept(terminates.execute([] {})));
  CHECK(asio::require(terminates, inline_exception_handling.propagate) == executor);
}

namespace executor_test {

/// An executor of a program that is made from an any_io_executor.
class forwarding_executor {
 public:
  explicit forwarding_executor(asio::any_io_executor inner) : inner_(std::move(inner)) {}
  template <class F>
  void execute(F&& function) const {
    inner_.execute(std::forward<F>(function));
  }
  bool operator==(const forwarding_executor&) const = default;

 private:
  asio::any_io_executor inner_;
};

}  // namespace executor_test

CONFORMANCE("asio: an executor of a program may be made from an any_io_executor") {
  asio::io_context context(context_options());
  const asio::any_io_executor executor = forwarding_executor(context.get_executor());
  bool has_run = false;
  asio::post(executor, [&] { has_run = true; });
  context.run();
  CHECK(has_run);
  CHECK(executor == asio::any_io_executor(forwarding_executor(context.get_executor())));
}

CONFORMANCE("asio: any_io_executor may be empty, and tells what is inside") {
  asio::io_context context(context_options());
  int count = 0;
  asio::any_io_executor a(nullptr);
  asio::any_io_executor b(std::nothrow, counting_executor{&count});
  CHECK(a == nullptr);
  CHECK(a.target<void>() == nullptr);
  CHECK(b.target<counting_executor>()->count == &count);
  CHECK(b.target<asio::inline_executor>() == nullptr);
  asio::execution::swap(a, b);
  CHECK(b == nullptr);
  a.execute([] {});
  CHECK(count == 1);
  b = context.get_executor();
  CHECK(b.target<void>() != nullptr);
  CHECK(b.target<counting_executor>() == nullptr);
  b = nullptr;
  CHECK(b == asio::any_io_executor());
}

CONFORMANCE("asio: io_context::strand has members in the place of functions") {
  asio::io_context context(context_options());
  asio::io_context::strand strand(context);
  std::string order;
  strand.post([&] {
    CHECK(strand.running_in_this_thread());
    strand.dispatch([&] { order += 'a'; });
    strand.defer([&] { order += 'c'; });
    order += 'b';
  });
  strand.wrap([&](char c) { order += c; })('d');
  CHECK(order.empty());
  context.run();
  CHECK(order.substr(0, 2) == "ab");
  CHECK(order.size() == 4);
  CHECK(&strand.context() == &context);
  asio::steady_timer timer(context, std::chrono::nanoseconds(0));
  bool inside = false;
  timer.async_wait(asio::bind_executor(
      strand, [&](asio::error_code) { inside = strand.running_in_this_thread(); }));
  context.restart();
  context.run();
  CHECK(inside);
}

namespace executor_test {

/// A container of a library that is older than data().
struct old_container {
  using value_type = short;
  std::array<short, 4> elements{};
  short* begin() { return elements.data(); }
  const short* begin() const { return elements.data(); }
  std::size_t size() const { return elements.size(); }
};

}  // namespace executor_test

TEST_CASE("asio: a growing buffer is made from a string, as a member of a class would") {
  std::string text = "abc";
  using buffer_type =
      asio::dynamic_string_buffer<char, std::char_traits<char>, std::allocator<char>>;
  buffer_type bounded{text, 4};
  CHECK(bounded.size() == 3);
  CHECK(bounded.max_size() == 4);
  CHECK_THROWS_AS(bounded.prepare(2), std::length_error);
  bounded.consume(3);
  CHECK(text.empty());
}

TEST_CASE("asio: buffers of spans and of containers without data()") {
  std::array<int, 3> numbers{};
  const std::span<int, 3> span(numbers);
  CHECK(asio::mutable_buffer(span).size() == 3 * sizeof(int));
  CHECK(asio::const_buffer(std::span<const int>(numbers)).data() == numbers.data());
  old_container old;
  CHECK(asio::buffer(old).size() == 8);
  CHECK(asio::buffer(old, 5).size() == 5);
  static_assert(std::is_same_v<decltype(asio::buffer(old)), asio::mutable_buffer>);
  static_assert(std::is_same_v<decltype(asio::buffer(std::declval<const old_container&>())),
                               asio::const_buffer>);
}

CONFORMANCE("asio: executors have post, dispatch and defer with an allocator as members") {
  asio::io_context context;
  const auto executor = context.get_executor();
  const auto strand = asio::make_strand(context);
  const std::allocator<void> memory;
  std::string order;
  executor.dispatch([&] { order += 'a'; }, memory);
  executor.post(
      [&] {
        executor.dispatch([&] { order += 'b'; }, memory);
        order += 'c';
      },
      memory);
  strand.post(
      [&] {
        strand.dispatch([&] { order += 'd'; }, asio::get_associated_allocator(strand));
        strand.defer([&] { order += 'f'; }, memory);
        order += 'e';
      },
      memory);
  CHECK(order.empty());
  context.run();
  CHECK(order == "abcdef");
}

TEST_CASE("asio: the executor of a pool has them, too") {
  asio::thread_pool pool(1);
  int calls = 0;
  pool.get_executor().post([&] { ++calls; }, std::allocator<void>());
  pool.get_executor().defer([&] { ++calls; }, std::allocator<void>());
  pool.join();
  CHECK(calls == 2);
}

TEST_CASE("asio: a context for several threads runs on the backend of BECK_BACKEND") {
  const char* const before = std::getenv("BECK_BACKEND");
  const std::string kept = before == nullptr ? "" : before;
  for (const char* const name : {"epoll", "io_uring"}) {
    ::setenv("BECK_BACKEND", name, 1);
    try {
      asio::io_context context(2);
      CHECK(std::string(beck::to_string(context.backend_in_use())) == name);
      std::atomic<int> calls = 0;
      for (int i = 0; i < 100; ++i) asio::post(context, [&] { ++calls; });
      std::thread other([&] { context.run(); });
      context.run();
      other.join();
      CHECK(calls == 100);
    } catch (const asio::system_error& refused) {
      // Not because of the threads: the kernel has no rings.
      CHECK(std::string(refused.what()).find("threads") == std::string::npos);
    }
  }
  if (before == nullptr) {
    ::unsetenv("BECK_BACKEND");
  } else {
    ::setenv("BECK_BACKEND", kept.c_str(), 1);
  }
}
