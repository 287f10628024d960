// SPDX-License-Identifier: BSL-1.0
// generator<T>: a lazy range of values, references or things that only move; exceptions, nesting
// and early ends.
#include <doctest/doctest.h>
#include <beck/coro/generator.hpp>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/small_stack.hpp"

using beck::elements_of;
using beck::generator;

static_assert(std::ranges::input_range<generator<int>>);
static_assert(std::ranges::input_range<generator<std::string&>>);
static_assert(std::is_same_v<std::ranges::range_reference_t<generator<int>>, int&&>);
static_assert(std::is_same_v<std::ranges::range_reference_t<generator<const int&>>, const int&>);
static_assert(!std::is_copy_constructible_v<generator<int>>);

namespace {

generator<int> count(int from, int to) {
  for (int i = from; i < to; ++i) co_yield i;
}
generator<int> nothing() { co_return; }
generator<int> fails_after(int elements) {
  for (int i = 0; i < elements; ++i) co_yield i;
  throw std::runtime_error("over");
}
generator<int> nested(int depth) {
  if (depth > 0) {
    co_yield depth;
    co_yield elements_of(nested(depth - 1));
  }
}
std::vector<int> all(generator<int> range) {
  std::vector<int> elements;
  for (const int one : range) elements.push_back(one);
  return elements;
}

}  // namespace

TEST_CASE("a generator gives what it yields, and nothing is computed before it is asked for") {
  CHECK(all(count(1, 5)) == std::vector{1, 2, 3, 4});
  CHECK(all(nothing()).empty());
  int steps = 0;
  const auto counting = [&]() -> generator<int> {
    for (;;) co_yield ++steps;
  };
  auto endless = counting();
  CHECK(steps == 0);
  for (const int one : endless) {
    if (one == 3) break;
  }
  CHECK(steps == 3);
}

TEST_CASE("lvalues are copied, rvalues are moved out, references are the objects themselves") {
  std::string kept = "kept";
  const auto values = [&]() -> generator<std::string> {
    co_yield kept;
    co_yield std::string("moved");
    const std::string constant = "constant";
    co_yield constant;
  };
  std::vector<std::string> out;
  for (auto&& text : values()) out.push_back(std::move(text));
  CHECK(out == std::vector<std::string>{"kept", "moved", "constant"});
  CHECK(kept == "kept");
  const auto references = [&]() -> generator<std::string&> { co_yield kept; };
  for (std::string& text : references()) text = "changed";
  CHECK(kept == "changed");
  const auto owners = []() -> generator<std::unique_ptr<int>> {
    co_yield std::make_unique<int>(1);
    co_yield std::make_unique<int>(2);
  };
  int sum = 0;
  for (std::unique_ptr<int> one : owners()) sum += *one;
  CHECK(sum == 3);
}

TEST_CASE("an exception comes out of begin or of the next step") {
  auto at_once = fails_after(0);
  CHECK_THROWS_AS(at_once.begin(), std::runtime_error);
  auto later = fails_after(2);
  auto it = later.begin();
  ++it;
  CHECK(*it == 1);
  CHECK_THROWS_AS(++it, std::runtime_error);
  CHECK(it == later.end());
}

TEST_CASE("the elements of another generator stand in for one's own") {
  const auto both = []() -> generator<int> {
    co_yield 0;
    co_yield elements_of(count(1, 3));
    co_yield elements_of(nothing());
    co_yield elements_of(count(3, 5));
    co_yield 5;
  };
  CHECK(all(both()) == std::vector{0, 1, 2, 3, 4, 5});
  const auto catching = []() -> generator<int> {
    bool caught = false;
    try {
      co_yield elements_of(fails_after(1));
    } catch (const std::runtime_error&) {
      caught = true;
    }
    if (caught) co_yield 7;
  };
  CHECK(all(catching()) == std::vector{0, 7});
}

TEST_CASE("nested generators cost no stack while they run") {
  beck::test::on_stack(256u << 10, [] {
    int expected = 500;
    for (const int one : nested(500)) CHECK(one == expected--);
    CHECK(expected == 0);
  });
}

TEST_CASE("a generator that is dropped half way destroys what it holds") {
  const auto witness = std::make_shared<int>(0);
  const auto holding = [](std::shared_ptr<int> held) -> generator<int> {
    for (;;) co_yield static_cast<int>(held.use_count());
  };
  {
    auto range = holding(witness);
    auto it = range.begin();
    CHECK(*it == 2);
    auto moved = std::move(range);
    ++it;
    CHECK(*it == 2);
  }
  CHECK(witness.use_count() == 1);
}

TEST_CASE("generators work with the views of the standard library") {
  auto numbers = count(1, 100);
  auto squares = std::views::all(std::move(numbers)) |
                 std::views::transform([](int n) { return n * n; }) | std::views::take(4);
  std::vector<int> out;
  for (const int one : squares) out.push_back(one);
  CHECK(out == std::vector{1, 4, 9, 16});
}
