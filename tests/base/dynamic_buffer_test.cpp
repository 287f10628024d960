// SPDX-License-Identifier: BSL-1.0
//
// All growing containers must behave alike behind one type, at the limits above all.
#include <doctest/doctest.h>

#include <beck/base/dynamic_buffer.hpp>
#include <beck/base/flat_buffer.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using beck::dynamic_buffer;
using beck::dynamic_buffer_ref;

template <class C>
concept dynamic = requires(C& c) { dynamic_buffer(c); };
static_assert(dynamic<std::string>);
static_assert(dynamic<std::vector<char>>);
static_assert(dynamic<std::vector<std::byte>>);
static_assert(dynamic<beck::flat_buffer>);
static_assert(!dynamic<std::vector<int>>);
static_assert(!dynamic<const std::string>);

void append(dynamic_buffer_ref b, std::string_view text) {
  const auto old = b.size();
  b.grow(text.size());
  buffer_copy(b.data(old, text.size()), beck::buffer(text));
}

std::string text_of(dynamic_buffer_ref b) { return std::string(b.view()); }

void behaves_as_a_buffer(dynamic_buffer_ref b) {
  CHECK(b.size() == 0);
  append(b, "hello ");
  append(b, "world");
  CHECK(text_of(b) == "hello world");
  CHECK(b.capacity() >= 11);
  CHECK(b.capacity() <= b.max_size());
  b.consume(6);
  CHECK(text_of(b) == "world");
  b.shrink(1);
  CHECK(text_of(b) == "worl");
  CHECK(b.data(1, 2).size() == 2);
  CHECK(b.data(3, 5).size() == 1);
  CHECK(b.data(9, 5).size() == 0);
  CHECK_THROWS_AS(b.grow(b.max_size()), std::length_error);
  CHECK_THROWS_AS(b.grow(static_cast<std::size_t>(-1)), std::length_error);
  CHECK_THROWS_AS(b.resize(b.max_size() + 1), std::length_error);
  CHECK(text_of(b) == "worl");
  b.resize(2);
  CHECK(text_of(b) == "wo");
  b.shrink(100);
  CHECK(b.size() == 0);
  append(b, "again");
  b.consume(100);
  CHECK(b.size() == 0);
  b.grow(b.max_size());
  CHECK(b.size() == b.max_size());
}

TEST_CASE("of a container that is longer than the limit only so many bytes count") {
  std::string text = "12345678";
  const auto b = dynamic_buffer(text, 4);
  CHECK(b.size() == 4);
  CHECK(text_of(b) == "1234");
  CHECK(b.data(2, 8).size() == 2);
  CHECK(b.capacity() == 4);
  CHECK_THROWS_AS(b.grow(1), std::length_error);
  CHECK(text == "12345678");  // looking changes nothing
  b.consume(1);
  CHECK(text_of(b) == "2345");
  b.shrink(1);
  CHECK(text == "234");
  b.grow(1);
  CHECK(b.size() == 4);
}

TEST_CASE("strings, vectors and flat buffers behave alike behind a dynamic buffer") {
  std::string text;
  behaves_as_a_buffer(dynamic_buffer(text, 20));
  CHECK(text.size() == 20);
  std::vector<unsigned char> bytes;
  behaves_as_a_buffer(dynamic_buffer(bytes, 20));
  CHECK(bytes.size() == 20);
  beck::flat_buffer flat(20);
  behaves_as_a_buffer(dynamic_buffer(flat));
  CHECK(flat.size() == 20);
}

TEST_CASE("growing past the limit names the size and the limit") {
  std::string text = "abc";
  try {
    dynamic_buffer(text, 5).grow(3);
    FAIL("no exception");
  } catch (const std::length_error& e) {
    CHECK(std::string(e.what()) == "dynamic_buffer: 3 + 3 bytes are over the limit of 5 bytes");
  }
  CHECK(text == "abc");
}

TEST_CASE("the limit of a flat buffer is the smaller of its own and the given one") {
  beck::flat_buffer flat(100);
  CHECK(dynamic_buffer(flat).max_size() == 100);
  CHECK(dynamic_buffer(flat, 10).max_size() == 10);
  CHECK(dynamic_buffer(flat, 1000).max_size() == 100);
}

}  // namespace
