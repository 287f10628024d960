// SPDX-License-Identifier: BSL-1.0
// Copies and transmissions under everything that a disk and a network can do to them, and stopped
// at any time: either all is there and equal, or there is an error and what was reported is there.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/net/tcp.hpp>
#include <beck/testing/sim.hpp>
#include <beck/transfer/copy.hpp>
#include <beck/transfer/transmit.hpp>
#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

#include "support/scale.hpp"

namespace sim = beck::testing::sim;
using beck::file_object;
using beck::random_access_file;
using beck::ip::tcp;
using sim::fault;

namespace {

constexpr auto for_writing = file_object::read_write | file_object::create;

/// Bytes that say where they are.
std::string numbered(std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>((i * 2654435761U) >> 16);
  return text;
}

sim::settings bad_disk() {
  return sim::settings().with(sim::faults::none()
                                  .set(fault::device_error, 0.02)
                                  .set(fault::disk_full, 0.02)
                                  .set(fault::short_read, 0.3)
                                  .set(fault::short_write, 0.3)
                                  .set(fault::reset, 0.005));
}

/// Past the faults: what a file holds.
std::string contents(sim::world& world, beck::io_context& ctx, const char* path) {
  world.configure(sim::settings());
  random_access_file file(ctx);
  beck::error_code ec;
  file.open(path, file_object::read_only, ec);
  if (ec) return {};
  std::string text(file.size(), 'x');
  CHECK(beck::read_at(file, 0, beck::buffer(text), ec) == text.size());
  return text;
}

void make_source(sim::host& host, const std::string& data) {
  beck::io_context ctx(host);
  random_access_file file(ctx, "from", for_writing);
  CHECK(beck::write_at(file, 0, beck::buffer(data)) == data.size());
}

tcp::endpoint server_address() {
  return {beck::ip::make_address_v4("10.0.0.1"), 80};  // the first host of its world
}

struct tally {
  int whole = 0;
  int failed = 0;
  int stopped = 0;
};

void copy_once(std::uint64_t seed, tally& all) {
  CAPTURE(seed);
  sim::world world(seed, sim::settings());
  sim::host& host = world.host("disk");
  const std::string data = numbered(1 + world.random().below(200'000));
  make_source(host, data);
  world.configure(bad_disk());
  beck::io_context ctx(host);
  beck::transfer_report report;
  beck::error_code error;
  const auto how = beck::copy_options{.depth = 1 + world.random().below(6),
                                      .block_bytes = 4096 * (1 + world.random().below(4))};
  const auto limit = beck::duration(static_cast<std::int64_t>(world.random().below(20'000'000)));
  const auto work = [&]() -> beck::task<> {
    random_access_file from(ctx, "from", file_object::read_only);
    random_access_file to(ctx, "to", for_writing);
    auto op = beck::async_copy(from, to, how);
    auto done = co_await beck::timeout(std::move(op), limit);
    error = done.error();
    report = *done;
  };
  beck::co_spawn(ctx, work(), beck::detached);
  ctx.run();
  const std::string copied = contents(world, ctx, "to");
  CHECK(report.bytes <= data.size());
  CHECK(copied.substr(0, report.bytes) == data.substr(0, report.bytes));
  if (!error) {
    ++all.whole;
    CHECK(report.bytes == data.size());
    CHECK(copied == data);
  } else if (error == beck::error::timeout) {
    ++all.stopped;
  } else {
    ++all.failed;
    CHECK((error == std::errc::io_error || error == std::errc::no_space_on_device));
  }
}

void transmit_once(std::uint64_t seed, tally& all) {
  CAPTURE(seed);
  sim::world world(seed, sim::settings());
  sim::host& host = world.host("server");
  const std::string data = numbered(1 + world.random().below(200'000));
  make_source(host, data);
  world.configure(bad_disk());
  beck::io_context server(host);
  beck::io_context client(world.host("client"));
  beck::transfer_report report;
  beck::error_code error;
  std::string arrived;
  tcp::acceptor acceptor(server, tcp::endpoint(tcp::v4(), 80));
  const auto how = beck::transmit_options{.depth = 1 + world.random().below(6),
                                          .block_bytes = 4096 * (1 + world.random().below(4))};
  const auto limit = beck::duration(static_cast<std::int64_t>(world.random().below(50'000'000)));
  const auto serve = [&]() -> beck::task<> {
    auto accepted = co_await acceptor.async_accept();
    tcp::socket peer = std::move(accepted).value();
    random_access_file from(server, "from", file_object::read_only);
    auto op = beck::async_transmit(peer, from, 0, beck::to_the_end, how);
    auto done = co_await beck::timeout(std::move(op), limit);
    error = done.error();
    report = *done;
  };
  const auto receive = [&]() -> beck::task<> {
    tcp::socket socket(client);
    auto connected = co_await socket.async_connect(server_address());
    std::string part(10'000, 'x');
    while (!connected.error()) {
      auto got = co_await socket.async_read_some(beck::buffer(part));
      if (got.error()) break;
      arrived.append(part, 0, *got);
    }
  };
  beck::co_spawn(server, serve(), beck::detached);
  beck::co_spawn(client, receive(), beck::detached);
  world.run();
  CHECK(report.bytes <= data.size());
  CHECK(arrived == data.substr(0, arrived.size()));
  if (!error) {
    ++all.whole;
    CHECK(report.bytes == data.size());
  } else {
    ++(error == beck::error::timeout ? all.stopped : all.failed);
  }
  if (world.count(fault::reset) == 0) CHECK(arrived.size() == report.bytes);
}

}  // namespace

TEST_CASE("a copy on a bad disk is whole, or has an error and what it says") {
  tally all;
  const auto seeds = static_cast<std::uint64_t>(beck::test::scaled(600));
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) copy_once(seed, all);
  CHECK(all.whole > 0);
  CHECK(all.failed > 0);
  CHECK(all.stopped > 0);
}

TEST_CASE("a transmission from a bad disk over a bad network says exactly what was sent") {
  tally all;
  const auto seeds = static_cast<std::uint64_t>(beck::test::scaled(1000));
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) transmit_once(seed, all);
  CHECK(all.whole > 0);
  CHECK(all.failed > 0);
  CHECK(all.stopped > 0);
}

TEST_CASE("a copy to a disk that is too small says how much was written") {
  sim::world world(1);
  sim::host& host = world.host("disk");
  make_source(host, numbered(100'000));
  host.disk_capacity(130'000);
  beck::io_context ctx(host);
  const auto work = [&]() -> beck::task<> {
    random_access_file from(ctx, "from", file_object::read_only);
    random_access_file to(ctx, "to", for_writing);
    auto done =
        co_await beck::async_copy(from, to, beck::copy_options{.depth = 1, .block_bytes = 4096});
    CHECK(done.error() == std::errc::no_space_on_device);
    CHECK((*done).bytes == 30'000);
    CHECK((*done).mechanism == beck::transfer_mechanism::read_write);
  };
  beck::co_spawn(ctx, work(), beck::detached);
  ctx.run();
}

TEST_CASE("the same seed gives the same copy") {
  const auto hash_of = [](std::uint64_t seed) {
    sim::world world(seed, bad_disk());
    beck::io_context ctx(world.host("disk"));
    const auto work = [&]() -> beck::task<> {
      random_access_file from(ctx, "from", for_writing);
      random_access_file to(ctx, "to", for_writing);
      const std::string data = numbered(50'000);
      beck::ignore(co_await beck::async_write_at(from, 0, beck::buffer(data)));
      beck::ignore(co_await beck::async_copy(from, to, beck::copy_options{.block_bytes = 4096}));
    };
    beck::co_spawn(ctx, work(), beck::detached);
    ctx.run();
    return world.hash();
  };
  CHECK(hash_of(3) == hash_of(3));
  CHECK(hash_of(3) != hash_of(4));
}
