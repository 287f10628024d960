// SPDX-License-Identifier: BSL-1.0
// Reads replies into types of every shape, at every split and again after a clear, and compares the
// words of refusals.
#include <beck/redis/reader.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <new>
#include <optional>
#include <ostream>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include <beck/redis/command.hpp>

#include "support/allocations.hpp"

using namespace beck::redis;

namespace reader_test {

struct user {
  std::string name;
  int age = 0;
  std::vector<user> friends;
  friend bool operator==(const user&, const user&) = default;
};
void redis_fields(auto& f, user& u) {
  f("name", u.name);
  f("age", u.age);
  f("friends", u.friends);
}

/// A type whose default constructor fails when `failures` counts down to 0.
struct fragile {
  fragile() {
    if (failures != 0 && --failures == 0) throw std::runtime_error("no");
  }
  int n = 0;
  static inline int failures = 0;
};
void redis_fields(auto& f, fragile& to) { f("n", to.n); }

struct answers {
  reply<int> n;
};
void redis_fields(auto& f, answers& to) { f("n", to.n); }

}  // namespace reader_test

namespace {

using reader_test::answers;
using reader_test::fragile;
using reader_test::user;
using strings = std::vector<std::string>;

/// Feeds a reader; texts of 4 bytes and more come in parts where `cut` divides the input.
bool feed(reply_reader& reader, std::string_view wire, std::size_t cut,
          protocol version = protocol::resp3) {
  parse_limits limits;
  limits.whole_bytes = 4;
  reply_parser parser(limits, version);
  token tokens[4];
  bool is_complete = false;
  std::size_t begin = 0;
  for (const std::size_t end : {cut, wire.size()}) {
    for (;;) {
      const parsed found = parser.parse(wire.substr(begin, end - begin), tokens, 4);
      for (std::size_t i = 0; i < found.tokens; ++i) {
        REQUIRE_FALSE(is_complete);
        is_complete = reader.feed(tokens[i]);
      }
      begin += found.consumed;
      REQUIRE(found.outcome != parse_outcome::refused);
      if (found.outcome == parse_outcome::more) break;
    }
  }
  return is_complete && begin == wire.size();
}

/// Reads a reply at every split; requires the same each time, also by a reader that was interrupted
/// in the middle and cleared.
template <class T>
reply<T> read(const std::string& wire, const reply_limits& most = {}) {
  reply<T> whole;
  {
    reply_reader reader(whole, most);
    REQUIRE(feed(reader, wire, wire.size()));
  }
  reply<T> again;
  reply_reader reader(again, most);
  for (std::size_t cut = 0; cut <= wire.size(); ++cut) {
    parse_limits limits;
    limits.whole_bytes = 4;
    reply_parser parser(limits);
    token tokens[64];
    const parsed part = parser.parse(std::string_view(wire).substr(0, cut), tokens, 64);
    for (std::size_t i = 0; i < part.tokens; ++i) reader.feed(tokens[i]);
    reader.clear();  // the connection was lost
    REQUIRE(feed(reader, wire, cut));
    REQUIRE(again.error() == whole.error());
    REQUIRE(again.error_text() == whole.error_text());
    if constexpr (!std::is_void_v<T>) REQUIRE((whole.error() || *again == *whole));
    reader.clear();
  }
  return whole;
}

template <class T>
T good(const std::string& wire) {
  const reply<T> found = read<T>(wire);
  CHECK(found.error_text() == "");
  CHECK_FALSE(found.error());
  return *found;
}
template <class T>
std::string bad(const std::string& wire, error why = error::wrong_reply) {
  const reply<T> found = read<T>(wire);
  CHECK(found.error() == why);
  return std::string(found.error_text());
}

}  // namespace

