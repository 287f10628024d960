// SPDX-License-Identifier: BSL-1.0
// The replies that a cache holds, without a server: their keys, their room, and stores that fail.
#include <doctest/doctest.h>

#include <beck/redis/reader.hpp>
#include <beck/redis/request.hpp>
#include <beck/redis/resp3.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/cache/cache_index.hpp"
#include "support/allocations.hpp"

using namespace beck::redis;

namespace {

const detail::seeded_hash any_hash(17);

/// Returns a command as it is sent.
std::string wire(const std::vector<std::string>& words) {
  request q;
  q.push(words[0], each(std::vector<std::string>(words.begin() + 1, words.end())));
  return std::string(q.bytes());
}

/// Returns the reply that these bytes are.
detail::kept_reply kept(std::string_view bytes) {
  detail::kept_reply made;
  token tokens[8];
  reply_parser parser;
  const parsed found = parser.parse(bytes, tokens, 8);
  for (std::size_t i = 0; i < found.tokens; ++i) made.add(tokens[i]);
  return made;
}

bool store(detail::cache_index& to, const std::string& command, std::string_view bytes) {
  detail::kept_reply made = kept(bytes);
  return to.store(command, made, 0);
}

/// Drops the replies with these keys, as an "invalidate" does.
void invalidate(detail::cache_index& in, const std::vector<std::string>& keys) {
  value all;
  std::string bytes = "*" + std::to_string(keys.size()) + "\r\n";
  for (const std::string& key : keys)
    bytes += "$" + std::to_string(key.size()) + "\r\n" + key + "\r\n";
  token tokens[8];
  reply_parser parser;
  const parsed found = parser.parse(bytes, tokens, 8);
  all.append(tokens, found.tokens);
  in.invalidate(all.root());
}

cache_stats stats_of(const detail::cache_index& index) {
  cache_stats stats;
  index.count(stats);
  return stats;
}

}  // namespace

TEST_CASE("redis cache: many replies are found by their commands, and dropped by each key") {
  detail::cache_index index(1 << 30, 1 << 20, any_hash);
  constexpr int count = 3'000;
  const auto command = [](int i) {
    return wire({"MGET", "k" + std::to_string(i), "shared" + std::to_string(i % 10), "k"});
  };
  for (int i = 0; i < count; ++i) CHECK(store(index, command(i), ":1\r\n"));
  for (int i = 0; i < count; ++i) REQUIRE(index.find(command(i)) != nullptr);
  CHECK(index.find(wire({"MGET", "k1"})) == nullptr);
  CHECK(index.find({}) == nullptr);
  invalidate(index, {"k7", "shared3", "unknown"});
  CHECK(stats_of(index).invalidated == 1 + count / 10);
  for (int i = 0; i < count; ++i)
    CHECK((index.find(command(i)) == nullptr) == (i == 7 || i % 10 == 3));
  invalidate(index, {"k"});
  CHECK(stats_of(index).entries == 0);
  CHECK(stats_of(index).bytes == 0);
  CHECK(stats_of(index).invalidated == count);
}

TEST_CASE("redis cache: a reply takes the place of the one before") {
  detail::cache_index index(1 << 20, 1 << 20, any_hash);
  const std::string get = wire({"GET", "k"});
  CHECK(store(index, get, ":1\r\n"));
  const std::size_t bytes = stats_of(index).bytes;
  CHECK(store(index, get, ":2\r\n"));
  CHECK(stats_of(index).entries == 1);
  CHECK(stats_of(index).bytes == bytes);
  CHECK(!store(index, get, "$2000000\r\n" + std::string(2'000'000, 'x') + "\r\n"));
  CHECK(stats_of(index).entries == 0);  // neither is held
}

