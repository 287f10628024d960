// SPDX-License-Identifier: BSL-1.0
// The passes of the search, and the public function that runs it. Each pass ends: it visits a
// stream once for each length of span, and every accepted candidate is smaller than the one before.
#include "testing/shrinker.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include <beck/testing/shrink.hpp>

#include "testing/world_access.hpp"

namespace beck::testing::sim {
using namespace detail;
namespace {

using values = std::vector<std::uint64_t>;

void trim(values& stream) noexcept {
  while (!stream.empty() && stream.back() == 0) stream.pop_back();
}

std::uint64_t fingerprint(const sim_tape& tape) noexcept {
  std::uint64_t sum = 0xcbf29ce484222325;
  const auto fold = [&sum](std::uint64_t word) {
    sum = (sum ^ word) * 0xd6e8feb86659fd93;
    sum ^= sum >> 32;
  };
  for (const values& stream : tape.streams) {
    fold(stream.size());
    for (const std::uint64_t value : stream) fold(value);
  }
  return sum;
}

/// Returns the number of bits of all values: a measure of their size that cannot overflow.
std::uint64_t bits_of(const sim_tape& tape) noexcept {
  std::uint64_t bits = 0;
  for (const values& stream : tape.streams) {
    for (const std::uint64_t value : stream) {
      bits += static_cast<std::uint64_t>(64 - (value == 0 ? 64 : __builtin_clzll(value)));
    }
  }
  return bits;
}

auto sum_of(const sim_tape& tape) noexcept {
  unsigned long long low = 0;  // wraps; compared only between tapes with equally many bits
  for (const values& stream : tape.streams)
    low = std::accumulate(stream.begin(), stream.end(), low);
  return low;
}

/// Orders tapes: by the number of choices, then of draws, then by the size of the values.
bool smaller(const sim_tape& a, const sim_tape& b) noexcept {
  return std::tuple(a.choices(), a.draws(), bits_of(a), sum_of(a)) <
         std::tuple(b.choices(), b.draws(), bits_of(b), sum_of(b));
}

bool all_calm(const values& stream, std::size_t first, std::size_t count) noexcept {
  const auto begin = stream.begin() + static_cast<std::ptrdiff_t>(first);
  return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(count),
                     [](std::uint64_t value) { return value == 0; });
}

}  // namespace

const sim_tape& shrinker::run() {
  for (values& stream : best_.streams) trim(stream);
  for (std::uint64_t before = 0; !exhausted() && before != fingerprint(best_);) {
    before = fingerprint(best_);
    calm_streams();
    // From the last stream to the first: the first streams decide which draws of the later ones are
    // made at all.
    for (std::size_t stream = sim_tape::streams_max; stream-- > 0;) cut_tails(stream);
    for (std::size_t stream = sim_tape::streams_max; stream-- > 0;) calm_spans(stream);
    for (std::size_t stream = sim_tape::streams_max; stream-- > 0;) delete_spans(stream);
    for (std::size_t stream = 0; stream < sim_tape::streams_max; ++stream) lower_values(stream);
  }
  return best_;
}

bool shrinker::attempt(sim_tape candidate) {
  for (values& stream : candidate.streams) trim(stream);
  if (exhausted() || !smaller(candidate, best_)) return false;
  if (!tried_.insert(fingerprint(candidate)).second) return false;
  ++tries_;
  sim_tape drawn = candidate;
  if (!judge_.fails(drawn)) return false;
  best_ = smaller(drawn, candidate) ? std::move(drawn) : std::move(candidate);
  judge_.found(tries_, best_);
  return true;
}

/// Sets all streams to zero, then single ones.
void shrinker::calm_streams() {
  {
    sim_tape calm;
    calm.seed = best_.seed;
    attempt(std::move(calm));
  }
  for (std::size_t stream = 0; stream < sim_tape::streams_max; ++stream) {
    if (best_.streams[stream].empty()) continue;
    sim_tape candidate = best_;
    candidate.streams[stream].clear();
    attempt(std::move(candidate));
  }
}

