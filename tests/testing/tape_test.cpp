// SPDX-License-Identifier: BSL-1.0
// Tapes: what a world has drawn, replayed, cut short, changed, and as text.
#include <beck/testing/tape.hpp>

#include <doctest/doctest.h>
#include <beck/base/error.hpp>
#include <beck/io/read_write.hpp>
#include <beck/net/tcp.hpp>
#include <beck/testing/sim.hpp>

#include <unistd.h>
#include <cstdio>
#include <ostream>
#include <string>
#include <vector>

#include "io/sim/sim_draws.hpp"
#include "testing/world_access.hpp"

using namespace beck;
using namespace beck::detail;
namespace sim = beck::testing::sim;

namespace {

struct outcome {
  std::uint64_t hash = 0;
  std::vector<std::uint64_t> numbers;
  std::string got;
};

/// Sends a drawn text over TCP; the world draws delays, cuts, orders and a port.
outcome talk(sim::world& world) {
  outcome result;
  io_context ctx(world.host("a"));
  ip::tcp::acceptor acceptor(ctx, ip::tcp::endpoint(ip::tcp::v4(), 0));
  ip::tcp::socket client(ctx);
  client.connect(acceptor.local_endpoint());
  ip::tcp::socket server = acceptor.accept();
  std::string text(20 + world.random().below(20), 'x');
  for (char& letter : text) {
    result.numbers.push_back(world.random().below(26));
    letter = static_cast<char>('a' + result.numbers.back());
  }
  result.got.assign(text.size(), '\0');
  async_write(client, buffer(text), [](error_code, std::size_t) {});
  async_read(server, buffer(result.got), [](error_code, std::size_t) {});
  ctx.run();
  CHECK(result.got == text);
  result.hash = world.hash();
  return result;
}

sim::tape record(std::uint64_t seed, outcome& result) {
  sim::world world(seed, sim::settings().record());
  result = talk(world);
  return world.tape();
}

outcome replay(const sim::tape& tape) {
  sim::world world(tape);
  return talk(world);
}

std::string refusal(const std::string& bytes) {
  try {
    sim::tape::from_bytes(bytes);
  } catch (const io_error& refused) {
    CHECK(refused.code() == error::invalid_argument);
    return refused.what();
  }
  return "";
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

struct temporary_file {
  temporary_file() {
    const int fd = ::mkstemp(name);
    REQUIRE(fd >= 0);
    ::close(fd);
  }
  ~temporary_file() { ::unlink(name); }
  void write(const std::string& text) const {
    std::FILE* file = std::fopen(name, "wb");
    REQUIRE(file != nullptr);
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  }
  char name[32] = "/tmp/beck_tape_XXXXXX";
};

}  // namespace

TEST_CASE("recording a world changes nothing in it") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    sim::world plain(seed);
    outcome recorded;
    record(seed, recorded);
    CHECK(talk(plain).hash == recorded.hash);
  }
}

TEST_CASE("a tape replays the run that it was recorded in, and records it again") {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    outcome first;
    const sim::tape tape = record(seed, first);
    CHECK(tape.seed() == seed);
    CHECK(tape.draws() >= tape.choices());
    CHECK(tape.choices() > 20);
    sim::world world(tape);
    const outcome second = talk(world);
    CHECK(world.seed() == seed);
    CHECK(second.hash == first.hash);
    CHECK(second.numbers == first.numbers);
    CHECK(world.tape() == tape);
  }
}

TEST_CASE("an empty tape is the calmest run") {
  const outcome calm = replay(sim::tape());
  CHECK(calm.got == std::string(20, 'a'));
  sim::world world{sim::tape()};
  talk(world);
  CHECK(world.tape() == sim::tape());
  CHECK(world.tape().draws() == 0);
}

TEST_CASE("a tape that was cut short anywhere replays, and calm draws follow") {
  outcome whole;
  const beck::detail::sim_tape recorded = sim::tape_access::draws_of(record(3, whole));
  for (std::size_t stream = 0; stream < beck::detail::sim_tape::streams_max; ++stream) {
    for (std::size_t left = 0; left < recorded.streams[stream].size(); left += 3) {
      beck::detail::sim_tape cut = recorded;
      cut.streams[stream].resize(left);
      const outcome result = replay(sim::tape_access::make(cut));
      if (stream == beck::detail::sim_draws::program_stream && left > 0) {
        for (std::size_t i = left; i < result.numbers.size(); ++i) CHECK(result.numbers[i] == 0);
      }
    }
  }
}

TEST_CASE("a change in one stream leaves the choices of the others as they were") {
  outcome first;
  beck::detail::sim_tape changed = sim::tape_access::draws_of(record(5, first));
  changed.streams[1].clear();  // all delays are least
  const outcome second = replay(sim::tape_access::make(changed));
  CHECK(second.numbers == first.numbers);
  CHECK(second.hash != first.hash);
}

TEST_CASE("values that are too large for a draw are brought into its range") {
  beck::detail::sim_tape wild;
  for (auto& values : wild.streams) values.assign(50, UINT64_MAX);
  sim::world world(sim::tape_access::make(wild));
  const outcome first = talk(world);
  for (const std::uint64_t number : first.numbers) CHECK(number < 26);
  CHECK(replay(world.tape()).hash == first.hash);
}