TEST_CASE("redis cache: the bytes that it counts are at least those that it has allocated") {
  if (!beck::test::counts_allocations()) SKIP_CASE("this build has an operator new of its own");
  detail::cache_index index(1 << 30, 1 << 20, any_hash);
  constexpr std::uint64_t first_tables = 512;
  std::uint64_t allocated = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string get =
        wire({"GET", "a key that is too long for a string " + std::to_string(i)});
    detail::kept_reply made = kept("$40\r\n" + std::string(40, 'x') + "\r\n");
    allocated += made.bytes();
    const std::uint64_t before = beck::test::allocated_bytes();
    CHECK(index.store(get, made, 0));
    allocated += beck::test::allocated_bytes() - before;
    CHECK(stats_of(index).bytes + first_tables >= allocated);
  }
  CHECK(stats_of(index).bytes < 2 * allocated);
}

TEST_CASE("redis cache: a store without memory holds nothing, and leaves the rest as it was") {
  NEEDS_ALLOCATION_FAULTS();
  const std::string get = wire({"MGET", "a key that is too long for a string", "b", "c"});
  for (int n = 1, failed = 1; failed != 0; ++n) {
    CAPTURE(n);
    REQUIRE(n < 50);
    detail::cache_index index(1 << 20, 1 << 20, any_hash);
    CHECK(store(index, wire({"GET", "b"}), ":1\r\n"));
    const std::size_t bytes = stats_of(index).bytes;
    detail::kept_reply made = kept(":2\r\n");
    bool is_stored = false;
    {
      const beck::test::allocation_fault fault(n);
      is_stored = index.store(get, made, 0);
      failed = fault.fired() ? 1 : 0;
    }
    CHECK(is_stored == (failed == 0));
    if (is_stored) break;
    CHECK(stats_of(index).entries == 1);
    CHECK(stats_of(index).bytes == bytes);
    CHECK(index.find(get) == nullptr);
    invalidate(index, {"c", "b"});
    CHECK(stats_of(index).entries == 0);
  }
}

TEST_CASE("redis cache: a reply takes the same memory however its bytes arrive") {
  const std::string text(40'000, 'x');
  const std::string bytes =
      "*3\r\n:-1\r\n$40000\r\n" + text + "\r\n$?\r\n;3\r\nabc\r\n;2\r\nde\r\n;0\r\n";
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
    CAPTURE(step);
    detail::kept_reply made;
    token tokens[8];
    reply_parser parser;
    std::string_view rest = bytes;
    for (std::size_t arrived = 0; !rest.empty();) {
      arrived = std::min(rest.size(), arrived + step);
      const parsed found = parser.parse(rest.substr(0, arrived), tokens, 8);
      for (std::size_t i = 0; i < found.tokens; ++i) made.add(tokens[i]);
      rest.remove_prefix(found.consumed);
      arrived -= found.consumed;
    }
    CHECK(made.bytes() <= text.size() + 5 + 4 * sizeof(token));
    reply<std::vector<std::string>> got;
    reply_reader reader;
    reader.begin(detail::place_of(got), {});
    made.read(reader);
    reader.leave();
    REQUIRE(got);
    CHECK(*got == std::vector<std::string>{"-1", text, "abcde"});
  }
}

TEST_CASE("redis cache: texts that were chosen to share a place of its tables do not") {
  // Two changes of which the second one undoes the first, for each hash that multiplies by an odd
  // number, whatever its seed.
  constexpr int changes = 10;
  std::vector<std::string> chosen;
  for (unsigned which = 0; which < 1U << changes; ++which) {
    std::string text(16 * changes, 'x');
    for (std::size_t i = 0; i < changes; ++i) {
      if ((which >> i & 1) == 0) continue;
      for (const std::size_t at : {16 * i + 7, 16 * i + 8 + 3, 16 * i + 8 + 7})
        text[at] = static_cast<char>(text[at] ^ 0x80);
    }
    chosen.push_back(text);
  }
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const detail::seeded_hash hash(seed);
    std::map<std::uint64_t, int> places;
    int longest = 0;
    for (const std::string& text : chosen)
      longest = std::max(longest, ++places[hash(text) % chosen.size()]);
    CHECK(longest < 12);
  }
  std::set<std::uint64_t> hashes;  // of short texts, and of one text with many seeds
  for (std::size_t bytes = 0; bytes < 20; ++bytes)
    hashes.insert(any_hash(std::string(bytes, '\0')));
  for (std::uint64_t seed = 100; seed < 200; ++seed)
    hashes.insert(detail::seeded_hash(seed)("a text"));
  CHECK(hashes.size() == 120);
}