TEST_CASE("redis: numbers are read from numbers and digits, within their range") {
  CHECK(good<int>(":42\r\n") == 42);
  CHECK(good<long>("$5\r\n-1234\r\n") == -1234);
  CHECK(good<std::int8_t>(":-128\r\n") == -128);
  CHECK(good<std::uint8_t>("$3\r\n255\r\n") == 255);
  CHECK(good<std::int64_t>(":-9223372036854775808\r\n") ==
        std::numeric_limits<std::int64_t>::min());
  CHECK(good<std::uint64_t>("+18446744073709551615\r\n") ==
        std::numeric_limits<std::uint64_t>::max());
  CHECK(bad<std::int8_t>(":128\r\n") ==
        "an integer of 8 bits was expected, and integer \"128\" came");
  CHECK(bad<std::uint16_t>(":65536\r\n").find("unsigned integer of 16 bits") == 3);
  CHECK(bad<unsigned>(":-1\r\n").find("\"-1\"") != std::string::npos);
  CHECK(bad<int>("$2\r\n1x\r\n").find("bulk_string \"1x\"") != std::string::npos);
  CHECK(bad<int>("$0\r\n\r\n") != "");
  CHECK(bad<int>(",1.5\r\n") != "");
  CHECK(bad<int>("#t\r\n") != "");
  CHECK(bad<int>("$500\r\n" + std::string(500, '1') + "\r\n") != "");
  CHECK(bad<int>("*1\r\n:1\r\n") == "an integer of 32 bits was expected, and array came");
  CHECK(good<double>(",1.5\r\n") == 1.5);
  CHECK(good<double>(":3\r\n") == 3.0);
  CHECK(good<float>("$4\r\n0.25\r\n") == 0.25F);
  CHECK(good<double>(",-inf\r\n") == -std::numeric_limits<double>::infinity());
  CHECK(bad<float>("$6\r\n1e1000\r\n") != "");
  CHECK(good<bool>("#t\r\n"));
  CHECK_FALSE(good<bool>(":0\r\n"));
  CHECK(good<bool>("$1\r\n1\r\n"));
  CHECK(bad<bool>(":2\r\n") == "a truth value was expected, and integer \"2\" came");
}

TEST_CASE("redis: a null is read into an optional, and refused by everything else") {
  CHECK(good<std::optional<std::string>>("$-1\r\n") == std::nullopt);
  CHECK(good<std::optional<std::string>>("$5\r\nhello\r\n") == "hello");
  CHECK(good<std::optional<strings>>("*-1\r\n") == std::nullopt);
  CHECK(good<std::vector<std::optional<int>>>("*3\r\n:1\r\n_\r\n:3\r\n") ==
        std::vector<std::optional<int>>{1, std::nullopt, 3});
  CHECK(bad<int>("_\r\n", error::null_reply) != "");
  CHECK(bad<std::string>("$-1\r\n", error::null_reply) != "");
  CHECK(bad<strings>("*-1\r\n", error::null_reply) != "");
  CHECK(bad<strings>("*2\r\n+a\r\n$-1\r\n", error::null_reply).find("element 2: ") == 0);
  good<value>("_\r\n");
  CHECK_FALSE(read<void>("_\r\n").error());
}

TEST_CASE("redis: texts are read whole and in parts") {
  const std::string any("\r\n\0\xff 12345", 10);
  CHECK(good<std::string>("$10\r\n" + any + "\r\n") == any);
  CHECK(good<std::string>("+OK\r\n") == "OK");
  CHECK(good<std::string>("=8\r\ntxt:text\r\n") == "text");
  CHECK(good<std::string>(":42\r\n") == "42");
  CHECK(good<std::string>("(123456789012345678901234567890\r\n").size() == 30);
  CHECK(good<std::string>("$?\r\n;3\r\nabc\r\n;2\r\nde\r\n;0\r\n") == "abcde");
  CHECK(good<std::vector<std::byte>>("$6\r\nabcdef\r\n").size() == 6);
  CHECK(good<std::vector<char>>("$6\r\nabcdef\r\n").back() == 'f');
  CHECK(bad<std::string>("*0\r\n") == "a text was expected, and array came");
  CHECK(bad<std::string>("#t\r\n") != "");
}

