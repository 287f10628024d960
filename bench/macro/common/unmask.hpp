// SPDX-License-Identifier: BSL-1.0
//
// The case of WebSocket without traffic: messages of 16 KiB are unmasked where they lie, as they
// would after a receive. An operation is a MiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "micro.hpp"

namespace bench {

// Runs `unmask(char* data, std::size_t bytes, std::uint32_t key)`. The key is as it lies in the
// frame. The data and a key that was applied an even number of times have to be as before.
template <class Unmask>
void unmask_messages(meter& m, Unmask unmask) {
  constexpr std::size_t messages = 64;
  constexpr std::size_t message_size = 16 * 1024;
  std::vector<char> data(messages * message_size);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 7 + i / 251);
  const std::vector<char> before = data;
  const auto pass = [&] {
    for (std::size_t i = 0; i < messages; ++i)
      unmask(data.data() + i * message_size, message_size, 0x9d3a'51c7U);
  };
  pass();
  require(data[5] == static_cast<char>(before[5] ^ '\x51'), "a byte was not unmasked");
  std::uint64_t passes = 0;
  m.start();
  do {
    pass();
    ++passes;
  } while (!m.over(passes));
  m.finish(passes);
  if (passes % 2 == 0) pass();
  require(data == before, "a message was unmasked wrongly");
}

}  // namespace bench
