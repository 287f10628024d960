// SPDX-License-Identifier: BSL-1.0
//
// Files at offsets: what is read and written, where, how many at once, and what a close or a cancel
// leaves behind.
#include <array>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/interop/use_future.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "support/context_options.hpp"
#include "support/file_place.hpp"
#include "support/open_descriptors.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::file_object;
using beck::random_access_file;
using beck::test::file_place;
using beck::test::pattern;
using beck::test::run_task;

namespace {
constexpr auto for_writing = file_object::read_write | file_object::create;
}

CONFORMANCE("what is written at an offset is read there") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  run_task(ctx, [&]() -> beck::task<> {
    auto put = co_await file.async_write_some_at(100, beck::buffer("hello", 5));
    CHECK_FALSE(put.error());
    CHECK(*put == 5);
    char data[16];
    auto got = co_await file.async_read_some_at(98, beck::buffer(data));
    CHECK_FALSE(got.error());
    CHECK(*got == 7);
    CHECK(std::string(data, 7) == std::string("\0\0hello", 7));
  });
  CHECK(file.size() == 105);
}

CONFORMANCE("a read at or behind the end of a file gives eof") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  CHECK(file.write_some_at(0, beck::buffer("abc", 3)) == 3);
  run_task(ctx, [&]() -> beck::task<> {
    char data[8];
    CHECK((co_await file.async_read_some_at(3, beck::buffer(data))).error() == beck::error::eof);
    CHECK((co_await file.async_read_some_at(9999, beck::buffer(data))).error() == beck::error::eof);
    auto whole = co_await beck::async_read_at(file, 1, beck::buffer(data));
    CHECK(whole.error() == beck::error::eof);
    CHECK(*whole == 2);
  });
}

CONFORMANCE("a read or write of nothing succeeds at once, also behind the end") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  run_task(ctx, [&]() -> beck::task<> {
    char data[1];
    auto got = co_await file.async_read_some_at(7, beck::mutable_buffer(data, 0));
    CHECK_FALSE(got.error());
    CHECK(*got == 0);
    auto put = co_await file.async_write_some_at(7, beck::const_buffer(data, 0));
    CHECK_FALSE(put.error());
  });
  CHECK(file.size() == 0);
}

CONFORMANCE("several buffers are read and written as one") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  run_task(ctx, [&]() -> beck::task<> {
    const beck::const_buffer out[] = {beck::buffer("ab", 2), beck::buffer("", 0),
                                      beck::buffer("cdef", 4)};
    auto put = co_await beck::async_write_at(file, 0, out);
    CHECK_FALSE(put.error());
    CHECK(*put == 6);
    char first[3], second[3];
    const beck::mutable_buffer in[] = {beck::buffer(first), beck::buffer(second)};
    std::size_t bytes = 0;
    auto got = co_await file.async_read_some_at(0, in);
    CHECK_FALSE(got.error());
    bytes = *got;
    CHECK(bytes <= 6);
    CHECK(bytes >= 1);
    auto whole = co_await beck::async_read_at(file, 0, in);
    CHECK(*whole == 6);
    CHECK(std::string(first, 3) + std::string(second, 3) == "abcdef");
  });
}

CONFORMANCE("whole reads and writes of a large file move every byte") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  const std::string data = pattern(1 << 20);
  std::string back(data.size(), 'x');
  run_task(ctx, [&]() -> beck::task<> {
    auto put = co_await beck::async_write_at(file, 3, beck::buffer(data));
    CHECK_FALSE(put.error());
    CHECK(*put == data.size());
    auto got = co_await beck::async_read_at(file, 3, beck::buffer(back));
    CHECK_FALSE(got.error());
    CHECK(*got == data.size());
  });
  CHECK(back == data);
}

CONFORMANCE("32 reads that are started together all get their own bytes") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  const std::string data = pattern(32 * 64);
  CHECK(beck::write_at(file, 0, beck::buffer(data)) == data.size());
  std::vector<std::string> parts(32, std::string(64, 'x'));
  std::size_t done = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    beck::async_read_at(file, i * 64, beck::buffer(parts[i]),
                        [&](beck::error_code ec, std::size_t n) {
                          CHECK_FALSE(ec);
                          CHECK(n == 64);
                          ++done;
                        });
  }
  ctx.run();
  CHECK(done == 32);
  std::string all;
  for (const std::string& part : parts) all += part;
  CHECK(all == data);
}

