// SPDX-License-Identifier: BSL-1.0
// The disks of simulated hosts: what fails, what falls short, and what a power cut leaves.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/io/io_context.hpp>
#include <beck/testing/sim.hpp>
#include <cstdint>
#include <memory>
#include <ostream>
#include <set>
#include <string>

namespace sim = beck::testing::sim;
using beck::file_object;
using beck::random_access_file;
using sim::fault;

namespace {

constexpr auto for_writing = file_object::read_write | file_object::create;

struct machine {
  explicit machine(std::uint64_t seed) : world(seed), host(world.host("disk")) {}

  template <class Work>
  void run(Work work) {
    beck::io_context ctx(host);
    beck::co_spawn(ctx, work(ctx), beck::detached);
    ctx.run();
  }
  std::string contents(const char* path) {
    std::string text;
    beck::io_context ctx(host);
    random_access_file file(ctx);
    beck::error_code ec;
    file.open(path, file_object::read_only, ec);
    if (ec) return "no file";
    text.resize(file.size());
    beck::read_at(file, 0, beck::buffer(text), ec);
    return text;
  }
  void lose_power() {
    host.crash();
    host.restart();
  }

  sim::world world;
  sim::host& host;
};

}  // namespace

TEST_CASE("a device error ends one operation, and the file is usable after it") {
  machine m(1);
  m.run([&](beck::io_context& ctx) -> beck::task<> {
    random_access_file file(ctx, "a", for_writing);
    m.host.inject(fault::device_error);
    auto put = co_await beck::async_write_at(file, 0, beck::buffer("abc", 3));
    CHECK(put.error() == std::errc::io_error);
    CHECK(*put == 0);
    put = co_await beck::async_write_at(file, 0, beck::buffer("abc", 3));
    CHECK_FALSE(put.error());
    m.host.inject(fault::device_error);
    char data[3];
    auto got = co_await beck::async_read_at(file, 0, beck::buffer(data));
    CHECK(got.error() == std::errc::io_error);
    got = co_await beck::async_read_at(file, 0, beck::buffer(data));
    CHECK(*got == 3);
  });
}

TEST_CASE("a disk of limited size takes what fits and reports how much that was") {
  machine m(1);
  m.host.disk_capacity(10);
  m.run([&](beck::io_context& ctx) -> beck::task<> {
    random_access_file other(ctx, "b", for_writing);
    beck::ignore(co_await beck::async_write_at(other, 0, beck::buffer("xx", 2)));
    random_access_file file(ctx, "a", for_writing);
    auto put = co_await beck::async_write_at(file, 0, beck::buffer("0123456789", 10));
    CHECK(put.error() == std::errc::no_space_on_device);
    CHECK(*put == 8);
  });
  CHECK(m.contents("a") == "01234567");
}

TEST_CASE("whole transfers of a file survive short ones") {
  machine m(3);
  m.host.inject(fault::short_write, 5);
  m.host.inject(fault::short_read, 5);
  const std::string data(5000, 'd');
  m.run([&](beck::io_context& ctx) -> beck::task<> {
    random_access_file file(ctx, "a", for_writing);
    auto put = co_await beck::async_write_at(file, 0, beck::buffer(data));
    CHECK_FALSE(put.error());
    CHECK(*put == data.size());
    std::string back(data.size(), 'x');
    auto got = co_await beck::async_read_at(file, 0, beck::buffer(back));
    CHECK_FALSE(got.error());
    CHECK(back == data);
  });
  CHECK(m.world.count(fault::short_write) == 5);
  CHECK(m.world.count(fault::short_read) == 5);
}

TEST_CASE("a failed sync stays failed until the file is closed") {
  machine m(1);
  m.run([&](beck::io_context& ctx) -> beck::task<> {
    random_access_file file(ctx, "a", for_writing);
    beck::ignore(co_await beck::async_write_at(file, 0, beck::buffer("abc", 3)));
    m.host.inject(fault::sync_failed);
    CHECK((co_await file.async_sync_all()).error() == std::errc::io_error);
    CHECK((co_await file.async_sync_data()).error() == std::errc::io_error);
    beck::error_code ec;
    file.sync_all(ec);
    CHECK(ec == std::errc::io_error);
    file.close();
    file.open("a", for_writing);
    CHECK_FALSE((co_await file.async_sync_all()).error());
  });
}

TEST_CASE("what was synced survives a power cut, whatever the seed") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    machine m(seed);
    m.run([&](beck::io_context& ctx) -> beck::task<> {
      random_access_file file(ctx, "a", for_writing);
      beck::ignore(co_await beck::async_write_at(file, 0, beck::buffer("kept", 4)));
      CHECK_FALSE((co_await file.async_sync_all()).error());
      beck::ignore(co_await beck::async_write_at(file, 4, beck::buffer("perhaps", 7)));
    });
    m.lose_power();
    CHECK(m.contents("a").substr(0, 4) == "kept");
  }
}

TEST_CASE("what was not synced is there, torn or gone after a power cut") {
  std::set<std::size_t> sizes;
  bool missing = false;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    machine m(seed);
    m.run([&](beck::io_context& ctx) -> beck::task<> {
      random_access_file file(ctx, "a", for_writing);
      const std::string data(4 * 512, 'd');
      beck::ignore(co_await beck::async_write_at(file, 0, beck::buffer(data)));
    });
    CHECK(m.contents("a").size() == 4 * 512);
    m.lose_power();
    const std::string left = m.contents("a");
    if (left == "no file") {
      missing = true;
    } else {
      CHECK(left == std::string(left.size(), 'd'));
      sizes.insert(left.size());
    }
  }
  CHECK(missing);
  CHECK(sizes == std::set<std::size_t>{0, 512, 1024, 1536, 2048});
}

TEST_CASE("a sync that failed protects nothing from a power cut") {
  bool lost = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    machine m(seed);
    m.run([&](beck::io_context& ctx) -> beck::task<> {
      random_access_file file(ctx, "a", for_writing);
      beck::ignore(co_await file.async_sync_all());
      beck::ignore(co_await beck::async_write_at(file, 0, beck::buffer("abc", 3)));
      m.host.inject(fault::sync_failed);
      CHECK((co_await file.async_sync_all()).error() == std::errc::io_error);
      file.close();
      file.open("a", for_writing);
      CHECK_FALSE((co_await file.async_sync_all()).error());  // the kernel has forgotten
    });
    m.lose_power();
    lost = lost || m.contents("a").empty();
  }
  CHECK(lost);
}

TEST_CASE("the same seed gives the same disk") {
  const auto hash_of = [](std::uint64_t seed) {
    machine m(seed);
    m.run([&](beck::io_context& ctx) -> beck::task<> {
      random_access_file file(ctx, "a", for_writing);
      for (std::uint64_t i = 0; i < 20; ++i) {
        beck::ignore(co_await beck::async_write_at(file, i * 100, beck::buffer("0123456789", 10)));
      }
    });
    m.lose_power();
    return std::to_string(m.world.hash()) + m.contents("a");
  };
  CHECK(hash_of(5) == hash_of(5));
  CHECK(hash_of(5) != hash_of(6));
}
