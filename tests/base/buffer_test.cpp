// SPDX-License-Identifier: BSL-1.0
//
// Buffers are made from types that the header does not know; the static_asserts list which of them,
// and whether the result may be written. Copying is checked against a plain copy, cut at random.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <beck/base/buffer.hpp>
#include <cstring>
#include <list>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using beck::buffer;
using beck::const_buffer;
using beck::mutable_buffer;

template <class T>
concept bufferable = requires(T&& t) { buffer(static_cast<T&&>(t)); };

template <class T>
constexpr bool gives_mutable = std::is_same_v<decltype(buffer(std::declval<T>())), mutable_buffer>;
template <class T>
constexpr bool gives_const = std::is_same_v<decltype(buffer(std::declval<T>())), const_buffer>;

static_assert(gives_mutable<std::string&>);
static_assert(gives_const<const std::string&>);
static_assert(gives_const<std::string_view>);
static_assert(gives_const<std::string_view&>);
static_assert(gives_mutable<std::vector<int>&>);
static_assert(gives_const<const std::vector<int>&>);
static_assert(gives_mutable<std::span<char>>);
static_assert(gives_mutable<const std::span<char>&>);
static_assert(gives_const<std::span<const char>>);
static_assert(gives_mutable<std::array<char, 4>&>);
static_assert(gives_const<std::array<const char, 4>&>);
static_assert(gives_mutable<char (&)[4]>);
static_assert(gives_const<const char (&)[4]>);
static_assert(gives_mutable<mutable_buffer>);
static_assert(gives_const<const_buffer>);
static_assert(!bufferable<std::string>, "a temporary string would be gone before the operation");
static_assert(!bufferable<const std::string>);
static_assert(!bufferable<std::vector<std::string>&>, "strings have no bytes of their own");
static_assert(!bufferable<std::vector<const_buffer>&>, "a sequence is not a buffer");
static_assert(!bufferable<std::list<char>&>);

static_assert(beck::detail::single_buffer<const_buffer>);
static_assert(beck::detail::single_buffer<mutable_buffer>);
static_assert(beck::detail::single_mutable_buffer<mutable_buffer>);
static_assert(!beck::detail::single_mutable_buffer<const_buffer>);
static_assert(!beck::detail::single_buffer<std::array<const_buffer, 1>>);
static_assert(beck::const_buffer_sequence<const_buffer>);
static_assert(beck::const_buffer_sequence<mutable_buffer>);
static_assert(beck::const_buffer_sequence<std::vector<const_buffer>>);
static_assert(beck::const_buffer_sequence<std::list<mutable_buffer>>);
static_assert(beck::const_buffer_sequence<const_buffer[2]>);
static_assert(!beck::const_buffer_sequence<std::string>);
static_assert(!beck::const_buffer_sequence<int>);
static_assert(beck::mutable_buffer_sequence<std::array<mutable_buffer, 2>>);
static_assert(beck::mutable_buffer_sequence<mutable_buffer[2]>);
static_assert(!beck::mutable_buffer_sequence<std::vector<const_buffer>>);
static_assert(!beck::mutable_buffer_sequence<const_buffer>);

TEST_CASE("buffer gives pointer and size in bytes of whatever it is given") {
  std::vector<std::uint32_t> words(3);
  CHECK(buffer(words).data() == words.data());
  CHECK(buffer(words).size() == 12);
  std::array<char, 5> five{};
  CHECK(buffer(five).size() == 5);
  short numbers[4] = {};
  CHECK(buffer(numbers).size() == 8);
  const std::string text = "text";
  CHECK(buffer(text).data() == text.data());
  CHECK(buffer(text).size() == 4);
  CHECK(buffer(std::string_view("abc")).size() == 3);
  CHECK(buffer(std::string_view("abc")).size() == 3);
  CHECK(buffer(std::span<std::uint32_t>(words)).size() == 12);
  CHECK(buffer("abc").size() == 4);  // with its NUL
  using namespace beck::literals;
  CHECK("abc"_buf.size() == 3);
  char c = 0;
  CHECK(buffer(&c, 1).data() == &c);
}

