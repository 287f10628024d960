// SPDX-License-Identifier: BSL-1.0
//
// Files from front to back: the position is the object's own and moves by what was transferred.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <beck/coro/co_spawn.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/file/stream_file.hpp>
#include <beck/io/generic_stream.hpp>
#include <beck/run/strand.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "support/context_options.hpp"
#include "support/file_place.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using beck::error_code;
using beck::file_object;
using beck::stream_file;
using beck::test::file_place;
using beck::test::pattern;
using beck::test::run_task;

namespace {
constexpr auto for_writing = file_object::read_write | file_object::create;
}

CONFORMANCE("writes of a stream file follow one another") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  stream_file file(ctx, place.path("a"), for_writing);
  run_task(ctx, [&]() -> beck::task<> {
    beck::ignore(co_await beck::async_write(file, beck::buffer("abc", 3)));
    beck::ignore(co_await beck::async_write(file, beck::buffer("def", 3)));
    CHECK(file.seek(0, file_object::seek_cur) == 6);
    CHECK(file.seek(0, file_object::seek_set) == 0);
    char data[6];
    auto got = co_await beck::async_read(file, beck::buffer(data));
    CHECK_FALSE(got.error());
    CHECK(std::string(data, 6) == "abcdef");
    auto end = co_await file.async_read_some(beck::buffer(data));
    CHECK(end.error() == beck::error::eof);
  });
}

CONFORMANCE("operations of a stream file that are started together run in their order") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  stream_file file(ctx, place.path("a"), for_writing);
  const std::string data = pattern(40 * 8);
  std::vector<int> order;
  for (int i = 0; i < 40; ++i) {
    file.async_write_some(beck::buffer(data.data() + i * 8, 1),
                          [&order, i](beck::error_code ec, std::size_t n) {
                            CHECK_FALSE(ec);
                            CHECK(n == 1);
                            order.push_back(i);
                          });
  }
  ctx.run();
  std::vector<int> expected;
  std::string text;
  for (int i = 0; i < 40; ++i) {
    expected.push_back(i);
    text += data[static_cast<std::size_t>(i) * 8];
  }
  CHECK(order == expected);
  file.seek(0, file_object::seek_set);
  std::string back(40, 'x');
  CHECK(beck::read(file, beck::buffer(back)) == 40);
  CHECK(back == text);
}

CONFORMANCE("the position after an append is the end of the file, as POSIX has it") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  {
    stream_file before(ctx, place.path("a"), for_writing);
    CHECK(beck::write(before, beck::buffer("0123456789", 10)) == 10);
  }
  stream_file file(ctx, place.path("a"), for_writing | file_object::append);
  CHECK(file.seek(0, file_object::seek_cur) == 0);
  run_task(ctx, [&]() -> beck::task<> {
    char data[4];
    CHECK((co_await file.async_read_some(beck::buffer(data, 3))).value() == 3);
    CHECK(file.seek(0, file_object::seek_cur) == 3);
    beck::ignore(co_await beck::async_write(file, beck::buffer("ab", 2)));
    CHECK(file.seek(0, file_object::seek_cur) == 12);
    const std::array<beck::const_buffer, 2> parts{beck::buffer("c", 1), beck::buffer("de", 2)};
    beck::ignore(co_await file.async_write_some(parts));
    auto end = co_await file.async_read_some(beck::buffer(data));  // not at the old position
    CHECK(end.error() == beck::error::eof);
    CHECK(file.seek(-2, file_object::seek_cur) == 13);
    CHECK((co_await file.async_read_some(beck::buffer(data))).value() == 2);
    CHECK(std::string(data, 2) == "de");
  });
  CHECK(file.seek(1, file_object::seek_set) == 1);
  CHECK(beck::write(file, beck::buffer("f", 1)) == 1);
  error_code ec;
  CHECK(file.seek(-99, file_object::seek_set, ec) == 16);
  CHECK(ec == beck::error::invalid_argument);
  CHECK(file.size() == 16);
}

CONFORMANCE_ON(beck::test::kernel, "a descriptor that appends is known when it is taken over") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  const std::string path = place.path("a");
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  REQUIRE(fd >= 0);
  REQUIRE(::write(fd, "old", 3) == 3);
  stream_file file(ctx, fd);
  CHECK(file.seek(0, file_object::seek_cur) == 0);
  CHECK(beck::write(file, beck::buffer("new", 3)) == 3);
  CHECK(file.seek(0, file_object::seek_cur) == 6);
}

