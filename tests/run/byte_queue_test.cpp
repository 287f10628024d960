// SPDX-License-Identifier: BSL-1.0
// byte_queue: the order of bytes that are copied, prepared, kept with an owner and moved from
// another queue, whatever is removed meanwhile; no memory; what is recycled.
#include <beck/run/byte_queue.hpp>

#include <doctest/doctest.h>
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <string_view>

#include "support/allocations.hpp"

using beck::byte_queue;
using beck::const_buffer;

namespace {

/// Removes `bytes` bytes, a buffer at a time. Returns them.
std::string taken(byte_queue& from, std::size_t bytes) {
  std::string got;
  while (bytes != 0) {
    const_buffer parts[3];
    const std::size_t count = from.gather(parts);
    REQUIRE(count != 0);
    REQUIRE(parts[0].size() != 0);
    const std::size_t here = std::min(bytes, parts[0].size());
    got.append(static_cast<const char*>(parts[0].data()), here);
    from.remove(here);
    bytes -= here;
  }
  return got;
}

void add_owned(byte_queue& to, std::string text) {
  to.append_owned(std::move(text),
                  [](const std::string& kept) { return const_buffer(kept.data(), kept.size()); });
}

}  // namespace

TEST_CASE("byte_queue: bytes leave in the order in which they came, however they came") {
  std::minstd_rand draw(7);
  byte_queue queue;
  byte_queue other;
  std::string expected;
  for (int step = 0; step < 3000; ++step) {
    CAPTURE(step);
    const std::string text(draw() % (step % 10 == 0 ? 20'000 : 300),
                           static_cast<char>(draw() % 96 + 32));
    switch (draw() % 6) {
      case 0:
        queue.append(text);
        break;
      case 1: {
        const std::size_t bytes = std::min(text.size(), byte_queue::prepare_max);
        char* const to = queue.prepare(byte_queue::prepare_max);
        std::memcpy(to, text.data(), bytes);
        queue.commit(bytes);
        expected.append(text, 0, bytes);
        continue;
      }
      case 2:
        add_owned(queue, text);
        break;
      case 3:
        queue.reserve(2 * text.size());  // more than is needed
        queue.copy(text);
        break;
      case 4:
        other.append(text);
        queue.append(other);
        CHECK(other.empty());
        break;
      default: {
        const std::size_t bytes = expected.size() - expected.size() / (draw() % 3 + 1);
        REQUIRE((taken(queue, bytes) == expected.substr(0, bytes)));
        expected.erase(0, bytes);
        continue;
      }
    }
    expected += text;
    REQUIRE(queue.size() == expected.size());
    REQUIRE(queue.added() - queue.removed() == expected.size());
  }
  CHECK((taken(queue, expected.size()) == expected));
  CHECK(queue.empty());
}

TEST_CASE("byte_queue: bytes with an owner are not copied, and the owner goes with the last one") {
  const auto owner = std::make_shared<std::string>("owned");
  byte_queue queue;
  const auto bytes_of = [](const std::shared_ptr<std::string>& kept) {
    return const_buffer(kept->data(), kept->size());
  };
  queue.append_owned(std::shared_ptr<std::string>(owner), bytes_of);
  queue.append("b");
  const_buffer parts[2];
  CHECK(queue.gather(parts) == 2);
  CHECK(parts[0].data() == owner->data());
  CHECK(queue.gather(parts, 1) == 1);
  queue.remove(4);
  CHECK(owner.use_count() == 2);
  queue.remove(1);
  CHECK(owner.use_count() == 1);
  queue.append_owned(std::shared_ptr<std::string>(owner), bytes_of);
  queue.clear();
  CHECK(owner.use_count() == 1);
  queue.append_owned(std::shared_ptr<std::string>(owner),
                     [](const auto&) { return const_buffer(); });
  CHECK(queue.empty());
  CHECK(queue.gather(parts) == 0);
  queue.append("c");
  queue.append({});  // also of no memory
  CHECK(taken(queue, 1) == "c");
  CHECK(owner.use_count() == 1);
}

TEST_CASE("byte_queue: without memory nothing has changed") {
  NEEDS_ALLOCATION_FAULTS();
  const std::string large(1'000'000, 'x');
  byte_queue queue;
  queue.append("abc");
  for (int fails = 1; fails < 5; ++fails) {
    const beck::test::allocation_fault fault(fails);
    CHECK_THROWS_AS(queue.append(large), std::bad_alloc);
    CHECK(queue.size() == 3);
  }
  queue.append("def");
  CHECK(taken(queue, 6) == "abcdef");
}

TEST_CASE("byte_queue: blocks are filled before others are made, and recycled") {
  byte_queue queue;
  const std::string half(byte_queue::block_bytes / 2 - 100, 'h');
  std::uint64_t misses = 0;
  for (int round = 0; round < 10; ++round) {
    if (round == 2) misses = beck::detail::block_misses();
    queue.append(half);
    queue.append(half);
    const_buffer parts[4];
    CHECK(queue.gather(parts) == 1);
    char* const to = queue.prepare(1000);
    std::memset(to, 'p', 10);
    queue.commit(10);
    CHECK(queue.gather(parts) == 2);
    queue.clear();
  }
  CHECK(beck::detail::block_misses() == misses);
}