TEST_CASE("redis: sequences, sets, tuples and maps are read from both protocols") {
  CHECK(good<strings>("*2\r\n$6\r\nabcdef\r\n+g\r\n") == strings{"abcdef", "g"});
  CHECK(good<strings>("~1\r\n+a\r\n") == strings{"a"});
  CHECK(good<strings>("*0\r\n").empty());
  CHECK(good<strings>("%1\r\n+a\r\n+b\r\n") == strings{"a", "b"});
  CHECK(good<strings>("*?\r\n+a\r\n+b\r\n.\r\n") == strings{"a", "b"});
  CHECK(good<std::vector<bool>>("*3\r\n:1\r\n:0\r\n:1\r\n") ==
        std::vector<bool>{true, false, true});
  CHECK(good<std::list<std::deque<int>>>("*2\r\n*1\r\n:1\r\n*0\r\n") ==
        std::list<std::deque<int>>{{1}, {}});
  CHECK(good<std::set<std::string>>("*2\r\n$5\r\nabcde\r\n+a\r\n") ==
        std::set<std::string>{"a", "abcde"});
  using counts = std::map<std::string, int>;
  const counts both{{"a", 1}, {"bcdef", 2}};
  CHECK(good<counts>("%2\r\n+a\r\n:1\r\n$5\r\nbcdef\r\n:2\r\n") == both);
  CHECK(good<counts>("*4\r\n+a\r\n:1\r\n$5\r\nbcdef\r\n$1\r\n2\r\n") == both);
  CHECK(good<counts>("*2\r\n*2\r\n+a\r\n:1\r\n*2\r\n$5\r\nbcdef\r\n:2\r\n") == both);
  CHECK(good<counts>("%?\r\n+a\r\n:1\r\n$5\r\nbcdef\r\n:2\r\n.\r\n") == both);
  CHECK(good<std::unordered_map<std::string, strings>>("%1\r\n+a\r\n*1\r\n+b\r\n").at("a") ==
        strings{"b"});
  CHECK(good<std::multimap<int, int>>("*4\r\n:1\r\n:2\r\n:1\r\n:3\r\n").size() == 2);
  using scores = std::vector<std::pair<std::string, double>>;
  const scores two{{"a", 1.5}, {"b", 2}};
  CHECK(good<scores>("*4\r\n+a\r\n$3\r\n1.5\r\n+b\r\n$1\r\n2\r\n") == two);
  CHECK(good<scores>("*2\r\n*2\r\n+a\r\n,1.5\r\n*2\r\n+b\r\n,2\r\n") == two);
  CHECK(good<scores>("%2\r\n+a\r\n,1.5\r\n+b\r\n,2\r\n") == two);
  using mixed = std::tuple<int, std::string, strings>;
  CHECK(good<mixed>("*3\r\n:1\r\n$5\r\nabcde\r\n*1\r\n+c\r\n") == mixed(1, "abcde", {"c"}));
  CHECK(good<std::array<int, 2>>("*2\r\n:1\r\n:2\r\n") == std::array<int, 2>{1, 2});
}

TEST_CASE("redis: an odd number of keys and values, or of a tuple's elements, is refused") {
  using counts = std::map<std::string, int>;
  CHECK(bad<counts>("*3\r\n+a\r\n:1\r\n+b\r\n").find("odd number") != std::string::npos);
  CHECK(bad<counts>("*?\r\n+a\r\n:1\r\n+b\r\n.\r\n").find("odd number") != std::string::npos);
  CHECK(bad<counts>("*1\r\n*3\r\n+a\r\n:1\r\n:2\r\n") != "");
  CHECK(bad<counts>("*2\r\n*2\r\n+a\r\n:1\r\n+b\r\n") != "");
  CHECK(bad<counts>("*1\r\n*?\r\n+a\r\n.\r\n") != "");
  CHECK(bad<counts>(":1\r\n") == "a map was expected, and integer came");
  CHECK(bad<user>("*3\r\n+name\r\n+x\r\n+age\r\n").find("odd number") != std::string::npos);
  using scores = std::vector<std::pair<std::string, double>>;
  CHECK(bad<scores>("*3\r\n+a\r\n:1\r\n+b\r\n").find("odd number") != std::string::npos);
  using two = std::tuple<int, int>;
  CHECK(bad<two>("*3\r\n:1\r\n:2\r\n:3\r\n") == "an array of 2 was expected, and array of 3 came");
  CHECK(bad<two>("*0\r\n") == "an array of 2 was expected, and array of 0 came");
  CHECK(bad<two>("%2\r\n:1\r\n:2\r\n:3\r\n:4\r\n") ==
        "an array of 2 was expected, and map of 4 came");
  CHECK(bad<two>("*1\r\n:1\r\n") != "");
  CHECK(bad<two>("*?\r\n:1\r\n.\r\n") == "element 2: fewer elements came than the tuple has");
  CHECK(bad<two>("*?\r\n:1\r\n:1\r\n:1\r\n.\r\n") ==
        "element 3: more elements came than the tuple has");
}

