// SPDX-License-Identifier: BSL-1.0
//
// The words of a dump: what compilers call functions and types, as people wrote them.
#include "io/dump/dump_writer.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <ostream>
#include <string>

namespace {

std::string function(const char* signature) {
  return std::string(beck::detail::readable_function(signature).text());
}
std::string wait(const char* name) { return std::string(beck::detail::readable_wait(name).text()); }
std::string age(std::int64_t ns) { return std::string(beck::detail::readable_age(ns).text()); }

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t minute = 60'000 * ms;

}  // namespace

TEST_CASE("a function has the name that its author gave it, whichever compiler says it") {
  // g++, in the function that it makes of a coroutine, and in the coroutine
  CHECK(function("void {anonymous}::q::foo(foo(int)::_ZN12_GLOBAL__N_11q3fooEi.Frame*)") ==
        "q::foo");
  CHECK(function("beck::task<int, true> {anonymous}::q::foo(int)") == "q::foo");
  CHECK(function("void q::S::mem(q::S::mem(int) const::_ZNK1q1S3memEi.Frame*)") == "q::S::mem");
  CHECK(function("void {anonymous}::tmpl(tmpl<int>(int)::_ZN4tmplIiEE1TT_.Frame*)") == "tmpl");
  // clang
  CHECK(function("beck::task<> (anonymous namespace)::q::foo(int)") == "q::foo");
  CHECK(function("task<> (anonymous namespace)::tmpl(X) [X = int]") == "tmpl");
  CHECK(function("const char *f(char)") == "f");
  CHECK(function("int main()") == "main");
}

TEST_CASE("a lambda is one of the function that it stands in") {
  CHECK(
      function("void main()::<lambda(int)>::operator()(main()::<lambda(int)>::_ZZ4main.Frame*)") ==
      "main::lambda");
  CHECK(function("auto main()::(anonymous class)::operator()(int) const") == "main::lambda");
  CHECK(function("T q::S::operator()()") == "q::S::operator()");
}

TEST_CASE("strange names are cut, and never read past their end") {
  CHECK(function("").empty());
  CHECK(function("<<<<") == "<<<<");
  CHECK(function(">(") == ">(");
  CHECK(function(("void " + std::string(1000, 'f') + "()").c_str()) == std::string(96, 'f'));
}

TEST_CASE("a wait has its own name, or that of its class") {
  CHECK(wait("mutex") == "mutex");
  CHECK(wait("static constexpr const char* beck::op<Derived, void(A ...)>::name() [with Derived = "
             "{anonymous}::read_line; A = {int}]") == "read_line");
  CHECK(
      wait("static const char *beck::op<a::b<int, long>, void (int)>::name() [Derived = a::b<int, "
           "long>, A = <int>]") == "a::b<int, long>");
}

TEST_CASE("a file is shown with the folder that it is in") {
  const auto file = [](const char* path) { return std::string(beck::detail::readable_file(path)); };
  CHECK(file("/home/somebody/app/src/main.cpp") == "src/main.cpp");
  CHECK(file("src/main.cpp") == "src/main.cpp");
  CHECK(file("main.cpp") == "main.cpp");
  CHECK(file("/main.cpp") == "/main.cpp");
}

TEST_CASE("numbers and ages are short") {
  CHECK(std::string(beck::detail::readable_number(0).text()) == "0");
  CHECK(std::string(beck::detail::readable_number(999).text()) == "999");
  CHECK(std::string(beck::detail::readable_number(1'000).text()) == "1,000");
  CHECK(std::string(beck::detail::readable_number(UINT64_MAX).text()) ==
        "18,446,744,073,709,551,615");
  CHECK(std::string(beck::detail::plain_number(12'345).text()) == "12345");
  CHECK(age(-5) == "0 ms");
  CHECK(age(999 * ms) == "999 ms");
  CHECK(age(1'000 * ms) == "1.0 s");
  CHECK(age(59'999 * ms) == "59.9 s");
  CHECK(age(minute) == "1 min");
  CHECK(age(119 * minute) == "119 min");
  CHECK(age(120 * minute) == "2 h");
  CHECK(age(INT64_MAX) == "2,562,047 h");
}

TEST_CASE("a writer hands on everything, in large pieces") {
  std::string text;
  int pieces = 0;
  {
    auto note = [&](std::string_view piece) {
      text += std::string(piece);
      ++pieces;
    };
    beck::detail::dump_writer out{beck::detail::text_sink(note)};
    for (std::uint64_t i = 0; i < 1'000; ++i) out.put("line ", i, "\n");
  }
  CHECK(text.size() == 6 * 1'000 + 10 + 2 * 90 + 3 * 900);
  CHECK(text.find("line 999\n") == text.size() - 9);
  CHECK(pieces < 10);
}
