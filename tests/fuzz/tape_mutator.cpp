// SPDX-License-Identifier: BSL-1.0
// Mutations of one stream at a time.
#include "fuzz/tape_mutator.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace beck::test {
using namespace detail;
namespace {

using stream = std::vector<std::uint64_t>;

constexpr unsigned changes_max = 4;
constexpr unsigned seeds_max = 16;     // the seed says which program runs
constexpr unsigned streams_used = 10;  // those that somebody draws from
constexpr unsigned span_max = 64;
constexpr std::size_t draws_max = 20'000;

/// Of any magnitude: small numbers are as likely as large ones.
std::uint64_t any_value(testing::small_random& random) {
  return random.next() >> (63 - random.below(32));
}

std::ptrdiff_t place(const stream& draws, testing::small_random& random) {
  return random.below(static_cast<unsigned>(draws.size()) + 1);
}

std::ptrdiff_t span(const stream& draws, std::ptrdiff_t first, testing::small_random& random) {
  const auto left = static_cast<std::ptrdiff_t>(draws.size()) - first;
  return std::min<std::ptrdiff_t>(left, 1 + random.below(span_max));
}

void insert(stream& draws, testing::small_random& random) {
  if (draws.size() > draws_max) return;
  const unsigned count = random.chance(500) ? 1 : 1 + random.below(span_max);
  stream fresh;
  for (unsigned i = 0; i < count; ++i) fresh.push_back(any_value(random));
  draws.insert(draws.begin() + place(draws, random), fresh.begin(), fresh.end());
}

void erase(stream& draws, testing::small_random& random) {
  const std::ptrdiff_t first = place(draws, random);
  draws.erase(draws.begin() + first, draws.begin() + first + span(draws, first, random));
}

void calm(stream& draws, testing::small_random& random) {
  const std::ptrdiff_t first = place(draws, random);
  std::fill_n(draws.begin() + first, span(draws, first, random), std::uint64_t{0});
}

void set(stream& draws, testing::small_random& random) {
  if (draws.empty()) return insert(draws, random);
  std::uint64_t& value = draws[random.below(static_cast<unsigned>(draws.size()))];
  value = random.chance(300) ? value + 1 : any_value(random);
}

void repeat(stream& draws, testing::small_random& random) {
  if (draws.size() > draws_max) return;
  const std::ptrdiff_t first = place(draws, random);
  const std::ptrdiff_t count = span(draws, first, random);
  const stream again(draws.begin() + first, draws.begin() + first + count);
  draws.insert(draws.begin() + place(draws, random), again.begin(), again.end());
}

}  // namespace

void mutate(sim_tape& tape, testing::small_random& random) {
  if (random.chance(20)) tape.seed = random.below(seeds_max);
  for (unsigned changes = 1 + random.below(changes_max); changes != 0; --changes) {
    stream& draws = tape.streams[random.below(streams_used)];
    switch (random.below(5)) {
      case 0:
        insert(draws, random);
        break;
      case 1:
        erase(draws, random);
        break;
      case 2:
        calm(draws, random);
        break;
      case 3:
        repeat(draws, random);
        break;
      case 4:
        set(draws, random);
        break;
    }
  }
}

sim_tape cross(const sim_tape& a, const sim_tape& b, testing::small_random& random) {
  sim_tape child;
  child.seed = a.seed;
  for (std::size_t i = 0; i < sim_tape::streams_max; ++i) {
    const stream& one = random.chance(500) ? a.streams[i] : b.streams[i];
    const stream& other = random.chance(800) ? one : a.streams[i];
    const std::ptrdiff_t first = std::min(place(one, random), place(other, random));
    child.streams[i].assign(one.begin(), one.begin() + first);
    child.streams[i].insert(child.streams[i].end(), other.begin() + first, other.end());
  }
  return child;
}

std::string encode_within(sim_tape tape, std::size_t bytes_max) {
  for (;;) {
    std::string bytes = tape.encode();
    if (bytes.size() <= bytes_max) return bytes;
    const auto longest =
        std::max_element(std::begin(tape.streams), std::end(tape.streams),
                         [](const stream& a, const stream& b) { return a.size() < b.size(); });
    if (longest->empty()) return {};
    longest->resize(longest->size() / 2);
  }
}

}  // namespace beck::test