TEST_CASE("redis: a user type is read by its fields, and unknown ones are skipped") {
  const user expected{"abcdef", 7, {}};
  CHECK(good<user>("%2\r\n+age\r\n:7\r\n$4\r\nname\r\n$6\r\nabcdef\r\n") == expected);
  CHECK(good<user>("*6\r\n+other\r\n*2\r\n*1\r\n:1\r\n_\r\n+name\r\n+abcdef\r\n+age\r\n+7\r\n") ==
        expected);
  CHECK(good<user>("*0\r\n") == user());
  const user nested = good<user>(
      "%2\r\n+friends\r\n*1\r\n%1\r\n+friends\r\n*1\r\n%1\r\n+age\r\n:3\r\n+age\r\n:1\r\n");
  CHECK(nested.age == 1);
  CHECK(nested.friends.at(0).friends.at(0).age == 3);
  CHECK(bad<user>("%1\r\n+age\r\n+old\r\n") ==
        "field age: an integer of 32 bits was expected, and simple_string \"old\" came");
  CHECK(bad<std::vector<user>>("*2\r\n*0\r\n%1\r\n+friends\r\n*1\r\n%1\r\n+age\r\n_\r\n",
                               error::null_reply)
            .find("element 2, field friends, element 1, field age: ") == 0);
}

TEST_CASE("redis: nothing of a reply is left when its reader is cleared for another one") {
  reply<user> to;
  reply_reader reader(to);
  const std::string full = "%2\r\n+age\r\n:7\r\n+name\r\n+abc\r\n";
  const std::string empty = "%0\r\n";
  CHECK(feed(reader, full, 0));
  reader.clear();
  CHECK(feed(reader, empty, 0));
  CHECK(*to == user());
  for (const std::string error : {"-LOADING x\r\n", "$2\r\nab\r\n"}) {
    reader.clear();
    CHECK(feed(reader, error, 0));
    CHECK(to.error());
    reader.clear();
    CHECK_FALSE(to.error());
    CHECK(to.error_text().empty());
    CHECK(feed(reader, full, 0));
    CHECK_FALSE(to.error());
    CHECK(to->age == 7);
  }
}

TEST_CASE("redis: a variant takes the alternative that fits best") {
  using number_or_text = std::variant<long, std::string, strings>;
  CHECK(good<number_or_text>(":5\r\n") == number_or_text(5L));
  CHECK(good<number_or_text>("$5\r\n12345\r\n") == number_or_text("12345"));
  CHECK(good<number_or_text>("*1\r\n+a\r\n") == number_or_text(strings{"a"}));
  using exact = std::variant<std::string, double, long>;
  CHECK(good<exact>(",1.5\r\n") == exact(1.5));
  CHECK(good<exact>(":1\r\n") == exact(1L));
  CHECK(good<std::vector<number_or_text>>("*2\r\n:1\r\n+a\r\n").size() == 2);
}

TEST_CASE("redis: a variant takes each reply that one of its alternatives can be read from") {
  using small = std::variant<std::int8_t, std::uint64_t, std::int64_t>;
  CHECK(good<small>(":-128\r\n") == small(std::int8_t{-128}));
  CHECK(good<small>(":128\r\n") == small(std::uint64_t{128}));
  CHECK(good<small>(":-129\r\n") == small(std::int64_t{-129}));
  CHECK(bad<std::variant<std::int8_t, std::uint8_t>>(":256\r\n") ==
        "an integer of 8 bits was expected, and integer \"256\" came");
  using other = std::variant<strings, std::uint64_t>;
  CHECK(good<other>("(18446744073709551615\r\n") == other(~std::uint64_t{0}));
  CHECK(good<other>("+18446744073709551615\r\n") == other(~std::uint64_t{0}));
  CHECK(good<std::variant<strings, bool>>("+1\r\n") == std::variant<strings, bool>(true));
  CHECK(good<std::variant<strings, double>>("(12\r\n") == std::variant<strings, double>(12.0));
  using real = std::variant<float, double>;
  CHECK(good<real>(",0.5\r\n") == real(0.5F));
  CHECK(good<real>(",1e300\r\n") == real(1e300));
  CHECK(good<real>("+1e300\r\n") == real(1e300));
}

