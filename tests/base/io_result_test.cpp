// SPDX-License-Identifier: BSL-1.0
//
// What every operation gives. The static_asserts keep it out of reach of known compiler defects.
#include <doctest/doctest.h>

#include <beck/base/io_result.hpp>
#include <memory>
#include <ostream>
#include <string>

namespace {

using beck::io_result;

static_assert(!std::is_aggregate_v<io_result<>>);
static_assert(!std::is_aggregate_v<io_result<int>>);
static_assert(!std::is_aggregate_v<io_result<int, int>>);
static_assert(sizeof(io_result<std::size_t>) == 32);
static_assert(std::is_trivially_copyable_v<io_result<std::size_t>>);
static_assert(std::is_same_v<decltype(std::declval<io_result<int>>().value()), int>);
static_assert(std::is_same_v<decltype(std::declval<io_result<int>&>().value()), int>);
template <class R>
concept copies_value = requires(R& r) { r.value(); };
static_assert(!copies_value<io_result<std::unique_ptr<int>>>);

TEST_CASE("a result is true when there is no error") {
  CHECK(io_result<>());
  CHECK(!io_result<>(beck::error::eof));
  CHECK(io_result<int>({}, 3));
  CHECK(!io_result<int>(beck::error::eof, 3));
  CHECK(!io_result<int, int>(beck::error::eof, 3, 4));
}

TEST_CASE("structured bindings give the error first, then the values, also after a failure") {
  auto [ec, n] = io_result<std::size_t>(beck::error::connection_reset, 7);
  CHECK(ec == beck::error::connection_reset);
  CHECK(n == 7);
  auto [ec2, a, b] = io_result<int, char>({}, 1, 'x');
  CHECK(!ec2);
  CHECK(a == 1);
  CHECK(b == 'x');
  auto [ec0] = io_result<>(beck::error::eof);
  CHECK(ec0 == beck::error::eof);
}

TEST_CASE("value gives the value or throws the error") {
  CHECK(io_result<int>({}, 5).value() == 5);
  io_result<>().value();
  CHECK_THROWS_AS(io_result<>(beck::error::eof).value(), beck::io_error);
  CHECK_THROWS_AS(beck::ignore(io_result<int>(beck::error::eof, 5).value()), beck::io_error);
  const auto both = io_result<int, std::string>({}, 5, "five").value();
  CHECK(both.first == 5);
  CHECK(both.second == "five");
}

TEST_CASE("a thrown count of bytes is in the exception") {
  std::size_t seen = 0;
  try {
    beck::ignore(io_result<std::size_t>(beck::error::broken_pipe, 42).value());
  } catch (const beck::io_error& e) {
    seen = e.transferred();
  }
  CHECK(seen == 42);
  try {
    const io_result<std::size_t, int> pair(beck::error::broken_pipe, 43, 0);
    beck::ignore(pair.value());
  } catch (const beck::io_error& e) {
    seen = e.transferred();
  }
  CHECK(seen == 43);
}

TEST_CASE("what value throws names the operation, if the error does") {
  const beck::result_error refused(beck::error::connection_refused, "connect");
  CHECK_THROWS_WITH_AS(io_result<>(refused).value(), "connect: Connection refused", beck::io_error);
  CHECK_THROWS_WITH_AS(beck::ignore(io_result<int>(refused, 1).value()),
                       "connect: Connection refused", beck::io_error);
  CHECK_THROWS_WITH_AS(beck::ignore(io_result<int, int>(refused, 1, 2).value()),
                       "connect: Connection refused", beck::io_error);
  CHECK_THROWS_WITH_AS(beck::ignore(io_result<std::size_t>(refused, 5).value()),
                       "connect, after 5 bytes: Connection refused", beck::io_error);
  CHECK_THROWS_WITH_AS(io_result<>(beck::error::eof).value(), "End of file", beck::io_error);
}

TEST_CASE("a value that only moves is taken from a moved result") {
  io_result<std::unique_ptr<int>> r({}, std::make_unique<int>(9));
  CHECK(**r == 9);
  const std::unique_ptr<int> owned = std::move(r).value();
  CHECK(*owned == 9);
  CHECK(*r == nullptr);
}

TEST_CASE("star and arrow reach the value whether or not there is an error") {
  io_result<std::string> r(beck::error::eof, "partial");
  CHECK(*r == "partial");
  CHECK(r->size() == 7);
  const std::string moved = *std::move(r);
  CHECK(moved == "partial");
}

TEST_CASE("ignore takes lvalues and temporaries") {
  io_result<int> r({}, 1);
  beck::ignore(r);
  beck::ignore(io_result<int>({}, 1));
}

}  // namespace
