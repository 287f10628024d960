// SPDX-License-Identifier: BSL-1.0
//
// A text is taken by shape; which shapes are accepted and how they compare is the contract.
#include <doctest/doctest.h>

#include <array>
#include <beck/detail/text_view.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace {

using beck::detail::text_view;

static_assert(text_view("abc").size() == 3);
static_assert(text_view("abc") == text_view("abcd", 3));
static_assert(text_view("abc") < text_view("abd"));
static_assert(!std::is_convertible_v<text_view, std::string>);
static_assert(!std::is_constructible_v<text_view, std::nullptr_t>);
static_assert(!std::is_constructible_v<text_view, std::vector<int>>);

std::size_t length(text_view v) { return v.size(); }

TEST_CASE("a view is made from literals, pointers and containers of characters") {
  CHECK(length("four") == 4);
  CHECK(length(std::string("five5")) == 5);
  CHECK(length(std::string_view("ab\0c", 4)) == 4);
  CHECK(length(std::vector<char>{'a', 'b'}) == 2);
  CHECK(length(std::array<char, 3>{}) == 3);
  CHECK(length({"abcdef", 2}) == 2);
  CHECK(text_view().empty());
}

TEST_CASE("a view converts explicitly to string types and can be iterated") {
  const text_view v = "hello";
  CHECK(std::string(v) == "hello");
  CHECK(static_cast<std::string_view>(v) == "hello");
  std::string copy;
  for (const char c : v) copy += c;
  CHECK(copy == "hello");
  CHECK(v[1] == 'e');
  text_view rest = v;
  rest.remove_prefix(3);
  CHECK(rest == "lo");
  rest.remove_prefix(3);
  CHECK(rest.empty());
}

TEST_CASE("views compare by bytes, as unsigned, shorter first") {
  CHECK(text_view("a") == "a");
  CHECK(text_view("a") != "b");
  CHECK(text_view("a") < "ab");
  CHECK(text_view("\x7f") < "\x80");
  CHECK(text_view() == "");
  CHECK(text_view("x") == std::string("x"));
  CHECK(text_view("x") == std::string_view("x"));
  CHECK(std::string_view("x") == text_view("x"));
  CHECK(text_view(std::string_view("a\0b", 3)) != text_view(std::string_view("a\0c", 3)));
}

}  // namespace