TEST_CASE("redis: errors of the server have a code, their text, and their place") {
  const reply<int> wrong = read<int>("-WRONGTYPE Operation against a key\r\n");
  CHECK(wrong.error() == error::wrongtype);
  CHECK(wrong.error_text() == "WRONGTYPE Operation against a key");
  CHECK_THROWS_AS(static_cast<void>(wrong.value()), beck::io_error);
  CHECK(read<void>("!9\r\nNOAUTH no\r\n").error() == error::noauth);
  CHECK(read<void>("-NEVERHEARD of\r\n").error() == error::server);
  CHECK(read<std::optional<int>>("-ERR x\r\n").error() == error::err);
  CHECK(read<std::string>("!3000\r\nERR " + std::string(2996, 'x') + "\r\n").error_text().size() ==
        1024);
  CHECK(read<strings>("*2\r\n+a\r\n-MOVED 1 h:1\r\n").error() == error::moved);
  reply<std::tuple<reply<int>, reply<void>, int>> exec;
  reply_reader reader(exec);
  const std::string wire = "*3\r\n-OOM no memory\r\n+OK\r\n:3\r\n";
  CHECK(feed(reader, wire, wire.size()));
  CHECK_FALSE(exec.error());
  CHECK(std::get<0>(*exec).error() == error::oom);
  CHECK_FALSE(std::get<1>(*exec).error());
  CHECK(std::get<2>(*exec) == 3);
  CHECK(error_of("") == error::server);
}

TEST_CASE("redis: a text is read into memory of the program's, or is too large for it") {
  char room[6];
  const auto into_room = [&room](const std::string& wire, std::size_t cut) {
    reply<into> to{into(beck::mutable_buffer(room, sizeof room))};
    reply_reader reader(to);
    CHECK(feed(reader, wire, cut));
    return to.error() ? std::string(to.error_text()) : std::string((*to).text());
  };
  for (std::size_t cut = 0; cut <= 12; ++cut) {
    CHECK(into_room("$6\r\nabcdef\r\n", cut) == "abcdef");
    CHECK(into_room("$7\r\nabcdefg\r\n", cut) == "the buffer has 6 bytes, and a longer text came");
  }
  CHECK(into_room("$0\r\n\r\n", 0).empty());
}

TEST_CASE("redis: a reply over the limits of its command is dropped to its end") {
  reply_limits most;
  most.text_bytes = 10;
  most.elements = 3;
  CHECK_FALSE(read<strings>("*2\r\n$5\r\nabcde\r\n$5\r\nabcde\r\n", most).error());
  const reply<strings> text = read<strings>("*2\r\n$5\r\nabcde\r\n$6\r\nabcdef\r\n", most);
  CHECK(text.error() == error::reply_too_large);
  CHECK(text.error() == beck::errc::message_size);
  CHECK(text.error_text() == "element 2: more than 10 bytes of text came");
  CHECK(read<strings>("*3\r\n+a\r\n+b\r\n+c\r\n", most).error_text() ==
        "element 3: more than 3 elements came");
}

TEST_CASE("redis: attributes are skipped, and kept inside of a value") {
  CHECK(good<std::vector<int>>("|1\r\n+a\r\n*1\r\n+b\r\n*2\r\n:1\r\n|1\r\n+c\r\n_\r\n:2\r\n") ==
        std::vector<int>{1, 2});
  const value tree = good<value>("*2\r\n%1\r\n+k\r\n*0\r\n$?\r\n;1\r\na\r\n;0\r\n");
  CHECK(to_text<std::string>(tree.root()) == "[{\"k\": []}, \"a\"]");
  const auto trees = good<std::vector<value>>("*3\r\n*1\r\n*1\r\n:1\r\n+x\r\n$6\r\nabcdef\r\n");
  REQUIRE(trees.size() == 3);
  CHECK(to_text<std::string>(trees[0].root()) == "[[1]]");
  CHECK(to_text<std::string>(trees[2].root()) == "\"abcdef\"");
}