TEST_CASE("redis cache: a search for room has an end, also where all replies were used") {
  constexpr int count = 1'000;
  const auto command = [](int i) { return wire({"GET", "k" + std::to_string(1'000 + i)}); };
  detail::cache_index sample(1 << 20, 1 << 20, any_hash);
  CHECK(store(sample, command(0), ":1\r\n"));
  detail::cache_index index(count * stats_of(sample).bytes, 1 << 20, any_hash);
  for (int i = 0; i < count; ++i) CHECK(store(index, command(i), ":1\r\n"));
  for (int i = 0; i < count; ++i) index.find(command(i))->is_used = true;
  CHECK(store(index, command(count), ":1\r\n"));
  int gone = 0;
  int passed = 0;
  for (int i = 0; i < count; ++i) {
    const detail::cache_entry* const one = index.find(command(i));
    gone += one == nullptr ? 1 : 0;
    passed += one != nullptr && !one->is_used ? 1 : 0;
  }
  CHECK(gone == 1);
  CHECK(passed > 0);
  CHECK(passed < 100);
}

TEST_CASE("redis cache: its index agrees with a model, and ends with no bytes") {
  constexpr std::size_t most = 6'000;
  std::mt19937 random(7);
  const auto below = [&random](unsigned n) { return static_cast<unsigned>(random() % n); };
  const auto key = [&below] { return std::string(below(3), static_cast<char>('a' + below(5))); };
  detail::cache_index index(most, 2'000, any_hash);
  std::map<std::string, std::pair<std::vector<std::string>, std::string>> model;  // keys, reply
  std::size_t stored = 0;
  std::size_t replaced = 0;
  for (int i = 0; i < 50'000; ++i) {
    const unsigned what = below(100);
    if (what < 60) {
      std::vector<std::string> words = {"MGET"};
      for (unsigned n = 1 + below(4); n != 0; --n) words.push_back(key());
      const std::string text(below(50) == 0 ? 3'000 : below(40), 'x');
      const std::string command = wire(words);
      const bool is_held =
          store(index, command, "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n");
      CHECK(is_held == (text.size() != 3'000));
      replaced += model.erase(command);
      stored += is_held ? 1 : 0;
      if (is_held) model[command] = {{words.begin() + 1, words.end()}, text};
    } else if (what < 99) {
      const std::string changed = key();
      invalidate(index, {changed, "unknown"});
      std::erase_if(model, [&](const auto& one) {
        const auto& keys = one.second.first;
        return std::find(keys.begin(), keys.end(), changed) != keys.end();
      });
    } else {
      index.lose_all();
      CHECK(stats_of(index).bytes == 0);
      model.clear();
    }
    std::erase_if(model, [&](const auto& one) {  // for want of room
      return index.find(one.first) == nullptr;
    });
    const cache_stats stats = stats_of(index);
    REQUIRE(stats.entries == model.size());
    REQUIRE(stats.bytes <= most);
    REQUIRE(stored == replaced + stats.evicted + stats.invalidated + stats.lost + stats.entries);
    for (const auto& [command, expected] : model) {
      reply<std::string> got;
      reply_reader reader;
      reader.begin(detail::place_of(got), {});
      index.find(command)->reply.read(reader);
      reader.leave();
      REQUIRE(*got == expected.second);
    }
  }
  CHECK(stats_of(index).evicted > 1'000);
  index.lose_all();
  CHECK(stats_of(index).bytes == 0);
}
