// SPDX-License-Identifier: BSL-1.0
// The bytes of the streams are made once, and copied and compared in pieces: walks send gigabytes
// of them.
#include "simulation/oracles.hpp"

#include <algorithm>
#include <array>

#include "support/small_random.hpp"

namespace beck::test {

std::string_view judged_stream::text_at(std::uint64_t position) const noexcept {
  static const auto text = [] {
    std::array<char, 65'536> all{};
    testing::small_random random(1);
    for (char& c : all) c = static_cast<char>(random.below(256));
    return all;
  }();
  const std::size_t at = (position + salt_ * 7919) % text.size();
  return {text.data() + at, text.size() - at};
}

void judged_stream::fill(char* data, std::size_t bytes) const noexcept {
  for (std::size_t done = 0; done < bytes;) {
    done += text_at(written_ + done).copy(data + done, bytes - done);
  }
}

void judged_stream::got(const char* data, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const auto sent = text_at(received_ + done).substr(0, bytes - done);
    if (const std::string_view here(data + done, sent.size()); here != sent) {
      const auto differs = std::mismatch(here.begin(), here.end(), sent.begin()).first;
      done += static_cast<std::size_t>(differs - here.begin());
      of_.broken("byte " + std::to_string(received_ + done) +
                 " of a stream is not what was sent there");
      break;
    }
    done += sent.size();
  }
  received_ += bytes;
}

}  // namespace beck::test
