// SPDX-License-Identifier: BSL-1.0
// What a mailbox is made of for the checker: entries whose members are watched for data races, and
// a wake descriptor that counts.
#pragma once

#include <cstdint>
#include <vector>

#include "interleavings/atomic.hpp"

namespace beck::interleavings {
using namespace detail;

struct letter {
  plain<letter*> next;
  plain<int> content;
};

struct letters {
  void push(letter* one) { all.push_back(one); }
  std::vector<letter*> all;
};

struct mailbox_model : modelled_atomics {
  using entry = letter;
  using queue = letters;

  static letter* asleep() noexcept {
    static long mark = 0;  // never looked into
    return reinterpret_cast<letter*>(&mark);
  }
  static void wake(int) noexcept { descriptor->write(); }
  static void drain(int, std::uint64_t total) noexcept {
    if (!world::now().planted("no settling")) descriptor->drain(total);
  }
  static void refuse_foreign_post(const void*) noexcept {}

  /// Of the execution that runs.
  static inline wake_counter* descriptor = nullptr;
};

}  // namespace beck::interleavings
