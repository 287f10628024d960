// SPDX-License-Identifier: BSL-1.0
// The simulated programs under libFuzzer: the input is a tape, whose seed says which program, and
// the coverage of the library leads to the choices. Bytes that are no tape have to be refused.
#include <beck/base/error.hpp>
#include <beck/testing/sim.hpp>
#include <beck/testing/tape.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <algorithm>

#include "fuzz/tape_mutator.hpp"
#include "simulation/programs.hpp"

namespace sim = beck::testing::sim;
using beck::detail::sim_tape;
using beck::testing::small_random;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);

namespace {

std::string_view view(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// An input that is no tape counts as one without draws.
sim_tape decode(const std::uint8_t* data, std::size_t size) {
  sim_tape tape;
  if (tape.decode(view(data, size)) != nullptr) tape = sim_tape();
  return tape;
}

void run(const sim::tape& tape) {
  const auto& [name, program] =
      beck::test::simulated_programs[tape.seed() % beck::test::simulated_program_count];
  sim::world world(tape);
  const std::string report = program(world);
  sim::world again(world.tape());
  const std::string second = program(again);
  if (report.empty() && second.empty() && world.hash() == again.hash()) return;
  std::fprintf(stderr, "%s; simulate %s --tape FILE replays it\n",
               report.empty() ? "run again it differs" : report.c_str(), name);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    run(sim::tape::from_bytes(view(data, size)));
  } catch (const beck::io_error& refused) {
    if (refused.code() != beck::error::invalid_argument) std::abort();
    return -1;  // keep it out of the corpus
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t size_max, unsigned seed) {
  small_random random(seed);
  if (random.chance(50)) return LLVMFuzzerMutate(data, size, size_max);
  sim_tape tape = decode(data, size);
  beck::test::mutate(tape, random);
  const std::string bytes = beck::test::encode_within(tape, size_max);
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data_a, std::size_t size_a,
                                                 const std::uint8_t* data_b, std::size_t size_b,
                                                 std::uint8_t* out, std::size_t size_max,
                                                 unsigned seed) {
  small_random random(seed);
  const sim_tape child = beck::test::cross(decode(data_a, size_a), decode(data_b, size_b), random);
  const std::string bytes = beck::test::encode_within(child, size_max);
  std::copy(bytes.begin(), bytes.end(), out);
  return bytes.size();
}