CONFORMANCE_ON(beck::test::uring, "32 reads that are started together cost at most two visits") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  const std::string data = pattern(32 * 4096);
  CHECK(beck::write_at(file, 0, beck::buffer(data)) == data.size());
  ctx.poll();
  const auto before = ctx.stats().kernel_entries;
  std::vector<std::string> parts(32, std::string(4096, 'x'));
  std::size_t done = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    file.async_read_some_at(i * 4096, beck::buffer(parts[i]),
                            [&](beck::error_code, std::size_t) { ++done; });
  }
  ctx.restart();
  ctx.run();
  CHECK(done == 32);
  CHECK(ctx.stats().kernel_entries - before <= 2);
}

CONFORMANCE("cancel ends every operation once: with its result, or operation_aborted") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  int ended = 0;
  std::uint64_t written = 0;
  const std::string data = pattern(4096);
  for (int i = 0; i < 50; ++i) {
    file.async_write_some_at(0, beck::buffer(data), [&](beck::error_code ec, std::size_t n) {
      ++ended;
      CHECK((ec ? ec == beck::error::operation_aborted : n > 0));
      written = std::max<std::uint64_t>(written, n);
    });
  }
  file.cancel();
  ctx.run();
  CHECK(ended == 50);
  CHECK(file.size() == written);
  CHECK(beck::write_at(file, 0, beck::buffer(data)) == data.size());
}

CONFORMANCE("a file is read with a handler, a future and a coroutine") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  CHECK(beck::write_at(file, 0, beck::buffer("abc", 3)) == 3);
  char one[3], two[3], three[3];
  bool inside = true;
  bool called = false;
  beck::async_read_at(file, 0, beck::buffer(one), [&](beck::error_code ec, std::size_t n) {
    CHECK_FALSE(inside);
    CHECK_FALSE(ec);
    CHECK(n == 3);
    called = true;
  });
  inside = false;
  auto future = beck::async_read_at(file, 0, beck::buffer(two), beck::use_future);
  beck::co_spawn(
      ctx,
      [&]() -> beck::awaitable<void> {
        const std::size_t n =
            co_await beck::async_read_at(file, 0, beck::buffer(three), beck::use_awaitable);
        CHECK(n == 3);
      },
      beck::detached);
  ctx.run();
  CHECK(called);
  CHECK(future.get() == 3);
  CHECK(std::string(three, 3) == "abc");
}

CONFORMANCE("a conditional read of a file stops when its condition says so") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  CHECK(beck::write_at(file, 0, beck::buffer("abcdefgh", 8)) == 8);
  run_task(ctx, [&]() -> beck::task<> {
    char data[8];
    auto got = co_await beck::async_read_at(file, 2, beck::buffer(data), beck::transfer_exactly(3));
    CHECK_FALSE(got.error());
    CHECK(*got == 3);
    CHECK(std::string(data, 3) == "cde");
    auto put =
        co_await beck::async_write_at(file, 0, beck::buffer("ABCD", 4), beck::transfer_exactly(1));
    CHECK(*put == 1);
  });
  char data[8];
  CHECK(beck::read_at(file, 0, beck::buffer(data)) == 8);
  CHECK(std::string(data, 8) == "Abcdefgh");
}

CONFORMANCE("synchronous reads and writes give what the asynchronous ones give") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  CHECK(file.write_some_at(0, beck::buffer("abc", 3)) == 3);
  char data[8];
  beck::error_code ec;
  CHECK(file.read_some_at(1, beck::buffer(data), ec) == 2);
  CHECK_FALSE(ec);
  CHECK(file.read_some_at(3, beck::buffer(data), ec) == 0);
  CHECK(ec == beck::error::eof);
  std::size_t transferred = 0;
  try {
    beck::read_at(file, 1, beck::buffer(data));
  } catch (const beck::io_error& e) {
    CHECK(e.code() == beck::error::eof);
    transferred = e.transferred();
  }
  CHECK(transferred == 2);
}

CONFORMANCE("a read of a file under a time limit keeps its result if it has one") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  CHECK(beck::write_at(file, 0, beck::buffer("abc", 3)) == 3);
  run_task(ctx, [&]() -> beck::task<> {
    char data[3];
    auto got = co_await beck::timeout(beck::async_read_at(file, 0, beck::buffer(data)), 10s);
    CHECK_FALSE(got.error());
    CHECK(*got == 3);
    auto hurried = co_await beck::timeout(beck::async_read_at(file, 0, beck::buffer(data)), 0s);
    CHECK((hurried.error() ? hurried.error() == beck::error::timeout : *hurried == 3));
  });
}

