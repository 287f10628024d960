// SPDX-License-Identifier: BSL-1.0
//
// Registered buffers: files are read and written through them like through others, wherever they
// have an effect and wherever not.
#include <beck/coro/co_spawn.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/file/stream_file.hpp>
#include <beck/io/generic_stream.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "support/context_options.hpp"
#include "support/file_place.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"

using beck::file_object;
using beck::mutable_registered_buffer;
using beck::random_access_file;
using beck::test::file_place;
using beck::test::pattern;
using beck::test::run_task;

namespace {

constexpr auto for_writing = file_object::read_write | file_object::create;

struct blocks {
  explicit blocks(std::size_t count, std::size_t bytes = 8192)
      : memory(count, std::string(bytes, 'x')) {
    for (std::string& each : memory) buffers.push_back(beck::buffer(each));
  }
  /// In place: the buffers point there.
  void set_first(const std::string& text) { memory[0].replace(0, text.size(), text); }

  std::vector<std::string> memory;
  std::vector<beck::mutable_buffer> buffers;
};

}  // namespace

CONFORMANCE("a registration gives its buffers in order, and says whether the kernel has them") {
  beck::io_context ctx(context_options());
  blocks b(3);
  const auto all = beck::register_buffers(ctx, b.buffers);
  REQUIRE(all.size() == 3);
  std::size_t i = 0;
  for (const mutable_registered_buffer& each : all) {
    CHECK(each.data() == b.memory[i].data());
    CHECK(each.size() == b.memory[i].size());
    CHECK(all.at(i).id() == each.id());
    ++i;
  }
  CHECK(all.takes_effect() == (where == beck::test::on_uring));
  const mutable_registered_buffer part = beck::buffer(all[1] + 100, 50);
  CHECK(part.size() == 50);
  CHECK(part.data() == b.memory[1].data() + 100);
  CHECK(part.id() == all[1].id());
}

CONFORMANCE("what is written from a registered buffer is read into another one") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  blocks b(2);
  b.set_first(pattern(8192));
  const auto all = beck::register_buffers(ctx, b.buffers);
  run_task(ctx, [&]() -> beck::task<> {
    auto put = co_await beck::async_write_at(file, 10, all[0]);
    CHECK_FALSE(put.error());
    CHECK(*put == 8192);
    auto got = co_await beck::async_read_at(file, 10, all[1]);
    CHECK_FALSE(got.error());
    CHECK(*got == 8192);
  });
  CHECK((b.memory[1] == b.memory[0]));
}

CONFORMANCE("a constant part of a registered buffer is written like the buffer") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  blocks b(2);
  b.set_first(pattern(8192));
  const auto all = beck::register_buffers(ctx, b.buffers);
  const beck::const_registered_buffer first = beck::buffer(*all.cbegin());
  CHECK(first.buffer().size() == 8192);
  const beck::const_registered_buffer part = first + 8000;
  CHECK(part.data() == b.memory[0].data() + 8000);
  CHECK(part.size() == 192);
  CHECK(part.id() == all[0].id());
  CHECK(all.cend() - all.cbegin() == 2);
  run_task(ctx, [&]() -> beck::task<> {
    auto put = co_await beck::async_write_at(file, 0, part);
    CHECK_FALSE(put.error());
    CHECK(*put == 192);
    auto got = co_await beck::async_read_at(file, 0, beck::buffer(all[1], 192));
    CHECK_FALSE(got.error());
    CHECK(*got == 192);
  });
  CHECK(b.memory[1].substr(0, 192) == b.memory[0].substr(8000));
}

CONFORMANCE("a part of a registered buffer moves only that part") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  blocks b(1);
  b.set_first(pattern(8192));
  const std::string data = b.memory[0];
  const auto all = beck::register_buffers(ctx, b.buffers);
  run_task(ctx, [&]() -> beck::task<> {
    auto put = co_await file.async_write_some_at(0, beck::buffer(all[0] + 1000, 100));
    CHECK(*put == 100);
    auto got = co_await file.async_read_some_at(0, beck::buffer(all[0] + 5, 3));
    CHECK(*got == 3);
    auto end = co_await beck::async_read_at(file, 90, beck::buffer(all[0], 100));
    CHECK(end.error() == beck::error::eof);
    CHECK(*end == 10);
  });
  CHECK(file.size() == 100);
  CHECK(b.memory[0].substr(0, 10) == data.substr(1090, 10));
}

