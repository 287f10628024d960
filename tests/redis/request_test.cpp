// SPDX-License-Identifier: BSL-1.0
// Commands as bytes: every kind of argument, limits at the limit and one more, reuse.
#include <beck/redis/request.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <new>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <beck/redis/command.hpp>
#include <beck/redis/error.hpp>

#include "support/allocations.hpp"

using namespace beck::redis;
using beck::errc;

namespace {

/// Returns the command written plainly.
std::string wire_of(const std::vector<std::string>& texts) {
  std::string wire = "*" + std::to_string(texts.size()) + "\r\n";
  for (const std::string& text : texts)
    wire += "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
  return wire;
}

template <class... Args>
std::string pushed(const Args&... args) {
  request q;
  q.push(args...);
  return std::string(q.bytes());
}

}  // namespace

TEST_CASE("redis: a command is an array of its arguments behind their lengths") {
  CHECK(pushed("PING") == "*1\r\n$4\r\nPING\r\n");
  CHECK(pushed("GET", "key") == "*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n");
  CHECK(pushed("SET", std::string("k"), std::string_view("")) == wire_of({"SET", "k", ""}));
  const std::string any("\r\n$5\r\n\0\xff*1", 10);
  CHECK(pushed("SET", any, any) == wire_of({"SET", any, any}));
  CHECK(pushed("ECHO", std::string(12345, 'x')) == wire_of({"ECHO", std::string(12345, 'x')}));
  request many;
  const std::vector<int> numbers(12, 7);
  many.push_range("SADD", "k", numbers);
  CHECK(many.bytes().substr(0, 5) == "*14\r\n");
}

TEST_CASE("redis: numbers are written with the fewest digits that are read as the same") {
  CHECK(pushed("X", 0, -1, 42U, std::int8_t{-128}, std::uint8_t{255}) ==
        wire_of({"X", "0", "-1", "42", "-128", "255"}));
  CHECK(pushed("X", std::numeric_limits<std::int64_t>::min(),
               std::numeric_limits<std::uint64_t>::max()) ==
        wire_of({"X", "-9223372036854775808", "18446744073709551615"}));
  CHECK(pushed("X", 0.1, 0.1F, 1e300, -2.5, 3.0) ==
        wire_of({"X", "0.1", "0.1", "1e+300", "-2.5", "3"}));
  CHECK(pushed("X", std::numeric_limits<double>::infinity(), -1.7976931348623157e308) ==
        wire_of({"X", "inf", "-1.7976931348623157e+308"}));
  CHECK(pushed("X", true, false, 'c') == wire_of({"X", "1", "0", "c"}));
}

TEST_CASE("redis: a request or command that was moved from is empty and can be filled again") {
  request q;
  q.push("SET", key(std::string("k")), std::string(200, 'x'));
  request taken(std::move(q));
  CHECK(q.empty());
  CHECK(q.bytes().empty());
  CHECK(q.begin() == q.end());
  q.push("GET", "k");
  CHECK(q.bytes() == wire_of({"GET", "k"}));
  CHECK(q.size() == 1);
  CHECK((*taken.begin()).is_marked(1));
  taken = std::move(q);
  CHECK(taken.bytes() == wire_of({"GET", "k"}));
  CHECK(q.push("PING").bytes() == wire_of({"PING"}));

  request refused(request_limits{.argument_bytes = 1});
  refused.push("GET");
  const request error(std::move(refused));
  CHECK(error.error());
  CHECK_FALSE(refused.error());
  CHECK(refused.push("G").bytes() == wire_of({"G"}));

  for (const std::size_t bytes : {3U, 300U}) {
    auto c = cmd<long>("SET", "k", std::string(bytes, 'x'));
    const auto other(std::move(c));
    CHECK(c.bytes().empty());
    CHECK(other.arguments()[2].size() == bytes);
  }
}

TEST_CASE("redis: bytes, pairs and ranges are arguments") {
  const std::vector<std::byte> bytes{std::byte{0}, std::byte{13}, std::byte{255}};
  const std::string same("\0\r\xff", 3);
  CHECK(pushed("SET", "k", bytes) == wire_of({"SET", "k", same}));
  CHECK(pushed("SET", "k", beck::const_buffer(same.data(), same.size())) ==
        wire_of({"SET", "k", same}));
  CHECK(pushed("SET", "k", std::span(bytes)) == wire_of({"SET", "k", same}));
  const std::map<std::string, int> fields{{"a", 1}, {"b", 2}};
  CHECK(pushed("HSET", "k", each(fields)) == wire_of({"HSET", "k", "a", "1", "b", "2"}));
  CHECK(pushed("X", each(fields), "between", each(std::vector<std::string>{"p", "q"})) ==
        wire_of({"X", "a", "1", "b", "2", "between", "p", "q"}));
  request q;
  q.push_range("MSET", fields).push_range("DEL", std::vector<std::string>());
  CHECK(q.bytes() == wire_of({"MSET", "a", "1", "b", "2"}) + wire_of({"DEL"}));
  CHECK(q.size() == 2);
}

TEST_CASE("redis: a request returns its commands, with the arguments that are marked as keys") {
  request q;
  q.push("A", 1).push("JSON.GET", key("k1"), "$", key(7)).push("B");
  request more;
  more.push("C", key("k2"));
  q.append(more).append(q);
  CHECK(q.size() == 8);
  std::string said;
  for (const arguments command : q) {
    for (std::size_t i = 0; i < command.size(); ++i) {
      said += command.is_marked(i) ? "!" : " ";
      said += command[i];
    }
    said += ";";
  }
  const std::string once = " A 1; JSON.GET!k1 $!7; B; C!k2;";
  CHECK(said == once + once);
  CHECK((*q.begin())[1] == "1");
  CHECK((*q.begin()).wire() == wire_of({"A", "1"}));
}