TEST_CASE("redis: a value has the attributes before it, and no others") {
  const auto text_of = [](const value& v) { return to_text<std::string>(v.root()); };
  CHECK(text_of(good<value>("|1\r\n+a\r\n$6\r\nabcdef\r\n|0\r\n:5\r\n")) ==
        "|{\"a\": \"abcdef\"} |{} 5");
  CHECK(text_of(good<value>("|1\r\n|1\r\n+b\r\n*1\r\n:1\r\n+a\r\n_\r\n*1\r\n:5\r\n")) ==
        "|{|{\"b\": [1]} \"a\": null} [5]");
  const auto values = good<std::vector<std::optional<value>>>(
      "|1\r\n+x\r\n+y\r\n*4\r\n|1\r\n+a\r\n:1\r\n:1\r\n:2\r\n"
      "|1\r\n+a\r\n:1\r\n_\r\n*?\r\n|1\r\n+c\r\n$?\r\n;1\r\nd\r\n;0\r\n:3\r\n.\r\n");
  REQUIRE(values.size() == 4);
  CHECK(text_of(*values[0]) == "|{\"a\": 1} 1");
  CHECK(text_of(*values[1]) == "2");
  CHECK_FALSE(values[2]);
  CHECK(text_of(*values[3]) == "[|{\"c\": \"d\"} 3]");
  using pair = std::pair<int, value>;
  CHECK(text_of(good<pair>("*2\r\n|1\r\n+a\r\n+b\r\n:1\r\n:2\r\n").second) == "2");
}

TEST_CASE("redis: a reply inside of another one was executed, and its last error stays no longer") {
  reply<answers> twice;
  reply_reader fields(twice);
  const std::string both = "%2\r\n+n\r\n-ERR x\r\n+n\r\n:5\r\n";
  CHECK(feed(fields, both, both.size()));
  CHECK(twice->n.error_text() == "");
  CHECK(*twice->n == 5);
  CHECK(twice->n.outcome() == outcome::executed);
  reply<std::vector<reply<int>>> exec;
  reply_reader reader(exec);
  const std::string wire = "*2\r\n-ERR x\r\n:5\r\n";
  CHECK(feed(reader, wire, wire.size()));
  CHECK(exec->at(0).outcome() == outcome::executed);
  CHECK(exec->at(1).outcome() == outcome::executed);
}

TEST_CASE("redis: a constructor that throws while a reader is cleared makes an error") {
  reply<fragile> to;
  fragile::failures = 1;
  reply_reader reader(to);
  CHECK(reader.has_failed());
  CHECK(to.error() == beck::errc::not_enough_memory);
  const std::string wire = "%1\r\n+n\r\n:7\r\n";
  CHECK(feed(reader, wire, wire.size()));
  CHECK(to.error());
  reader.clear();
  CHECK(feed(reader, wire, wire.size()));
  CHECK(to.error_text() == "");
  CHECK(to->n == 7);
}

TEST_CASE("redis: a deep reply is dropped, or refused, without recursion") {
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "*2\r\n:1\r\n";
  deep += "+x\r\n";
  reply<void> nothing;
  reply_reader reader(nothing);
  CHECK(feed(reader, deep, 333));
  CHECK_FALSE(nothing.error());
  reply<strings> wrong;
  reply_reader other(wrong);
  CHECK(feed(other, deep, 333));
  CHECK(wrong.error() == error::wrong_reply);
}

TEST_CASE("redis: a container that throws makes an error, and the rest is dropped") {
  NEEDS_ALLOCATION_FAULTS();
  const std::string wire = "*2\r\n$40\r\n" + std::string(40, 'x') + "\r\n:1\r\n";
  int failed = 0;
  for (int n = 1; n < 20; ++n) {
    reply<strings> to;
    reply_reader reader(to);
    bool fired = false;
    {
      reply_parser parser;
      token tokens[8];
      const parsed found = parser.parse(wire, tokens, 8);
      beck::test::allocation_fault fault(n);
      bool is_complete = false;
      for (std::size_t i = 0; i < found.tokens; ++i) is_complete = reader.feed(tokens[i]);
      fired = fault.fired();
      CHECK(is_complete);
    }
    CHECK((to.error() == beck::errc::not_enough_memory) == fired);
    failed += fired ? 1 : 0;
    if (!fired) break;
  }
  CHECK(failed > 0);
}

TEST_CASE("redis: a command has its bytes and the type of its reply, without an allocation") {
  const std::uint64_t before = beck::test::allocations();
  command<long> incr = cmd<long>("INCR", "hits");
  const command<long> moved = std::move(incr);
  const std::uint64_t after = beck::test::allocations();
  if (beck::test::counts_allocations()) CHECK(after == before);
  CHECK(moved.bytes() == "*2\r\n$4\r\nINCR\r\n$4\r\nhits\r\n");
  CHECK(moved.arguments()[1] == "hits");
  CHECK(cmd<void>("X", key("a")).arguments().is_marked(1));
  char room[4];
  CHECK(cmd(into(beck::mutable_buffer(room, 4)), "GET", "k").result()->room().size() == 4);
}