TEST_CASE("a second argument bounds the bytes and never adds any") {
  std::string text = "hello";
  CHECK(buffer(text, 3).size() == 3);
  CHECK(buffer(text, 9).size() == 5);
  CHECK(buffer(std::string_view(text), 2).size() == 2);
  int numbers[2] = {};
  CHECK(buffer(numbers, 5).size() == 5);
  CHECK(buffer(numbers, 100).size() == sizeof numbers);
  CHECK(buffer(buffer(text), 1).size() == 1);
  CHECK(buffer(const_buffer(buffer(text)), 1).size() == 1);
}

TEST_CASE("adding to a buffer drops bytes at the front and stops at its end") {
  char data[10];
  mutable_buffer b = buffer(data);
  b += 3;
  CHECK(b.data() == data + 3);
  CHECK(b.size() == 7);
  CHECK((b + 100).size() == 0);
  CHECK((b + 100).data() == data + 10);
  CHECK((2 + b).data() == data + 5);
  const const_buffer c = b;
  CHECK((c + 7).size() == 0);
  CHECK((1 + c).size() == 6);
  CHECK((mutable_buffer() + 5).size() == 0);
}

TEST_CASE("the size of a sequence is the sum of its buffers") {
  char a[3], b[5];
  CHECK(buffer_size(buffer(a)) == 3);
  CHECK(buffer_size(std::vector<mutable_buffer>{buffer(a), buffer(b)}) == 8);
  const const_buffer plain[] = {buffer(a), buffer(b), buffer(a)};
  CHECK(buffer_size(plain) == 11);
  CHECK(buffer_size(std::vector<const_buffer>()) == 0);
}

TEST_CASE("a single buffer and an array are walked like any sequence") {
  char a[3];
  const mutable_buffer one = buffer(a);
  CHECK(beck::buffer_sequence_begin(one) == &one);
  CHECK(beck::buffer_sequence_end(one) == &one + 1);
  const const_buffer two[2] = {one, one};
  CHECK(beck::buffer_sequence_end(two) - beck::buffer_sequence_begin(two) == 2);
}

TEST_CASE("copying stops at the smallest of target, source and limit") {
  char to[4] = {};
  CHECK(buffer_copy(buffer(to), buffer(std::string_view("abcdef"))) == 4);
  CHECK(std::memcmp(to, "abcd", 4) == 0);
  CHECK(buffer_copy(buffer(to), buffer(std::string_view("xy"))) == 2);
  CHECK(buffer_copy(buffer(to), buffer(std::string_view("1234")), 3) == 3);
  CHECK(std::memcmp(to, "123d", 4) == 0);
  CHECK(buffer_copy(mutable_buffer(), const_buffer()) == 0);
  CHECK(buffer_copy(buffer(to), buffer(std::string_view("1234")), 0) == 0);
}

TEST_CASE("single buffers that overlap are copied right") {
  char data[] = "abcdef";
  CHECK(buffer_copy(buffer(data + 2, 4), buffer(data, 4)) == 4);
  CHECK(std::string_view(data) == "ababcd");
}

// Cuts `text` into random pieces, some of them empty.
template <class Buffer>
std::vector<Buffer> pieces(std::string& text, std::mt19937& random) {
  std::vector<Buffer> result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = std::min<std::size_t>(random() % 7, text.size() - at);
    result.push_back(buffer(text.data() + at, n));
    at += n;
  }
  return result;
}

TEST_CASE("copying between sequences cut anywhere equals copying the whole") {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::string from(random() % 60, 'x');
    for (char& c : from) c = static_cast<char>(random());
    std::string to(random() % 60, '.');
    std::string expected = to;
    const std::size_t limit = random() % 70;
    const std::size_t n = std::min({from.size(), to.size(), limit});
    expected.replace(0, n, from, 0, n);
    REQUIRE(buffer_copy(pieces<mutable_buffer>(to, random), pieces<const_buffer>(from, random),
                        limit) == n);
    REQUIRE(to == expected);
  }
}

}  // namespace
