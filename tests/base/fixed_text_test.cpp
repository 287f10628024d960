// SPDX-License-Identifier: BSL-1.0
//
// A fixed text stands where programs expect a std::string; each way they use one is tried here.
#include <doctest/doctest.h>

#include <beck/detail/fixed_text.hpp>
#include <sstream>
#include <string>
#include <string_view>

namespace {

using text = beck::detail::fixed_text<8>;

static_assert(std::is_convertible_v<text, std::string>);
static_assert(std::is_convertible_v<text, std::string_view>);
static_assert(std::is_convertible_v<text, std::string_view>);
static_assert(std::is_trivially_copyable_v<text>);

std::size_t by_reference(const std::string& s) { return s.size(); }

TEST_CASE("a fixed text converts to strings wherever one is wanted") {
  const text t("hello");
  const std::string copied = t;
  const std::string direct(t);
  std::string assigned;
  assigned = t;
  CHECK(copied == "hello");
  CHECK(direct == "hello");
  CHECK(assigned == "hello");
  CHECK(by_reference(t) == 5);
  const std::string_view view = t;
  CHECK(view == "hello");
  const std::string_view ours = t;
  CHECK(ours == "hello");
  CHECK(std::string("<") + t + ">" == "<hello>");
}

TEST_CASE("a fixed text compares with every kind of text") {
  const text t("abc");
  CHECK((t == "abc"));
  CHECK(("abc" == t));
  CHECK((t == std::string("abc")));
  CHECK((std::string_view("abc") == t));
  CHECK((t == text("abc")));
  CHECK((t != "abd"));
  CHECK((t == std::string_view("abc")));
}

TEST_CASE("a fixed text keeps what fits and always ends in NUL") {
  text t("123456789");
  CHECK(t.size() == 8);
  CHECK(std::string(t.c_str()) == "12345678");
  t.append("x");
  CHECK(t.size() == 8);
  text small;
  CHECK(small.empty());
  small.append("ab");
  small.append("cd");
  CHECK((small == "abcd"));
}

TEST_CASE("a fixed text is written to a stream and respects its width") {
  std::ostringstream out;
  out.width(6);
  out << text("abc") << '|';
  CHECK(out.str() == "   abc|");
}

}  // namespace