CONFORMANCE("registered buffers work with handlers, and many at once") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  const std::string data = pattern(16 * 8192);
  CHECK(beck::write_at(file, 0, beck::buffer(data)) == data.size());
  blocks b(16);
  const auto all = beck::register_buffers(ctx.get_executor(), b.buffers);
  int done = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    beck::async_read_at(file, i * 8192, all[i], [&](beck::error_code ec, std::size_t n) {
      CHECK_FALSE(ec);
      CHECK(n == 8192);
      ++done;
    });
  }
  ctx.run();
  CHECK(done == 16);
  std::string back;
  for (const std::string& each : b.memory) back += each;
  CHECK(back == data);
}

CONFORMANCE("a stream file reads and writes through registered buffers") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  beck::stream_file file(ctx, place.path("a"), for_writing);
  blocks b(1);
  b.set_first(pattern(8192));
  const std::string data = b.memory[0];
  const auto all = beck::register_buffers(ctx, b.buffers);
  run_task(ctx, [&]() -> beck::task<> {
    auto put = co_await beck::async_write(file, beck::mutable_buffer(all[0]));
    CHECK(*put == 8192);
    auto more = co_await file.async_write_some(all[0]);
    CHECK_FALSE(more.error());
    file.seek(8192, beck::stream_file::seek_set);
    auto got = co_await file.async_read_some(beck::buffer(all[0] + 4096, 4096));
    CHECK_FALSE(got.error());
    CHECK(*got >= 1);
  });
  CHECK(b.memory[0].substr(4096, 1) == data.substr(0, 1));
}

CONFORMANCE("a second registration of a context holds buffers like others") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  blocks b(1);
  blocks c(1);
  c.set_first(pattern(8192));
  auto first = beck::register_buffers(ctx, b.buffers);
  const auto second = beck::register_buffers(ctx, c.buffers);
  CHECK_FALSE(second.takes_effect());
  run_task(ctx, [&]() -> beck::task<> {
    auto put = co_await beck::async_write_at(file, 0, second[0]);
    CHECK(*put == 8192);
    auto got = co_await beck::async_read_at(file, 0, first[0]);
    CHECK(*got == 8192);
  });
  CHECK((b.memory[0] == c.memory[0]));
  {
    const auto gone = std::move(first);
    CHECK(first.size() == 0);
  }
  const auto third = beck::register_buffers(ctx, c.buffers);
  CHECK(third.takes_effect() == (where == beck::test::on_uring));
}

CONFORMANCE(
    "a registered buffer of another context, or of a registration that is over, is a buffer") {
  beck::io_context ctx(context_options());
  beck::io_context other(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  blocks b(1);
  blocks c(1);
  b.set_first(pattern(8192));
  const auto here = beck::register_buffers(ctx, c.buffers);
  mutable_registered_buffer kept;
  {
    const auto there = beck::register_buffers(other, b.buffers);
    kept = there[0];
    run_task(ctx, [&]() -> beck::task<> {
      auto put = co_await beck::async_write_at(file, 0, there[0]);
      CHECK_FALSE(put.error());
    });
  }
  run_task(ctx, [&]() -> beck::task<> {
    auto got = co_await beck::async_read_at(file, 4096, beck::buffer(kept, 4096));
    CHECK_FALSE(got.error());
  });
  CHECK((b.memory[0] == pattern(8192).substr(4096) + pattern(8192).substr(4096)));
}

CONFORMANCE("buffers that the kernel cannot keep hold of are buffers like others") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  char unmapped_neighbour[16] = "0123456789abcde";
  const std::vector<beck::mutable_buffer> odd = {beck::mutable_buffer(nullptr, 4096),
                                                 beck::buffer(unmapped_neighbour)};
  const auto all = beck::register_buffers(ctx, odd);
  CHECK_FALSE((all.takes_effect() && where != beck::test::on_uring));
  run_task(ctx, [&]() -> beck::task<> {
    auto put = co_await beck::async_write_at(file, 0, all[1]);
    CHECK(*put == 16);
  });
  const beck::buffer_registration<std::vector<beck::mutable_buffer>> none;
  CHECK(none.size() == 0);
  CHECK_FALSE(none.takes_effect());
}
