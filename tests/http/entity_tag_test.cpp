// SPDX-License-Identifier: BSL-1.0
//
// Entity tags: their comparison, and lists against the grammar as a regular expression.
#include <doctest/doctest.h>
#include <beck/http/entity_tag.hpp>

#include <cstdint>
#include <limits>
#include <ostream>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace beck::http;
using namespace std::string_literals;

entity_tag tag(std::string_view text) {
  entity_tag t;
  REQUIRE(parse_entity_tag(text, t));
  return t;
}

tag_match match(const std::string& list, std::string_view wanted,
                tag_comparison how = tag_comparison::weak) {
  const std::vector<char> copy(list.begin(), list.end());
  return match_tags({copy.data(), copy.size()}, tag(wanted), how);
}

TEST_CASE("entity tags are compared as in RFC 9110, section 8.8.3.2") {
  const auto both = [](const char* a, const char* b) {
    CHECK(is_equal(tag(a), tag(b), tag_comparison::weak) ==
          is_equal(tag(b), tag(a), tag_comparison::weak));
    return std::to_string(is_equal(tag(a), tag(b), tag_comparison::strong)) +
           std::to_string(is_equal(tag(a), tag(b), tag_comparison::weak));
  };
  CHECK(both("W/\"1\"", "W/\"1\"") == "01");
  CHECK(both("W/\"1\"", "W/\"2\"") == "00");
  CHECK(both("W/\"1\"", "\"1\"") == "01");
  CHECK(both("\"1\"", "W/\"1\"") == "01");
  CHECK(both("\"1\"", "\"1\"") == "11");
  CHECK(both("\"a\"", "\"A\"") == "00");
  CHECK(both("\"\"", "\"\"") == "11");
  CHECK_FALSE(is_equal({}, {}, tag_comparison::weak));
  CHECK_FALSE(is_equal({}, {}, tag_comparison::strong));
}

TEST_CASE("one entity tag is read, with any byte that is allowed") {
  CHECK(tag("\"abc\"").text == "\"abc\"");
  CHECK_FALSE(tag("\"abc\"").is_weak);
  CHECK(tag("W/\"abc\"").text == "\"abc\"");
  CHECK(tag("W/\"abc\"").is_weak);
  entity_tag t{"before", true};
  for (const char* text :
       {"", "\"", "abc", "\"a", "a\"", "w/\"a\"", "W\"a\"", "W/", "W/a", "W/ \"a\"", "\"a\" ",
        " \"a\"", "\"a\",", "\"a\"\"b\"", "*", "'a'", "\"a\\\"b\""})
    CHECK_FALSE_MESSAGE(parse_entity_tag(text, t), std::string(text));
  CHECK(t.text == "before");
  for (int i = 0; i < 256; ++i) {
    const bool is_allowed = i == 0x21 || (i >= 0x23 && i <= 0x7e) || i >= 0x80;
    const std::string text = "\"" + std::string(1, static_cast<char>(i)) + '"';
    CHECK(parse_entity_tag(text, t) == is_allowed);
    CHECK(match(text, "\"x\"") == (i == 'x'     ? tag_match::found
                                   : is_allowed ? tag_match::none
                                                : tag_match::malformed));
  }
}

TEST_CASE("a tag is looked for in a list") {
  CHECK(match("*", "\"a\"") == tag_match::any);
  CHECK(match("\"a\"", "\"a\"") == tag_match::found);
  CHECK(match("\"xyzzy\", \"r2d2xxxx\", \"c3piozzzz\"", "\"r2d2xxxx\"") == tag_match::found);
  CHECK(match("W/\"xyzzy\",W/\"r2d2xxxx\"", "\"r2d2xxxx\"") == tag_match::found);
  CHECK(match("W/\"a\"", "\"a\"", tag_comparison::strong) == tag_match::none);
  CHECK(match("W/\"a\" ,\t\"a\"", "\"a\"", tag_comparison::strong) == tag_match::found);
  CHECK(match("\"b\",\"c\"", "\"a\"") == tag_match::none);
  CHECK(match("\"a,b\"", "\"b\"") == tag_match::none);
  CHECK(match("\"x,\",\"a\"", "\"a\"") == tag_match::found);
  for (const char* list : {"", ",", " , ", "a", "\"a\" \"b\"", "\"a\"\"a\"", "\"a\",b", "\"a\",*",
                           "*,\"a\"", "**", "* ", "\"a\";", "\"a", "\"a\",\""})
    CHECK_MESSAGE(match(list, "\"a\"") == tag_match::malformed, std::string(list));
  CHECK(match_tags("\"a\"", {}, tag_comparison::weak) == tag_match::none);
}

TEST_CASE("all short lists are accepted as the grammar says") {
  const std::string one = "(?:W/)?\"[aW/,*]*\"";
  const std::regex grammar("[ ,]*" + one + "(?: *,[ ,]*" + one + ")* *(?:,[ ,]*)?");
  const std::string alphabet = "\"a, W/*";
  std::size_t count = 1;
  for (std::size_t length = 0; length < 6; ++length, count *= alphabet.size()) {
    for (std::size_t number = 0; number < count; ++number) {
      std::string list;
      for (std::size_t rest = number; list.size() < length; rest /= alphabet.size())
        list += alphabet[rest % alphabet.size()];
      const tag_match expected = list == "*"                        ? tag_match::any
                                 : !std::regex_match(list, grammar) ? tag_match::malformed
                                                                    : tag_match::none;
      REQUIRE_MESSAGE(match(list, "\"x\"") == expected, list);
    }
  }
}

TEST_CASE("the tag of a file tells its versions apart") {
  CHECK(file_tag(255, 16, 10).view() == "\"ff-10-a\"");
  CHECK(std::string_view(file_tag(255, 16, 10, true)) == "W/\"ff-10-a\"");
  const std::uint64_t largest = ~std::uint64_t{0};
  CHECK(file_tag(largest, -1, largest, true).view() ==
        "W/\"ffffffffffffffff-ffffffffffffffff-ffffffffffffffff\"");
  CHECK(tag(file_tag(0, std::numeric_limits<std::int64_t>::min(), 0)).text ==
        "\"0-8000000000000000-0\"");
  std::set<std::string> all;
  for (unsigned size = 0; size < 20; ++size)
    for (int changed = 0; changed < 20; ++changed)
      for (unsigned inode = 0; inode < 20; ++inode)
        all.insert(std::string(file_tag(size, changed, inode).view()));
  CHECK(all.size() == 8'000);
}

}  // namespace
