// SPDX-License-Identifier: BSL-1.0
//
// Copies of files that end early, on descriptors that are no plain files, and on contexts of all
// kinds.
#include <sys/stat.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/run/bind.hpp>
#include <beck/transfer/copy.hpp>
#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <thread>

#include "support/context_options.hpp"
#include "support/file_place.hpp"
#include "support/open_descriptors.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"
#include "support/two_files.hpp"

using namespace std::chrono_literals;
using beck::copy_options;
using beck::file_object;
using beck::random_access_file;
using beck::transfer_mechanism;
using beck::transfer_report;
using beck::test::contents;
using beck::test::file_place;
using beck::test::fill;
using beck::test::for_writing;
using beck::test::pattern;
using beck::test::run_task;
using beck::test::two_files;

namespace {
/// What a file takes on its device.
std::uint64_t stored_bytes(random_access_file& file) {
  file.sync_all();  // until then some file systems have not decided
  struct stat status{};
  CHECK(::fstat(file.native_handle(), &status) == 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}
}  // namespace

CONFORMANCE("a copy that is stopped says what is there, and what is there is right") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  const std::string data = pattern(1 << 20);
  fill(files.from, data);
  beck::cancellation_signal signal;
  beck::error_code ec;
  transfer_report report;
  auto stop = [&](std::uint64_t bytes) {
    if (bytes >= 300'000) signal.emit(beck::cancellation_type::terminal);
  };
  const auto how = copy_options{
      .only = transfer_mechanism::read_write, .depth = 1, .block_bytes = 16'384, .progress = stop};
  beck::async_copy(files.from, files.to, how,
                   beck::bind_cancellation_slot(signal.slot(),
                                                [&](beck::error_code error, transfer_report done) {
                                                  ec = error;
                                                  report = done;
                                                }));
  ctx.run();
  CHECK(ec == beck::error::operation_aborted);
  CHECK(report.bytes >= 300'000);
  CHECK(report.bytes < data.size());
  CHECK(contents(files.to).substr(0, report.bytes) == data.substr(0, report.bytes));
}

CONFORMANCE("blocks that are on their way when a copy is stopped do no harm") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  const std::string data = pattern(1 << 20);
  fill(files.from, data);
  beck::cancellation_signal signal;
  beck::error_code ec;
  transfer_report report;
  auto stop = [&](std::uint64_t) { signal.emit(beck::cancellation_type::terminal); };
  const auto how = copy_options{
      .only = transfer_mechanism::read_write, .depth = 16, .block_bytes = 16'384, .progress = stop};
  beck::async_copy(files.from, files.to, how,
                   beck::bind_cancellation_slot(signal.slot(),
                                                [&](beck::error_code error, transfer_report done) {
                                                  ec = error;
                                                  report = done;
                                                }));
  ctx.run();
  CHECK((ec == beck::error::operation_aborted || report.bytes == data.size()));
  CHECK((contents(files.to).substr(0, report.bytes) == data.substr(0, report.bytes)));
}

CONFORMANCE("a copy under a time limit gives what it has, or timeout") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  const std::string data = pattern(200'000);
  fill(files.from, data);
  run_task(ctx, [&]() -> beck::task<> {
    auto slow = co_await beck::timeout(beck::async_copy(files.from, files.to), 1h);
    CHECK_FALSE(slow.error());
    auto hurried = co_await beck::timeout(beck::async_copy(files.from, files.to), 0s);
    CHECK((!hurried.error() || hurried.error() == beck::error::timeout));
  });
  CHECK(contents(files.to) == data);
}

CONFORMANCE("closing a file during its copy ends it with operation_aborted") {
  for (const bool source : {true, false}) {
    beck::io_context ctx(context_options());
    const auto before = beck::test::open_descriptors();
    {
      two_files files(ctx, where);
      fill(files.from, pattern(1 << 20));
      auto close = [&](std::uint64_t) { source ? files.from.close() : files.to.close(); };
      beck::error_code ec;
      const auto how = copy_options{.only = transfer_mechanism::read_write,
                                    .depth = 1,  // else others may have finished before the first
                                    .block_bytes = 65'536,
                                    .progress = close};
      const transfer_report done = files.copy(ctx, how, ec);
      CHECK(ec == beck::error::operation_aborted);
      CHECK(done.bytes > 0);
      CHECK(done.bytes < (1 << 20));
      CHECK_FALSE((source ? files.from : files.to).is_open());
    }
    CHECK(beck::test::open_descriptors() == before);
  }
}

CONFORMANCE("a file that is destroyed during its copy ends it with operation_aborted") {
  const auto before = beck::test::open_descriptors();
  for (const auto which : {transfer_mechanism::automatic, transfer_mechanism::read_write}) {
    const file_place place(where);
    beck::io_context ctx(context_options());
    auto from = std::make_unique<random_access_file>(ctx, place.path("from"), for_writing);
    auto to = std::make_unique<random_access_file>(ctx, place.path("to"), for_writing);
    fill(*from, pattern(20 << 20));
    auto destroy = [&](std::uint64_t) { to.reset(); };
    beck::error_code error;
    std::uint64_t bytes = 0;
    beck::async_copy(*from, *to, copy_options{.only = which, .depth = 1, .progress = destroy},
                     [&](beck::error_code ec, transfer_report done) {
                       error = ec;
                       bytes = done.bytes;
                     });
    ctx.run();
    CHECK(error == beck::error::operation_aborted);
    CHECK(bytes > 0);
    CHECK(bytes < (20 << 20));
  }
  CHECK(beck::test::open_descriptors() == before);
}

CONFORMANCE("a context is destroyed in the middle of copies, and nothing stays behind") {
  const auto before = beck::test::open_descriptors();
  for (const auto which : {transfer_mechanism::automatic, transfer_mechanism::read_write}) {
    const file_place place(where);
    beck::io_context ctx(context_options());
    random_access_file from(ctx, place.path("from"), for_writing);
    random_access_file to(ctx, place.path("to"), for_writing);
    fill(from, pattern(1 << 20));
    auto stop = [&](std::uint64_t) { ctx.stop(); };
    const auto how = copy_options{.only = which, .block_bytes = 65'536, .progress = stop};
    beck::async_copy(from, to, how, [](beck::error_code, transfer_report) {});
    beck::async_copy(from, to, how, [](beck::error_code, transfer_report) { CHECK(false); });
    ctx.run_one();
  }
  CHECK(beck::test::open_descriptors() == before);
}

CONFORMANCE("two copies from one source run side by side") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  random_access_file third(ctx, files.place.path("third"), for_writing);
  const std::string data = pattern(700'000);
  fill(files.from, data);
  const auto copy_to = [&](random_access_file& to) -> beck::task<std::uint64_t> {
    auto [ec, done] = co_await beck::async_copy(files.from, to);
    CHECK_FALSE(ec);
    co_return done.bytes;
  };
  run_task(ctx, [&]() -> beck::task<> {
    auto both = beck::when_all(copy_to(files.to), copy_to(third));
    beck::ignore(co_await std::move(both));
  });
  CHECK(contents(files.to) == data);
  CHECK(contents(third) == data);
}

// Of two private worlds of the simulator time passes in one only.
CONFORMANCE_ON(beck::test::kernel, "files of two contexts are copied by reads and writes") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file to(ctx, place.path("to"), for_writing);
  beck::io_context other(context_options());
  random_access_file from(other, place.path("from"), for_writing);
  const std::string data = pattern(300'000);
  fill(from, data);
  beck::error_code ec = beck::error::in_progress;
  transfer_report report;
  beck::async_copy(from, to, copy_options(), [&](beck::error_code error, transfer_report done) {
    ec = error;
    report = done;
  });
  while (ec == beck::error::in_progress) {
    ctx.poll();
    other.poll();
    ctx.restart();
    other.restart();
  }
  CHECK_FALSE(ec);
  CHECK(report.mechanism == transfer_mechanism::read_write);
  CHECK(contents(to) == data);
}

CONFORMANCE_ON(beck::test::kernel, "holes of a source become holes of an empty target") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  constexpr std::uint64_t size = std::uint64_t{5} << 30;  // over 4 GiB
  files.from.resize(size);
  const std::string data = pattern(10'000);
  const std::uint64_t blocks[] = {std::uint64_t{1} << 20, (std::uint64_t{4} << 30) + 5};
  for (const std::uint64_t at : blocks) {
    CHECK(files.from.write_some_at(at, beck::buffer(data)) == data.size());
  }
  for (const auto which : {transfer_mechanism::automatic, transfer_mechanism::read_write}) {
    files.to.resize(0);
    const transfer_report done = files.copy(ctx, copy_options{.only = which});
    CHECK(done.bytes == size);
    CHECK(files.to.size() == size);
    for (const std::uint64_t at : blocks) {
      std::string back(data.size(), 'x');
      CHECK(beck::read_at(files.to, at, beck::buffer(back)) == data.size());
      CHECK(back == data);
    }
    CHECK(stored_bytes(files.to) >= 2 * data.size());
    CHECK(stored_bytes(files.to) < 1 << 20);  // some file systems store a little ahead
  }
}

CONFORMANCE_ON(beck::test::kernel, "devices have no end, so a length ends their copy") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file zero(ctx, "/dev/zero", file_object::read_only);
  random_access_file to(ctx, place.path("to"), for_writing);
  random_access_file null(ctx, "/dev/null", file_object::write_only);
  random_access_file full(ctx, "/dev/full", file_object::write_only);
  run_task(ctx, [&]() -> beck::task<> {
    auto made = co_await beck::async_copy(zero, to, copy_options{.length = 1'000'000});
    CHECK_FALSE(made.error());
    CHECK((*made).mechanism == transfer_mechanism::read_write);
    auto gone = co_await beck::async_copy(to, null);
    CHECK_FALSE(gone.error());
    CHECK((*gone).bytes == 1'000'000);
    auto none = co_await beck::async_copy(to, full);
    CHECK(none.error() == std::errc::no_space_on_device);
    CHECK((*none).bytes == 0);
    const auto splice = copy_options{.length = 4096, .only = transfer_mechanism::copy_range};
    auto refused = co_await beck::async_copy(zero, to, splice);
    CHECK(refused.error() == beck::error::invalid_argument);
  });
  CHECK(contents(to) == std::string(1'000'000, '\0'));
}

CONFORMANCE_ON(beck::test::kernel, "a file without a size is copied to its end") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file from(ctx, "/proc/self/status", file_object::read_only);
  random_access_file to(ctx, place.path("to"), for_writing);
  run_task(ctx, [&]() -> beck::task<> {
    auto made = co_await beck::async_copy(from, to);
    CHECK_FALSE(made.error());
    CHECK((*made).bytes > 0);
    CHECK((*made).bytes == to.size());
  });
  CHECK(contents(to).substr(0, 5) == "Name:");
}

CONFORMANCE_ON(beck::test::epoll, "a copy on a context that several threads run is right") {
  beck::io_context ctx({.backend = beck::backend::epoll, .threads = 2});
  two_files files(ctx, where);
  const std::string data = pattern(1 << 20);
  fill(files.from, data);
  std::uint64_t bytes = 0;
  for (const auto which : {transfer_mechanism::automatic, transfer_mechanism::read_write}) {
    files.to.resize(0);
    beck::async_copy(files.from, files.to, copy_options{.only = which, .block_bytes = 16'384},
                     [&](beck::error_code ec, transfer_report done) {
                       CHECK_FALSE(ec);
                       bytes = done.bytes;
                     });
    std::thread other([&] { ctx.run(); });
    ctx.run();
    other.join();
    ctx.restart();
    CHECK(bytes == data.size());
    CHECK(contents(files.to) == data);
  }
}

CONFORMANCE_ON(beck::test::kernel, "direct files are copied in whole sectors") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  const std::string data = pattern(100'000);
  fill(files.from, data);
  files.from.sync_all();
  files.from.close();
  beck::error_code ec;
  files.from.open(files.place.path("from"), file_object::read_only | file_object::direct, ec);
  if (ec == std::errc::invalid_argument) SKIP_CASE("this file system has no direct transfers");
  // 8,000 is no number of whole sectors: rounded up.
  const auto how = copy_options{.only = transfer_mechanism::read_write, .block_bytes = 8000};
  CHECK(files.copy(ctx, how).bytes == data.size());
  CHECK(contents(files.to) == data);
  files.to.close();
  files.to.open(files.place.path("to"), file_object::read_write | file_object::direct);
  const std::uint64_t sector = files.to.direct_alignment().offset;
  files.copy(ctx, how, ec);
  CHECK((data.size() % sector == 0 || ec == beck::error::misaligned));
}