/// Cuts off the end of a stream: half of it, then shorter ends.
void shrinker::cut_tails(std::size_t stream) {
  for (std::size_t cut = best_.streams[stream].size() / 2; cut != 0 && !exhausted();) {
    sim_tape candidate = best_;
    values& kept = candidate.streams[stream];
    if (cut > kept.size()) break;
    kept.resize(kept.size() - cut);
    if (!attempt(std::move(candidate))) cut /= 2;
  }
}

/// Sets spans of a stream to zero, from long ones down to single draws.
void shrinker::calm_spans(std::size_t stream) {
  for (std::size_t span = (best_.streams[stream].size() + 1) / 2; span != 0 && !exhausted();
       span /= 2) {
    for (std::size_t at = 0; at < best_.streams[stream].size() && !exhausted(); at += span) {
      const std::size_t count = std::min(span, best_.streams[stream].size() - at);
      if (all_calm(best_.streams[stream], at, count)) continue;
      sim_tape candidate = best_;
      const auto first = candidate.streams[stream].begin() + static_cast<std::ptrdiff_t>(at);
      std::fill(first, first + static_cast<std::ptrdiff_t>(count), std::uint64_t{0});
      attempt(std::move(candidate));
    }
  }
}

/// Deletes spans of a stream, from long ones down to single draws.
void shrinker::delete_spans(std::size_t stream) {
  for (std::size_t span = (best_.streams[stream].size() + 1) / 2; span != 0 && !exhausted();
       span /= 2) {
    for (std::size_t at = 0; at < best_.streams[stream].size() && !exhausted();) {
      sim_tape candidate = best_;
      values& draws = candidate.streams[stream];
      const auto first = draws.begin() + static_cast<std::ptrdiff_t>(at);
      draws.erase(first, first + static_cast<std::ptrdiff_t>(std::min(span, draws.size() - at)));
      if (!attempt(std::move(candidate))) at += span;
    }
  }
}

void shrinker::lower_values(std::size_t stream) {
  for (std::size_t at = 0; at < best_.streams[stream].size() && !exhausted(); ++at) {
    // Lowers the value by a step; a step after which the program no longer fails is halved.
    const auto value = [&] {
      return at < best_.streams[stream].size() ? best_.streams[stream][at] : 0;
    };
    for (std::uint64_t step = value() - value() / 2; step != 0 && value() != 0 && !exhausted();) {
      if (step > value()) {
        step = value();
        continue;
      }
      sim_tape candidate = best_;
      candidate.streams[stream][at] -= step;
      if (!attempt(std::move(candidate))) step /= 2;
    }
  }
}

}  // namespace beck::testing::sim

namespace beck::testing::sim {
using namespace detail;

namespace {

class callback_judge final : public shrink_judge {
 public:
  callback_judge(bool (*still_fails)(const tape&, void*), void* data, const shrink_options& how,
                 std::size_t choices)
      : still_fails_(still_fails), data_(data), how_(how), choices_before_(choices) {}

  bool fails(sim_tape& candidate) override {
    return still_fails_(tape_access::make(candidate), data_);
  }
  void found(std::size_t tries, const sim_tape& smallest) override {
    if (how_.on_progress == nullptr) return;
    how_.on_progress({tries, choices_before_, smallest.choices()}, how_.data);
  }

 private:
  bool (*still_fails_)(const tape&, void*);
  void* data_;
  const shrink_options& how_;
  std::size_t choices_before_;
};

}  // namespace

tape functions::shrink_erased(const tape& failing, bool (*still_fails)(const tape&, void*),
                              void* data, const shrink_options& how) {
  callback_judge judge(still_fails, data, how, failing.choices());
  shrinker search(tape_access::draws_of(failing), judge, how.tries_max);
  return tape_access::make(search.run());
}

}  // namespace beck::testing::sim
