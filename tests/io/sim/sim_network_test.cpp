// SPDX-License-Identifier: BSL-1.0
// What only a simulated network does: drawn delays and pieces, and a hash of it all.
#include "io/sim/sim_network.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "io/sim/both_systems.hpp"

using namespace beck;
using namespace beck::detail;
using test::kernel_calls;

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

beck::detail::sim_profile calm() {
  sim_profile profile;
  profile.delay_ns_min = profile.delay_ns_max = 10'000;
  profile.split = profile.short_read = sim_probability(0);
  return profile;
}

/// A TCP connection in a world of its own.
struct pair_of {
  explicit pair_of(const beck::detail::sim_profile& profile, std::uint64_t seed = 1)
      : sys(std::make_unique<beck::detail::sim_world>(seed, profile)) {
    const auto c = kernel_calls(sys).connected();
    fd[0] = c.client;
    fd[1] = c.server;
  }
  void send(const std::string& text) {
    CHECK(sys.send(fd[0], text.data(), text.size()) == static_cast<std::ptrdiff_t>(text.size()));
  }
  beck::detail::sim_system sys;
  int fd[2];
};

}  // namespace

TEST_CASE("what is sent travels as long as it was told to") {
  beck::detail::sim_profile profile = calm();
  profile.delay_ns_min = 1'000;
  profile.delay_ns_max = 9'000;
  std::int64_t least = INT64_MAX, most = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    pair_of pair(profile, seed);
    const std::int64_t start = pair.sys.now();
    pair.send("x");
    CHECK(pair.sys.poll(pair.fd[1], poll_in, INT64_MIN) == 0);
    CHECK(pair.sys.poll(pair.fd[1], poll_in, INT64_MAX) == poll_in);
    const std::int64_t travelled = pair.sys.now() - start;
    least = travelled < least ? travelled : least;
    most = travelled > most ? travelled : most;
  }
  CHECK(least >= 1'000);
  CHECK(least < 2'000);
  CHECK(most <= 9'000);
  CHECK(most > 8'000);
}

TEST_CASE("what is sent arrives in pieces, down to single bytes, in order and complete") {
  beck::detail::sim_profile profile;
  profile.split = beck::detail::sim_probability(0.75);
  profile.short_read = sim_probability(0);
  const std::string text = "the quick brown fox jumps over the lazy dog";
  std::size_t largest = 0;
  std::size_t single = 0, most_pieces = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    pair_of pair(profile, seed);
    pair.send(text);
    std::string got;
    std::size_t pieces = 0;
    while (got.size() < text.size()) {
      REQUIRE(pair.sys.poll(pair.fd[1], poll_in, INT64_MAX) == poll_in);
      char part[64];
      const auto n = static_cast<std::size_t>(pair.sys.receive(pair.fd[1], part, sizeof part));
      REQUIRE(n <= sizeof part);
      got.append(part, n);
      largest = n > largest ? n : largest;
      single += n == 1 ? 1 : 0;
      ++pieces;
    }
    CHECK(got == text);
    most_pieces = pieces > most_pieces ? pieces : most_pieces;
  }
  CHECK(single > 100);
  CHECK(largest > 20);
  CHECK(most_pieces > 8);
  CHECK(most_pieces <= beck::detail::sim_network::pieces_max);
}

TEST_CASE("a short read leaves the rest and announces it again") {
  beck::detail::sim_profile profile = calm();
  profile.short_read = beck::detail::sim_probability(1);
  pair_of pair(profile);
  beck::detail::sim_ready_list news;
  beck::detail::sim_world& world = pair.sys.world();
  beck::detail::sim_socket& reader = *pair.sys.host().find(pair.fd[1]);
  pair.send("0123456789");
  REQUIRE(pair.sys.poll(pair.fd[1], poll_in, INT64_MAX) == poll_in);
  world.network().watch(reader, news, 7);
  std::size_t left = 10;
  while (left > 1) {
    news.entries.clear();
    reader.listed = false;
    char part[16];
    const auto n = static_cast<std::size_t>(pair.sys.receive(pair.fd[1], part, sizeof part));
    REQUIRE(n >= 1);
    REQUIRE(n < left);
    left -= n;
    CHECK(news.entries.empty());
    REQUIRE(world.advance(INT64_MAX));
    CHECK(news.entries.size() == 1);
  }
  beck::detail::sim_network::unwatch(reader);
}

TEST_CASE("a network without disturbances delivers in one piece after one delay") {
  pair_of pair(calm());
  const std::int64_t start = pair.sys.now();
  pair.send("whole");
  CHECK(pair.sys.poll(pair.fd[1], poll_in, INT64_MAX) == poll_in);
  CHECK(pair.sys.now() == start + 10'000);
  CHECK(pair.sys.available(pair.fd[1]) == 5);
}

TEST_CASE("a poll that nothing ends takes its time and no longer") {
  pair_of pair(calm());
  const std::int64_t start = pair.sys.now();
  CHECK(start > beck::detail::sim_clock::epoch_ns);
  CHECK(pair.sys.poll(pair.fd[1], poll_in, start + 3600 * second_ns) == 0);
  CHECK(pair.sys.now() == start + 3600 * second_ns);
}

TEST_CASE("between UNIX sockets everything is there at once, and only the news travels") {
  beck::detail::sim_system sys(std::make_unique<sim_world>(1, calm()));
  int pair[2];
  REQUIRE(sys.open_pair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  beck::detail::sim_ready_list news;
  beck::detail::sim_network& network = sys.world().network();
  network.watch(*sys.host().find(pair[1]), news, 7);
  news.entries.clear();
  sys.host().find(pair[1])->listed = false;
  const std::int64_t start = sys.now();
  CHECK(sys.send(pair[0], "now", 3) == 3);
  CHECK(sys.available(pair[1]) == 3);
  sys.close(pair[0]);
  char data[8];
  CHECK(sys.receive(pair[1], data, sizeof data) == 3);
  CHECK(sys.receive(pair[1], data, sizeof data) == 0);
  CHECK(news.entries.empty());
  REQUIRE(sys.world().advance(INT64_MAX));
  CHECK(sys.now() == start + 10'000);
  CHECK(news.entries.size() == 1);
  beck::detail::sim_network::unwatch(*sys.host().find(pair[1]));
}

TEST_CASE("the hash follows from seed and calls") {
  const auto hash_of = [](std::uint64_t seed, const char* text) {
    pair_of pair(beck::detail::sim_profile(), seed);
    pair.send(text);
    CHECK(pair.sys.poll(pair.fd[1], poll_in, INT64_MAX) == poll_in);
    return pair.sys.world().digest().value();
  };
  CHECK(hash_of(1, "abc") == hash_of(1, "abc"));
  CHECK(hash_of(1, "abc") != hash_of(2, "abc"));
  CHECK(hash_of(1, "abc") != hash_of(1, "abcd"));
}

TEST_CASE("a client of a full backlog gets in when there is room, or gives up after two minutes") {
  for (const bool accepted : {true, false}) {
    beck::detail::sim_system sys(std::make_unique<sim_world>(1, calm()));
    const kernel_calls k(sys);
    const int listener = k.listener(0);
    const auto where = k.v4(k.port(listener));
    const int first = k.tcp();
    REQUIRE(k.connect(first, where) == -EINPROGRESS);
    REQUIRE(k.wait(first, poll_out) == poll_out);
    const int second = k.tcp();
    REQUIRE(k.connect(second, where) == -EINPROGRESS);
    const std::int64_t start = sys.now();
    CHECK(sys.poll(second, poll_out, start + second_ns / 2) == 0);
    std::size_t none = 0;
    if (accepted) REQUIRE(sys.accept(listener, nullptr, none) >= 0);
    CHECK(sys.poll(second, poll_out, INT64_MAX) >= int{poll_out});
    CHECK(sys.pending_error(second) == (accepted ? 0 : -ETIMEDOUT));
    CHECK(sys.now() - start >= second_ns * (accepted ? 1 : 63));
    CHECK(sys.now() - start <= second_ns * (accepted ? 2 : 128));
  }
}

TEST_CASE("descriptor numbers begin at 1000 and the lowest free one comes next") {
  beck::detail::sim_system sys(std::make_unique<sim_world>(1, calm()));
  int fd[5];
  for (int i = 0; i < 5; ++i) {
    fd[i] = sys.open_socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd[i] == 1000 + i);
  }
  sys.close(fd[3]);
  sys.close(fd[1]);
  CHECK(sys.open_socket(AF_UNIX, SOCK_STREAM, 0) == 1001);
  CHECK(sys.open_socket(AF_UNIX, SOCK_STREAM, 0) == 1003);
  CHECK(sys.open_socket(AF_UNIX, SOCK_STREAM, 0) == 1005);
  CHECK(sys.adopt(1005) == 0);
  CHECK(sys.adopt(1006) == -EBADF);
  CHECK(sys.close(-1) == -EBADF);
  CHECK(sys.close(0) == -EBADF);
}

TEST_CASE("a host has so many descriptors and no more") {
  beck::detail::sim_system sys(std::make_unique<sim_world>(1, calm()));
  int opened = 0;
  int result = 0;
  while ((result = sys.open_socket(AF_UNIX, SOCK_STREAM, 0)) >= 0) ++opened;
  CHECK(result == -EMFILE);
  CHECK(opened == static_cast<int>(beck::detail::sim_host::descriptors_max));
  int pair[2];
  CHECK(sys.open_pair(AF_UNIX, SOCK_STREAM, 0, pair) == -EMFILE);
  sys.close(1234);
  CHECK(sys.open_pair(AF_UNIX, SOCK_STREAM, 0, pair) == -EMFILE);
  CHECK(sys.open_socket(AF_UNIX, SOCK_STREAM, 0) == 1234);
}
