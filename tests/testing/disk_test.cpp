// SPDX-License-Identifier: BSL-1.0
// The disks of simulated hosts: what fails, what falls short, and what a power cut leaves.
#include <doctest/doctest.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/file/directory.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/io/io_context.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/testing/sim.hpp>
#include <chrono>
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

TEST_CASE("the directories of a disk are the parts of its names, absolute or not") {
  machine m(1);
  m.run([&](beck::io_context& ctx) -> beck::task<> {
    for (const char* path : {"plain", "/srv/www/index", "/srv/log", "srv/other"}) {
      const random_access_file made(ctx, path, for_writing);
    }
    const auto names_in = [&](const char* path) -> beck::task<std::string> {
      beck::directory from(ctx, path);
      beck::directory_listing listing;
      std::string names;
      beck::ignore(co_await from.async_list(listing));
      for (const beck::directory_entry entry : listing) names += std::string(entry.name) + ' ';
      co_return names;
    };
    CHECK(co_await names_in("/") == "srv ");
    CHECK(co_await names_in("/srv") == "log www ");
    CHECK(co_await names_in("/srv/www/") == "index ");
    CHECK(co_await names_in(".") == "plain srv ");
    CHECK(co_await names_in("srv") == "other ");
    beck::directory root(ctx, "/srv/www");
    auto up = co_await root.async_status("../../../srv/./log", beck::directory::anywhere);
    CHECK_FALSE(up.error());
    auto absolute = co_await root.async_status("/srv/log", beck::directory::anywhere);
    CHECK((*absolute).inode == (*up).inode);
    beck::error_code ec;
    root.close();
    root.open("/sr", ec);
    CHECK(ec == std::errc::no_such_file_or_directory);
    random_access_file file(ctx);
    file.open("/srv/new/", for_writing, ec);
    CHECK(ec == std::errc::is_a_directory);
    file.open("/srv", for_writing, ec);
    CHECK(ec == std::errc::is_a_directory);
  });
}

TEST_CASE("a file is modified when its host's date says so") {
  machine m(1);
  m.run([&](beck::io_context& ctx) -> beck::task<> {
    random_access_file file(ctx, "d/a", for_writing);
    using days = std::chrono::duration<int, std::ratio<86'400>>;
    m.host.set_date(m.host.date() + days(400));
    beck::steady_timer timer(ctx, std::chrono::hours(1));
    beck::ignore(co_await timer.async_wait());
    file.resize(7);
    const std::int64_t changed = m.host.date().nanoseconds();
    CHECK(file.status().modified_ns == changed);
    timer.expires_after(std::chrono::hours(1));
    beck::ignore(co_await timer.async_wait());
    CHECK(file.status().modified_ns == changed);
    beck::directory from(ctx, "d");
    auto of_directory = co_await from.async_status(".");
    CHECK((*of_directory).modified_ns == changed);
  });
}

TEST_CASE("a device error ends one listing, which then goes on") {
  machine m(1);
  m.run([&](beck::io_context& ctx) -> beck::task<> {
    const random_access_file made(ctx, "d/a", for_writing);
    beck::directory from(ctx, "d");
    beck::directory_listing listing;
    m.host.inject(fault::device_error);
    auto failed = co_await from.async_list(listing);
    CHECK(failed.error() == std::errc::io_error);
    auto listed = co_await from.async_list(listing);
    CHECK(*listed == 1);
  });
}