TEST_CASE("what has one outcome draws nothing") {
  sim::world world(1, sim::settings().record());
  CHECK(world.random().below(1) == 0);
  CHECK(world.random().between(7, 7) == 7);
  CHECK(world.random().chance(1));
  CHECK_FALSE(world.random().chance(0));
  CHECK(world.tape().draws() == 0);
  while (!world.random().chance(0.5)) {}
  CHECK(world.tape().choices() == 1);
}

TEST_CASE("a world that does not record has no tape and says how to get one") {
  const sim::world world(1);
  CHECK_THROWS_WITH_AS(world.tape(), doctest::Contains("settings().record()"), io_error);
}

TEST_CASE("a tape survives as bytes, as text and in a file") {
  outcome ignored;
  for (std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{300}, UINT64_MAX}) {
    const sim::tape tape = record(seed, ignored);
    CHECK(sim::tape::from_bytes(tape.bytes()) == tape);
    CHECK(sim::tape::from_text(tape.text()) == tape);
    const temporary_file file;
    tape.save(file.name);
    CHECK(sim::tape::load(file.name) == tape);
    file.write(std::string(tape.bytes()));
    CHECK(sim::tape::load(file.name) == tape);
  }
  CHECK(sim::tape::from_text(sim::tape().text()) == sim::tape());
  CHECK(sim::tape::from_text(" " + std::string(sim::tape().text()) + "\r\n") == sim::tape());
}

TEST_CASE("a copy of a tape is equal and its own") {
  outcome ignored;
  sim::tape a = record(1, ignored);
  sim::tape b = a;
  CHECK(a == b);
  a = sim::tape();
  CHECK(a != b);
  b = std::move(a);
  CHECK(b == sim::tape());
}

TEST_CASE("malformed bytes are refused by name") {
  const std::string head = "BKT1";
  CHECK(contains(refusal(""), "BKT1"));
  CHECK(contains(refusal("BKT2\x01"), "BKT1"));
  CHECK(contains(refusal(head), "where the seed is"));
  CHECK(contains(refusal(head + "\xff\xff"), "where the seed is"));
  CHECK(contains(refusal(head + std::string(9, '\xff') + "\x02"), "where the seed is"));
  const std::string seeded = head + "\x05";
  CHECK(refusal(seeded).empty());
  CHECK(contains(refusal(seeded + "\x80"), "where a stream begins"));
  CHECK(contains(refusal(seeded + "\x10\x01\x01"), "a stream that does not exist"));
  CHECK(contains(refusal(seeded + "\x03"), "where a stream's length is"));
  CHECK(contains(refusal(seeded + "\x03\xff\xff\xff\x7f"), "more draws than a tape can have"));
  CHECK(contains(refusal(seeded + "\x03\x02\x07"), "inside a stream"));
  CHECK(contains(refusal(seeded + "\x03\x02\x07" + std::string(1, '\0')), "inside a row of zeros"));
  CHECK(contains(refusal(seeded + "\x03\x02" + std::string(1, '\0') + "\x02"),
                 "longer than its stream"));
  const std::string one = "\x03\x01\x07";
  CHECK(refusal(seeded + one).empty());
  CHECK(contains(refusal(seeded + one + one), "not in order"));
}

TEST_CASE("every prefix and every changed byte of a tape is refused or replays") {
  outcome ignored;
  const sim::tape tape = record(2, ignored);
  const std::string bytes(tape.bytes());
  unsigned refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x81);
    for (const std::string& bad : {bytes.substr(0, i), changed}) {
      beck::detail::sim_tape draws;
      if (draws.decode(bad) != nullptr) {
        ++refused;
      } else {
        replay(sim::tape_access::make(draws));
      }
    }
  }
  CHECK(refused > 4);
}

TEST_CASE("malformed text is refused by name") {
  outcome ignored;
  std::string text(record(2, ignored).text());
  CHECK_THROWS_WITH_AS(sim::tape::from_text(""), doctest::Contains("too short"), io_error);
  CHECK_THROWS_WITH_AS(sim::tape::from_text("a+b"), doctest::Contains("no letter"), io_error);
  text[text.size() / 2] = text[text.size() / 2] == 'A' ? 'B' : 'A';
  CHECK_THROWS_WITH_AS(sim::tape::from_text(text), doctest::Contains("checksum"), io_error);
}

TEST_CASE("files that are no tapes are refused with their name") {
  CHECK_THROWS_WITH_AS(sim::tape::load("/nonexistent/tape"), doctest::Contains("/nonexistent/tape"),
                       io_error);
  CHECK_THROWS_AS(sim::tape().save("/nonexistent/tape"), io_error);
  const temporary_file file;
  file.write("no tape!");
  CHECK_THROWS_WITH_AS(sim::tape::load(file.name), doctest::Contains(file.name), io_error);
  CHECK_THROWS_WITH_AS(sim::tape::load("/tmp"), doctest::Contains("/tmp"), io_error);
}
