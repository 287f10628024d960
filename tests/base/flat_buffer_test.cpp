// SPDX-License-Identifier: BSL-1.0
//
// The bytes are checked against a string under random work; the cost of rotating is counted,
// because a buffer that moves too much is only slow.
#include <doctest/doctest.h>

#include <beck/base/flat_buffer.hpp>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/dies.hpp"

namespace {

using beck::flat_buffer;

void append(flat_buffer& b, std::string_view text) {
  b.commit(buffer_copy(b.prepare(text.size()), beck::buffer(text)));
}
std::string text_of(const flat_buffer& b) { return std::string(b.view()); }

TEST_CASE("a new flat buffer owns no memory and gives what was committed") {
  flat_buffer b;
  CHECK(b.capacity() == 0);
  CHECK(b.empty());
  b.clear();
  b.consume(5);
  append(b, "hello");
  CHECK(text_of(b) == "hello");
  b.prepare(10);
  CHECK(text_of(b) == "hello");  // prepared is not held
  b.consume(2);
  CHECK(text_of(b) == "llo");
  b.consume(99);
  CHECK(b.empty());
}

TEST_CASE("consuming moves nothing and keeps what data gave") {
  flat_buffer b;
  append(b, "abcdef");
  const void* const before = b.data().data();
  b.consume(2);
  CHECK(b.data().data() == static_cast<const char*>(before) + 2);
}

TEST_CASE("prepared room stays in place while everything in front of it is consumed") {
  flat_buffer b;
  append(b, "abc");
  const beck::mutable_buffer room = b.prepare(3);
  b.consume(3);
  buffer_copy(room, beck::buffer(std::string_view("def")));
  b.commit(2);
  b.commit(1);
  CHECK(text_of(b) == "def");
}

TEST_CASE("an emptied buffer starts over without allocating") {
  flat_buffer b;
  append(b, "abc");
  const void* const first = b.data().data();
  const auto capacity = b.capacity();
  for (int i = 0; i < 1000; ++i) {
    b.consume(3);
    append(b, "xyz");
  }
  CHECK(b.data().data() == first);
  CHECK(b.capacity() == capacity);
}

TEST_CASE("a full tail rotates when at least as much was consumed as is held") {
  flat_buffer b;
  b.reserve(100);
  append(b, std::string(100, 'a'));
  b.consume(60);
  append(b, std::string(20, 'b'));  // 40 are held, 60 were consumed
  CHECK(b.capacity() == 100);
  CHECK(text_of(b) == std::string(40, 'a') + std::string(20, 'b'));
}

TEST_CASE("bytes moved and allocated stay proportional to the bytes that went through") {
  // The worst case for a rotating buffer: always nearly full, one byte in, one byte out.
  constexpr std::size_t limit = 1000, steps = 200'000;
  flat_buffer b(limit);
  append(b, std::string(limit, 'x'));
  std::size_t moved = 0;
  const char* last_end = nullptr;
  for (std::size_t i = 0; i < steps; ++i) {
    b.consume(1);
    const auto held = b.size();
    auto* const room = static_cast<char*>(b.prepare(1).data());
    if (room != last_end) moved += held;  // rotated or reallocated
    *room = 'y';
    b.commit(1);
    last_end = room + 1;
  }
  CHECK(moved <= 2 * steps);
  CHECK(b.capacity() <= 2 * limit);
  CHECK(b.size() == limit);
}

TEST_CASE("a random sequence of operations equals the same on a string") {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    const std::size_t limit = 1 + random() % 5000;
    flat_buffer b(limit);
    std::string model;
    for (int i = 0; i < 2000; ++i) {
      const std::size_t n = random() % (1 + random() % 400);
      switch (random() % 4) {
        case 0:
        case 1:
          if (model.size() + n > limit) {
            REQUIRE_THROWS_AS(b.prepare(n), std::length_error);
          } else {
            const std::string text(n, static_cast<char>('a' + i % 26));
            append(b, text);
            model += text;
          }
          break;
        case 2:
          b.consume(n);
          model.erase(0, n);
          break;
        case 3:
          if (n <= model.size()) {
            b.resize(model.size() - n);
            model.resize(model.size() - n);
          }
          break;
      }
      REQUIRE(text_of(b) == model);
      REQUIRE(b.capacity() <= std::max<std::size_t>(2 * limit, 1));
    }
  }
}

TEST_CASE("preparing past the limit names the numbers and changes nothing") {
  flat_buffer b(10);
  append(b, "12345678");
  try {
    b.prepare(3);
    FAIL("no exception");
  } catch (const std::length_error& e) {
    CHECK(std::string(e.what()) == "flat_buffer: 8 + 3 bytes are over the limit of 10 bytes");
  }
  CHECK_THROWS_AS(b.prepare(static_cast<std::size_t>(-1)), std::length_error);
  CHECK(text_of(b) == "12345678");
  CHECK(b.prepare(2).size() == 2);
}

TEST_CASE("a buffer with the limit zero prepares nothing and refuses everything") {
  flat_buffer b(0);
  CHECK(b.prepare(0).size() == 0);
  CHECK_THROWS_AS(b.prepare(1), std::length_error);
}

TEST_CASE("reserve makes room once and stops at the limit") {
  flat_buffer b(300);
  b.reserve(200);
  CHECK(b.capacity() == 200);
  b.reserve(100);
  CHECK(b.capacity() == 200);
  b.reserve(1'000'000);
  CHECK(b.capacity() == 300);
}

TEST_CASE("committing more than was prepared is a bug of the caller") {
  CHECK(dies_with([] {
          flat_buffer b(100);
          b.prepare(10);
          b.commit(4);
          b.commit(7);
        }).find("more bytes committed") != std::string::npos);
  CHECK(dies_with([] {
          flat_buffer b(100);
          b.prepare(10);
          b.resize(0);
          b.commit(1);
        }).find("more bytes committed") != std::string::npos);
}

TEST_CASE("releasing frees the memory and keeps the limit") {
  flat_buffer a(50);
  append(a, "abcd");
  a.consume(1);
  a.release();
  CHECK(a.empty());
  CHECK(a.capacity() == 0);
  CHECK(a.max_size() == 50);
  append(a, "again");
  CHECK(text_of(a) == "again");
}

TEST_CASE("a copy is independent, a move takes the memory") {
  flat_buffer a(50);
  append(a, "abcd");
  a.consume(1);
  flat_buffer copy = a;
  append(a, "e");
  CHECK(text_of(copy) == "bcd");
  CHECK(copy.max_size() == 50);
  const void* const bytes = a.data().data();
  flat_buffer moved = std::move(a);
  CHECK(moved.data().data() == bytes);
  CHECK(a.empty());
  CHECK(a.capacity() == 0);
  append(a, "reused");
  CHECK(text_of(a) == "reused");
  copy = moved;
  CHECK(text_of(copy) == "bcde");
  flat_buffer& same = copy;
  copy = same;
  copy = std::move(same);
  CHECK(text_of(copy) == "bcde");
  copy = flat_buffer(3);
  CHECK(copy.empty());
  CHECK(copy.max_size() == 3);
}

}  // namespace