CONFORMANCE("operations that are started off the runner reach their file") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  char data[2];
  std::size_t got = 0;
  file.async_write_some_at(0, beck::buffer("ab", 2), [&](beck::error_code, std::size_t) {
    file.async_read_some_at(0, beck::buffer(data),
                            [&](beck::error_code, std::size_t n) { got = n; });
  });
  CHECK(ctx.run() == 2);
  CHECK(got >= 1);
}

CONFORMANCE("direct transfers that are not aligned say so") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx);
  beck::error_code ec;
  file.open(place.path("a"), for_writing | file_object::direct, ec);
  if (ec == std::errc::invalid_argument) SKIP_CASE("this file system has no direct transfers");
  REQUIRE_FALSE(ec);
  const beck::file_object::alignment alignment = file.direct_alignment();
  REQUIRE(alignment.memory > 0);
  REQUIRE(alignment.offset > 0);
  const std::size_t bytes = alignment.offset;
  std::vector<char> memory(2 * bytes + 2 * alignment.memory);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  char* const aligned =
      memory.data() + (alignment.memory - address % alignment.memory) % alignment.memory;
  run_task(ctx, [&]() -> beck::task<> {
    auto put = co_await file.async_write_some_at(0, beck::buffer(aligned, bytes));
    CHECK_FALSE(put.error());
    auto misplaced = co_await file.async_write_some_at(1, beck::buffer(aligned, bytes));
    CHECK((!misplaced.error() || misplaced.error() == beck::error::misaligned));
    auto got = co_await file.async_read_some_at(0, beck::buffer(aligned, bytes));
    CHECK_FALSE(got.error());
  });
  random_access_file plain(ctx, place.path("b"), for_writing);
  CHECK(plain.direct_alignment().memory == 0);
}

CONFORMANCE_ON(beck::test::kernel, "a full disk reports how much was written before it was full") {
  beck::io_context ctx(context_options());
  random_access_file full(ctx, "/dev/full", file_object::write_only);
  run_task(ctx, [&]() -> beck::task<> {
    auto put = co_await beck::async_write_at(full, 0, beck::buffer("abc", 3));
    CHECK(put.error() == std::errc::no_space_on_device);
    CHECK(*put == 0);
  });
}

CONFORMANCE("an offset that no file has is refused, and nothing is read or written") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  CHECK(file.write_some_at(0, beck::buffer("abcdef", 6)) == 6);
  constexpr std::uint64_t first_refused = std::uint64_t{INT64_MAX} + 1;
  for (const std::uint64_t offset : {first_refused, UINT64_MAX - 1, UINT64_MAX}) {
    char data[4] = {'w', 'x', 'y', 'z'};
    const auto parts = std::array{beck::buffer(data, 1), beck::buffer(data + 1, 3)};
    std::vector<beck::error_code> seen;
    run_task(ctx, [&]() -> beck::task<> {
      seen.push_back((co_await file.async_write_some_at(offset, beck::buffer(data))).error());
      seen.push_back((co_await file.async_write_some_at(offset, parts)).error());
      seen.push_back((co_await beck::async_write_at(file, offset, beck::buffer(data))).error());
      seen.push_back((co_await file.async_read_some_at(offset, beck::buffer(data))).error());
      seen.push_back((co_await file.async_read_some_at(offset, parts)).error());
      seen.push_back((co_await beck::async_read_at(file, offset, parts)).error());
      seen.push_back((co_await file.async_read_some_at(offset, beck::buffer(data, 0))).error());
      seen.push_back((co_await file.async_resize(offset)).error());
    });
    beck::error_code ec;
    const auto now = [&](auto call) {
      call();
      seen.push_back(ec);
    };
    now([&] { file.write_some_at(offset, beck::buffer(data), ec); });
    now([&] { file.write_some_at(offset, parts, ec); });
    now([&] { beck::write_at(file, offset, beck::buffer(data), ec); });
    now([&] { file.read_some_at(offset, beck::buffer(data), ec); });
    now([&] { file.read_some_at(offset, parts, ec); });
    now([&] { beck::read_at(file, offset, parts, ec); });
    now([&] { file.resize(offset, ec); });
    CHECK(seen == std::vector<beck::error_code>(15, beck::error::invalid_argument));
    CHECK(std::string(data, 4) == "wxyz");
  }
  char whole[8];
  CHECK(file.read_some_at(0, beck::buffer(whole)) == 6);
  CHECK(std::string(whole, 6) == "abcdef");
  beck::error_code ec;
  CHECK(file.read_some_at(INT64_MAX, beck::buffer(whole, 1), ec) == 0);
  CHECK(ec);  // eof or invalid_argument, as the file system says
}
