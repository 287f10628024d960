// SPDX-License-Identifier: BSL-1.0
//
// Files: opening, resizing, syncing, closing, giving away.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/when_all.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/interop/use_future.hpp>
#include <chrono>
#include <filesystem>
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

CONFORMANCE("opening a file that is not there names the path") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx);
  CHECK_FALSE(file.is_open());
  beck::error_code ec;
  file.open(place.path("missing"), file_object::read_only, ec);
  CHECK(ec == std::errc::no_such_file_or_directory);
  std::string text;
  try {
    file.open(place.path("missing"), file_object::read_only);
  } catch (const beck::io_error& refused) {
    text = refused.what();
  }
  CHECK(text.find("missing") != std::string::npos);
  CHECK_FALSE(file.is_open());
}

CONFORMANCE("paths that no system call could take are refused") {
  beck::io_context ctx(context_options());
  random_access_file file(ctx);
  beck::error_code ec;
  file.open(std::string(5000, 'a'), for_writing, ec);
  CHECK(ec == beck::error::name_too_long);
  file.open(std::string("a\0b", 3), for_writing, ec);
  CHECK(ec == beck::error::invalid_argument);
  file.open("", for_writing, ec);
  CHECK(ec == std::errc::no_such_file_or_directory);
}

CONFORMANCE("an asynchronous open gives an open file, or the error") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  const std::string path = place.path("a");
  run_task(ctx, [&]() -> beck::task<> {
    random_access_file file(ctx);
    auto missing = co_await file.async_open(path.c_str(), file_object::read_only);
    CHECK(missing.error() == std::errc::no_such_file_or_directory);
    auto made = co_await file.async_open(path.c_str(), for_writing);
    CHECK_FALSE(made.error());
    CHECK(file.is_open());
    auto again = co_await file.async_open(path.c_str(), for_writing);
    CHECK(again.error() == beck::error::already_open);
    auto put = co_await beck::async_write_at(file, 0, beck::buffer("x", 1));
    CHECK_FALSE(put.error());
    random_access_file other(ctx);
    auto there = co_await other.async_open(path.c_str(), for_writing | file_object::exclusive);
    CHECK(there.error() == std::errc::file_exists);
  });
}

CONFORMANCE("a file whose object is closed while it opens does not stay open") {
  file_place place(where);
  const std::string path = place.path("a");
  const auto before = beck::test::open_descriptors();
  {
    beck::io_context ctx(context_options());
    random_access_file file(ctx);
    int ended = 0;
    file.async_open(path.c_str(), for_writing, [&](beck::error_code) { ++ended; });
    file.close();
    ctx.run();
    CHECK(ended == 1);
    CHECK_FALSE(file.is_open());
  }
  if (where != beck::test::on_sim) CHECK(beck::test::open_descriptors() == before);
}

CONFORMANCE("truncate drops what was there and append writes to the end") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  {
    random_access_file file(ctx, place.path("a"), for_writing);
    CHECK(beck::write_at(file, 0, beck::buffer("0123456789", 10)) == 10);
  }
  {
    random_access_file file(ctx, place.path("a"), for_writing | file_object::append);
    CHECK(beck::write_at(file, 0, beck::buffer("ab", 2)) == 2);
    char data[12];
    CHECK(beck::read_at(file, 0, beck::buffer(data)) == 12);
    CHECK(std::string(data, 12) == "0123456789ab");
  }
  random_access_file file(ctx, place.path("a"), for_writing | file_object::truncate);
  CHECK(file.size() == 0);
}

CONFORMANCE("a file that was opened for one direction refuses the other") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file out(ctx, place.path("a"), file_object::write_only | file_object::create);
  random_access_file in(ctx, place.path("a"), file_object::read_only);
  run_task(ctx, [&]() -> beck::task<> {
    char data[4] = {};
    auto got = co_await out.async_read_some_at(0, beck::buffer(data));
    CHECK(got.error() == beck::error::bad_descriptor);
    auto put = co_await in.async_write_some_at(0, beck::buffer(data));
    CHECK(put.error() == beck::error::bad_descriptor);
  });
}

CONFORMANCE("resize cuts a file off and fills it with zeros") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  CHECK(beck::write_at(file, 0, beck::buffer("abcdef", 6)) == 6);
  run_task(ctx, [&]() -> beck::task<> {
    CHECK_FALSE((co_await file.async_resize(2)).error());
    CHECK(file.size() == 2);
    file.resize(4);
    char data[8];
    auto got = co_await beck::async_read_at(file, 0, beck::buffer(data));
    CHECK(*got == 4);
    CHECK(std::string(data, 4) == std::string("ab\0\0", 4));
  });
}

CONFORMANCE("syncing succeeds, with and without attributes") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  run_task(ctx, [&]() -> beck::task<> {
    beck::ignore(co_await beck::async_write_at(file, 0, beck::buffer("abc", 3)));
    CHECK_FALSE((co_await file.async_sync_data()).error());
    CHECK_FALSE((co_await file.async_sync_all()).error());
  });
  file.sync_data();
  file.sync_all();
}

