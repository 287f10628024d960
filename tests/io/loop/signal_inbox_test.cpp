// SPDX-License-Identifier: BSL-1.0
//
// The inbox of a signal set: order, its bound, what is forgotten, and several threads that fill it.
#include "io/loop/signal_state.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>
#include <vector>

using beck::signal_info;
using beck::detail::signal_inbox;

namespace {

signal_info queued(int number, int value) { return {number, -1, value, 0}; }

std::vector<int> values_of(signal_inbox& inbox) {
  std::vector<int> values;
  signal_info info;
  while (inbox.take(info)) values.push_back(info.value);
  return values;
}

}  // namespace

TEST_CASE("signals come out in the order in which they went in, round after round") {
  signal_inbox inbox;
  for (int round = 0; round < 10; ++round) {
    std::vector<int> expected;
    for (int i = 0; i < 300; ++i) {
      inbox.put(queued(40, i));
      expected.push_back(i);
    }
    CHECK(values_of(inbox) == expected);
  }
}

TEST_CASE("a full inbox counts what comes, by number, and gives it after the rest") {
  signal_inbox inbox;
  for (unsigned i = 0; i < signal_inbox::capacity; ++i) inbox.put(queued(40, 1));
  inbox.put(queued(41, 2));
  inbox.put(queued(2, 3));
  inbox.put(queued(41, 4));
  signal_info info;
  for (unsigned i = 0; i < signal_inbox::capacity; ++i) {
    REQUIRE(inbox.take(info));
    CHECK(info.value == 1);
  }
  std::vector<int> numbers;
  while (inbox.take(info)) {
    CHECK(info.value == 0);
    numbers.push_back(info.number);
  }
  CHECK(numbers == std::vector{2, 41, 41});
}

TEST_CASE("what is forgotten does not come out, and leaves room where it is oldest") {
  signal_inbox inbox;
  for (unsigned i = 0; i < signal_inbox::capacity + 5; ++i) inbox.put(queued(40, 1));
  inbox.forget(40);
  inbox.drop_forgotten();
  inbox.put(queued(40, 2));
  CHECK(values_of(inbox) == std::vector{2});
  inbox.put(queued(1, 5));
  inbox.put(queued(2, 6));
  inbox.put(queued(1, 7));
  inbox.forget(1);
  inbox.put(queued(1, 8));
  CHECK(values_of(inbox) == std::vector{6, 8});
}

TEST_CASE("several threads fill an inbox while one empties it") {
  signal_inbox inbox;
  constexpr int each = 20'000;
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; ++t) {
    writers.emplace_back([&inbox, t] {
      for (int i = 0; i < each; ++i) inbox.put(queued(1 + t, 1 + i));
    });
  }
  std::vector<int> counts(4);
  std::vector<int> last(4);
  int left = 3 * each;
  while (left > 0) {
    signal_info info;
    if (!inbox.take(info)) continue;
    const auto from = static_cast<std::size_t>(info.number);
    ++counts[from];
    if (info.value != 0) {
      CHECK(info.value > last[from]);
      last[from] = info.value;
    }
    --left;
  }
  for (std::thread& writer : writers) writer.join();
  CHECK(counts == std::vector{0, each, each, each});
}
