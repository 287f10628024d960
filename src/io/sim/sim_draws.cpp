// SPDX-License-Identifier: BSL-1.0
// The draws of a world: it has reels if it records or replays, and none if it only generates; and
// tapes as bytes.
#include "io/sim/sim_draws.hpp"

#include <algorithm>

#include <beck/base/assert.hpp>

namespace beck::detail {
namespace {

void put_number(std::string& bytes, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  bytes += static_cast<char>(number);
}

/// Takes a number off the front of `bytes`. Returns false if it is cut short, or too large for 64
/// bits.
bool take_number(std::string_view& bytes, std::uint64_t& number) noexcept {
  number = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    if (shift == 63 && byte > 1) return false;
    number |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

/// Appends a stream: its length and values; after a 0 the number of further zeros.
void put_stream(std::string& bytes, const std::vector<std::uint64_t>& values) {
  put_number(bytes, values.size());
  for (std::size_t i = 0; i < values.size();) {
    put_number(bytes, values[i]);
    const std::size_t first = i++;
    if (values[first] != 0) continue;
    while (i < values.size() && values[i] == 0) ++i;
    put_number(bytes, i - first - 1);
  }
}

/// Takes a stream off the front of `bytes`. Returns nullptr, or the reason why it is malformed.
const char* take_stream(std::string_view& bytes, std::size_t draws_left,
                        std::vector<std::uint64_t>& values) {
  std::uint64_t count = 0;
  if (!take_number(bytes, count)) return "it ends, or has no number, where a stream's length is";
  if (count > draws_left) return "it claims more draws than a tape can have";
  values.reserve(std::min<std::size_t>(count, bytes.size()));
  while (values.size() < count) {
    std::uint64_t value = 0;
    if (!take_number(bytes, value)) return "it ends, or has no number, inside a stream";
    values.push_back(value);
    if (value != 0) continue;
    std::uint64_t more = 0;
    if (!take_number(bytes, more)) return "it ends, or has no number, inside a row of zeros";
    if (more > count - values.size()) return "a row of zeros is longer than its stream";
    values.resize(values.size() + static_cast<std::size_t>(more));
  }
  return nullptr;
}

}  // namespace

std::uint64_t sim_reel::past_end() noexcept {
  ++beyond;
  BECK_ASSERT(beyond < beyond_max,
              "a program draws without end: past its end a tape is calm for ever");
  return 0;
}

sim_draws::sim_draws(std::uint64_t seed, bool recorded)
    : seed_(seed), reels_(recorded ? std::make_unique<sim_reel[]>(streams_max) : nullptr) {}

sim_draws::sim_draws(const sim_tape& tape)
    : seed_(tape.seed), reels_(std::make_unique<sim_reel[]>(streams_max)) {
  for (std::size_t i = 0; i < streams_max; ++i) {
    reels_[i].values = tape.streams[i];
    reels_[i].replays = true;
  }
}

sim_reel* sim_draws::reel(std::uint64_t stream) const noexcept {
  BECK_ASSERT(stream < streams_max, "a world has no stream of draws with this number");
  return reels_ == nullptr ? nullptr : &reels_[stream];
}

sim_tape sim_draws::tape() const {
  BECK_ASSERT(recorded(), "the draws of this world are not kept");
  sim_tape tape;
  tape.seed = seed_;
  for (std::size_t i = 0; i < streams_max; ++i) {
    const sim_reel& reel = reels_[i];
    std::size_t drawn = reel.replays ? reel.at : reel.values.size();
    while (drawn != 0 && reel.values[drawn - 1] == 0) --drawn;
    tape.streams[i].assign(reel.values.begin(),
                           reel.values.begin() + static_cast<std::ptrdiff_t>(drawn));
  }
  return tape;
}

// --- tapes as bytes ------------------------------------------------------------------------------
// The bytes may come from anywhere: each number is checked before it is used.

std::size_t sim_tape::draws() const noexcept {
  std::size_t sum = 0;
  for (const auto& values : streams) sum += values.size();
  return sum;
}

std::size_t sim_tape::choices() const noexcept {
  std::size_t sum = 0;
  for (const auto& values : streams) {
    sum += values.size() -
           static_cast<std::size_t>(std::count(values.begin(), values.end(), std::uint64_t{0}));
  }
  return sum;
}

std::string sim_tape::encode() const {
  std::string bytes(mark);
  put_number(bytes, seed);
  for (std::size_t i = 0; i < streams_max; ++i) {
    if (streams[i].empty()) continue;
    put_number(bytes, i);
    put_stream(bytes, streams[i]);
  }
  return bytes;
}

const char* sim_tape::decode(std::string_view bytes) {
  *this = sim_tape();
  if (bytes.substr(0, mark.size()) != mark) return "it does not begin with BKT1";
  bytes.remove_prefix(mark.size());
  if (!take_number(bytes, seed)) return "it ends, or has no number, where the seed is";
  std::size_t left = draws_max;
  for (std::uint64_t next = 0; !bytes.empty();) {
    std::uint64_t stream = 0;
    if (!take_number(bytes, stream)) return "it ends, or has no number, where a stream begins";
    if (stream < next) return "its streams are not in order";
    if (stream >= streams_max) return "it has a stream that does not exist";
    if (const char* wrong = take_stream(bytes, left, streams[stream]); wrong != nullptr) {
      return wrong;
    }
    left -= streams[stream].size();
    next = stream + 1;
  }
  return nullptr;
}

}  // namespace beck::detail