CONFORMANCE("seek counts from the beginning, the position and the end") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  stream_file file(ctx, place.path("a"), for_writing);
  CHECK(beck::write(file, beck::buffer("0123456789", 10)) == 10);
  CHECK(file.seek(-3, file_object::seek_end) == 7);
  CHECK(file.seek(1, file_object::seek_cur) == 8);
  char data[2];
  CHECK(beck::read(file, beck::buffer(data)) == 2);
  CHECK(std::string(data, 2) == "89");
  beck::error_code ec;
  file.seek(-1, file_object::seek_set, ec);
  CHECK(ec == beck::error::invalid_argument);
  CHECK(file.seek(0, file_object::seek_cur) == 10);
  CHECK(file.seek(5, file_object::seek_end) == 15);
  CHECK(beck::write(file, beck::buffer("x", 1)) == 1);
  CHECK(file.size() == 16);
}

CONFORMANCE("a stream file is searched for a delimiter as any stream") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  stream_file file(ctx, place.path("a"), for_writing);
  CHECK(beck::write(file, beck::buffer("one\ntwo\n", 8)) == 8);
  file.seek(0, file_object::seek_set);
  run_task(ctx, [&]() -> beck::task<> {
    std::string text;
    auto first = co_await beck::async_read_until(file, beck::dynamic_buffer(text), '\n');
    CHECK_FALSE(first.error());
    CHECK(text.substr(0, *first) == "one\n");
    text.erase(0, *first);
    auto second = co_await beck::async_read_until(file, beck::dynamic_buffer(text), "\n");
    CHECK_FALSE(second.error());
    CHECK(text.substr(0, *second) == "two\n");
  });
}

CONFORMANCE("several buffers go through a stream file in order") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  stream_file file(ctx, place.path("a"), for_writing);
  run_task(ctx, [&]() -> beck::task<> {
    const beck::const_buffer out[] = {beck::buffer("ab", 2), beck::buffer("cd", 2)};
    std::size_t moved = 0;
    auto put = co_await file.async_write_some(out);
    CHECK_FALSE(put.error());
    moved = *put;
    CHECK(file.seek(0, file_object::seek_cur) == moved);
    file.seek(0, file_object::seek_set);
    std::string back(moved, 'x');
    auto got = co_await beck::async_read(file, beck::buffer(back));
    CHECK(*got == moved);
    CHECK(back == std::string("abcd").substr(0, moved));
  });
}

CONFORMANCE("a close ends what waits behind another operation of a stream file") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  stream_file file(ctx, place.path("a"), for_writing);
  CHECK(beck::write(file, beck::buffer("0123456789", 10)) == 10);
  file.seek(0, file_object::seek_set);
  char data[10][1];
  int ended = 0;
  for (auto& one : data) {
    file.async_read_some(beck::buffer(one), [&](beck::error_code ec, std::size_t n) {
      ++ended;
      CHECK((ec ? ec == beck::error::operation_aborted : n == 1));
    });
  }
  file.close();
  ctx.run();
  CHECK(ended == 10);
}

CONFORMANCE("a cancelled read of a stream file moves the position only by what it gave") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  stream_file file(ctx, place.path("a"), for_writing);
  CHECK(beck::write(file, beck::buffer("0123456789", 10)) == 10);
  file.seek(0, file_object::seek_set);
  std::size_t moved = 0;
  char data[4][2];
  for (auto& two : data) {
    file.async_read_some(beck::buffer(two), [&](beck::error_code, std::size_t n) { moved += n; });
  }
  file.cancel();
  ctx.run();
  CHECK(file.seek(0, file_object::seek_cur) == moved);
}

CONFORMANCE("an empty read of a stream file succeeds at the end too") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  stream_file file(ctx, place.path("a"), for_writing);
  run_task(ctx, [&]() -> beck::task<> {
    char data[1];
    auto got = co_await file.async_read_some(beck::mutable_buffer(data, 0));
    CHECK_FALSE(got.error());
    CHECK(*got == 0);
  });
}

CONFORMANCE("files are opened, and taken over, with operations that complete on an executor") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  auto strand = beck::make_strand(ctx);
  stream_file file(strand, place.path("a"), for_writing);
  bool inside = false;
  file.async_write_some(beck::buffer("abc", 3), [&](error_code ec, std::size_t n) {
    CHECK_FALSE(ec);
    CHECK(n == 3);
    inside = strand.running_in_this_thread();
  });
  ctx.run();
  CHECK(inside);
  CHECK(beck::random_access_file(strand, place.path("a"), stream_file::read_only).size() == 3);
}