CONFORMANCE("calls on a closed file give bad_descriptor") {
  beck::io_context ctx(context_options());
  random_access_file file(ctx);
  run_task(ctx, [&]() -> beck::task<> {
    char data[4] = {};
    CHECK((co_await file.async_read_some_at(0, beck::buffer(data))).error() ==
          beck::error::bad_descriptor);
    CHECK((co_await file.async_write_some_at(0, beck::buffer(data))).error() ==
          beck::error::bad_descriptor);
    CHECK((co_await file.async_sync_all()).error() == beck::error::bad_descriptor);
    CHECK((co_await file.async_resize(1)).error() == beck::error::bad_descriptor);
  });
  beck::error_code ec;
  CHECK(file.size(ec) == 0);
  CHECK(ec == beck::error::bad_descriptor);
  file.sync_all(ec);
  CHECK(ec == beck::error::bad_descriptor);
}

CONFORMANCE("every operation of a file that is closed ends exactly once") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  const std::string data = pattern(100 * 100);
  CHECK(beck::write_at(file, 0, beck::buffer(data)) == data.size());
  std::vector<std::string> parts(100, std::string(100, 'x'));
  std::vector<int> ended(100, 0);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    file.async_read_some_at(i * 100, beck::buffer(parts[i]),
                            [&, i](beck::error_code ec, std::size_t n) {
                              ++ended[i];
                              CHECK((ec ? ec == beck::error::operation_aborted : n > 0));
                            });
  }
  file.close();
  CHECK_FALSE(file.is_open());
  ctx.run();
  CHECK(ended == std::vector<int>(100, 1));
}

CONFORMANCE("a context that is destroyed with files at work waits for what it cannot take back") {
  const file_place place(where);
  const auto before = beck::test::open_descriptors();
  auto alive = std::make_shared<int>(0);
  std::string data = pattern(1 << 16);
  {
    beck::io_context ctx(context_options());
    random_access_file file(ctx, place.path("a"), for_writing);
    for (std::uint64_t i = 0; i < 64; ++i) {
      file.async_write_some_at(i << 16, beck::buffer(data),
                               [alive](beck::error_code, std::size_t) {});
    }
    ctx.poll_one();
  }
  CHECK(alive.use_count() == 1);
  if (where != beck::test::on_sim) CHECK(beck::test::open_descriptors() == before);
}

CONFORMANCE("a file that is moved while operations are under way keeps them") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  CHECK(beck::write_at(file, 0, beck::buffer("abc", 3)) == 3);
  char data[3];
  std::size_t got = 0;
  beck::async_read_at(file, 0, beck::buffer(data),
                      [&](beck::error_code, std::size_t n) { got = n; });
  random_access_file other(std::move(file));
  CHECK_FALSE(file.is_open());
  ctx.run();
  CHECK(got == 3);
  CHECK(other.is_open());
  file.open(place.path("b"), for_writing);  // the moved-from one is as new
  CHECK(beck::write_at(file, 0, beck::buffer("de", 2)) == 2);
  CHECK(file.size() == 2);
  other = std::move(file);
  beck::error_code opened = beck::error::interrupted;
  file.async_open(place.path("a"), file_object::read_only,
                  [&](beck::error_code ec) { opened = ec; });
  ctx.restart();
  ctx.run();
  CHECK_FALSE(opened);
  CHECK(file.size() == 3);
  CHECK(other.size() == 2);
}

CONFORMANCE("async_open keeps a path that is a string or a filesystem path") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file by_handler(ctx);
  beck::error_code ended = beck::error::interrupted;
  by_handler.async_open(place.path("a"), for_writing, [&](beck::error_code ec) { ended = ec; });
  ctx.run();
  ctx.restart();
  CHECK_FALSE(ended);
  bool done = false;
  run_task(ctx, [&]() -> beck::task<> {
    random_access_file first(ctx);
    auto opened = co_await first.async_open(place.path("a"), file_object::read_only);
    CHECK_FALSE(opened.error());
    random_access_file second(ctx);
    const std::filesystem::path path(place.path("b"));
    auto made = co_await second.async_open(path, for_writing);
    CHECK_FALSE(made.error());
    auto again = co_await second.async_open(path, for_writing);
    CHECK(again.error() == beck::error::already_open);
    random_access_file third(ctx);
    const std::string cut(place.path("a") + std::string("\0b", 2));
    auto refused = co_await third.async_open(cut, for_writing);
    CHECK(refused.error() == beck::error::invalid_argument);
    CHECK_FALSE(third.is_open());
    done = true;
  });
  CHECK(done);
}

CONFORMANCE("release gives the descriptor of a file up, and assign takes it") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  CHECK(beck::write_at(file, 0, beck::buffer("abc", 3)) == 3);
  const int handle = file.release();
  CHECK(handle >= 0);
  CHECK_FALSE(file.is_open());
  random_access_file other(ctx, handle);
  CHECK(other.size() == 3);
  beck::error_code ec;
  other.assign(handle, ec);
  CHECK(ec == beck::error::already_open);
}