TEST_CASE("redis: arguments are read in any order, from texts and from the wire") {
  request q;
  q.push("a", "bb", "", "dddd");
  const arguments wire(q.bytes());
  const std::string_view texts[] = {"a", "bb", "", "dddd"};
  const arguments same(texts, 4);
  for (const std::size_t i : {3U, 0U, 2U, 1U, 1U, 3U}) {
    CHECK(wire[i] == texts[i]);
    CHECK(same[i] == texts[i]);
  }
  CHECK(wire.wire() == q.bytes());
  CHECK(same.wire().empty());
}

TEST_CASE("redis: a command over a limit is not added, and the error names value and limit") {
  request two(request_limits{.arguments = 3});
  two.push("MGET", "a", "b");
  CHECK_FALSE(two.error());
  two.push("MGET", "a", "b", "c");
  CHECK(two.error() == error::request_too_large);
  CHECK(two.error() == errc::message_size);
  CHECK(two.error_text() == "a command of 4 arguments; at most 3");
  two.push("PING");
  CHECK(two.size() == 1);
  CHECK(two.bytes() == wire_of({"MGET", "a", "b"}));
  request other;
  other.append(two);
  CHECK(other.error() == error::request_too_large);
  two.clear();
  CHECK_FALSE(two.error());
  CHECK(two.push("PING").size() == 1);

  request argument(request_limits{.argument_bytes = 10});
  CHECK_FALSE(argument.push("SET", "k", std::string(10, 'x')).error());
  CHECK(argument.push("SET", "k", std::string(11, 'x')).error() == error::request_too_large);
  CHECK(argument.error_text() == "an argument of 11 bytes; at most 10");

  const std::string get = wire_of({"GET", "k"});
  request all(request_limits{.request_bytes = 2 * get.size()});
  CHECK_FALSE(all.push("GET", "k").push("GET", "k").error());
  CHECK(all.push("GET", "k").error() == error::request_too_large);
  CHECK(all.size() == 2);
  CHECK(all.bytes() == get + get);
}

TEST_CASE("redis: a command that throws while it is written leaves the request as it was") {
  struct thrower {
    struct end_mark {};
    struct iterator {
      int at = 0;
      int* rounds;
      int operator*() const {
        if (*rounds == 2 && at == 1) throw std::runtime_error("iterator");
        return at;
      }
      iterator& operator++() {
        if (++at == 2) ++*rounds;
        return *this;
      }
      bool operator!=(end_mark) const { return at != 2; }
    };
    iterator begin() const { return {0, &rounds}; }
    end_mark end() const { return {}; }
    mutable int rounds = 1;
  };
  request q;
  q.push("GET", "k");
  const std::string before(q.bytes());
  CHECK_THROWS_AS(q.push("X", key("gone"), each(thrower())), std::runtime_error);
  CHECK(q.bytes() == before);
  CHECK(q.size() == 1);
  q.push("Y", "z");
  CHECK(q.bytes() == before + wire_of({"Y", "z"}));
  for (const arguments command : q) CHECK(command.mark_count() == 0);
}

TEST_CASE("redis: a request that cannot be copied into another one leaves that one empty") {
  NEEDS_ALLOCATION_FAULTS();
  request from;
  for (int i = 0; i < 100; ++i) from.push("SET", key("key"), i);
  int faults = 0;
  for (int n = 1;; ++n) {
    request to;
    to.push("GET", key("k"));
    bool fired = false;
    {
      beck::test::allocation_fault fault(n);
      try {
        to = from;
      } catch (const std::bad_alloc&) {
        fired = true;
      }
    }
    CHECK(to.size() == (fired ? 0 : from.size()));
    to.push("GET", "next");
    const std::string before(fired ? std::string_view() : from.bytes());
    CHECK(to.bytes() == before + wire_of({"GET", "next"}));
    if (!fired) break;
    ++faults;
  }
  CHECK(faults == 2);  // the bytes, and the marks
}

TEST_CASE("redis: a request that is filled again allocates nothing") {
  if (!beck::test::counts_allocations()) SKIP_CASE("this build has an operator new of its own");
  request q;
  const auto fill = [&q] {
    for (int i = 0; i < 100; ++i) q.push("SET", key("key"), i, 0.5);
  };
  fill();
  q.clear();
  const std::uint64_t before = beck::test::allocations();
  fill();
  CHECK(beck::test::allocations() == before);
  CHECK(q.size() == 100);
}

TEST_CASE("redis: stores copy and move, within their room and outside of it") {
  for (const std::size_t size : {0U, 5U, 8U, 9U, 1000U}) {
    detail::small_store<8> from;
    from.append(std::string(size, 'x'));
    detail::small_store<8> copy(from);
    CHECK(copy.view() == std::string(size, 'x'));
    detail::small_store<8> moved(std::move(copy));
    CHECK(moved.view() == std::string(size, 'x'));
    CHECK(copy.size() == 0);
    copy.append("z");
    CHECK(copy.view() == "z");
    detail::small_store<8> assigned;
    assigned.append("something else that is longer");
    assigned = from;
    CHECK(assigned.view() == from.view());
    assigned.append("y");
    from = std::move(assigned);
    CHECK(from.view() == std::string(size, 'x') + "y");
    from.truncate(0);
    from.release();
    CHECK(from.capacity() == 8);
  }
}
