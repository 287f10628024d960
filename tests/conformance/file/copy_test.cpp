// SPDX-License-Identifier: BSL-1.0
//
// Copies of files: what arrives, by which mechanism, what is reported when something goes wrong,
// and what a stop leaves.
#include <algorithm>
#include <beck/coro/co_spawn.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/interop/use_future.hpp>
#include <beck/transfer/copy.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "support/context_options.hpp"
#include "support/file_place.hpp"
#include "support/pattern.hpp"
#include "support/stream_pair.hpp"
#include "support/two_files.hpp"

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

CONFORMANCE("a copy has every byte of its source, and says by which mechanism") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  const std::string data = pattern(3'000'001);
  fill(files.from, data);
  const transfer_report done = files.copy(ctx);
  CHECK(done.bytes == data.size());
  CHECK(contents(files.to) == data);
  if (where == beck::test::on_sim) {
    CHECK(done.mechanism == transfer_mechanism::read_write);
  } else {
    CHECK(done.mechanism != transfer_mechanism::automatic);
  }
}

CONFORMANCE("a copy of an empty file succeeds and makes nothing") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  const transfer_report done = files.copy(ctx);
  CHECK(done.bytes == 0);
  CHECK(files.to.size() == 0);
}

CONFORMANCE("a part of a file is copied to another place, and the rest of the target stays") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  const std::string data = pattern(100'000);
  const std::string old(200'000, '-');
  fill(files.from, data);
  fill(files.to, old);
  const auto done =
      files.copy(ctx, copy_options{.from_offset = 777, .to_offset = 50'001, .length = 9'999});
  CHECK(done.bytes == 9'999);
  std::string expected = old;
  expected.replace(50'001, 9'999, data, 777, 9'999);
  CHECK(contents(files.to) == expected);
}

CONFORMANCE("blocks of every number and size give the same copy") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  const std::string data = pattern(50'003);
  fill(files.from, data);
  for (const std::size_t depth : {0u, 1u, 2u, 3u, 16u, 64u}) {
    for (const std::size_t block : {0u, 4096u, 5000u, 8192u, 1u << 20}) {
      files.to.resize(0);
      const auto how = copy_options{
          .only = transfer_mechanism::read_write, .depth = depth, .block_bytes = block};
      const transfer_report done = files.copy(ctx, how);
      CHECK(done.bytes == data.size());
      CHECK(done.mechanism == transfer_mechanism::read_write);
      CHECK(contents(files.to) == data);
    }
  }
}

CONFORMANCE("a named mechanism is the one that is used, or its error is the result") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  const std::string data = pattern(300'000);
  fill(files.from, data);
  for (const auto which : {transfer_mechanism::copy_range, transfer_mechanism::send_file,
                           transfer_mechanism::splice, transfer_mechanism::read_write}) {
    files.to.resize(0);
    beck::error_code ec;
    const transfer_report done = files.copy(ctx, copy_options{.only = which}, ec);
    if (where == beck::test::on_sim && which != transfer_mechanism::read_write) {
      CHECK(ec == beck::error::operation_not_supported);
      CHECK(done.bytes == 0);
      continue;
    }
    CHECK_FALSE(ec);
    CHECK(done.mechanism == which);
    CHECK(done.bytes == data.size());
    CHECK(contents(files.to) == data);
  }
}

CONFORMANCE("a source that is shorter than asked for ends a copy with eof, and with its bytes") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  const std::string data = pattern(70'000);
  fill(files.from, data);
  for (const auto which : {transfer_mechanism::automatic, transfer_mechanism::read_write}) {
    beck::error_code ec;
    const auto how = copy_options{.length = 100'000, .only = which, .block_bytes = 4096};
    const transfer_report done = files.copy(ctx, how, ec);
    CHECK(ec == beck::error::eof);
    CHECK(done.bytes == data.size());
    CHECK(contents(files.to) == data);
  }
}

CONFORMANCE("a source that shrinks during its copy ends it with eof") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  const std::string data = pattern(1 << 20);
  fill(files.from, data);
  auto shrink = [&](std::uint64_t) {
    beck::error_code ignored;
    if (files.from.size() == data.size()) files.from.resize(600'000, ignored);
  };
  beck::error_code ec;
  const auto how = copy_options{.only = transfer_mechanism::read_write,
                                .depth = 1,
                                .block_bytes = 65'536,
                                .progress = shrink};
  const transfer_report done = files.copy(ctx, how, ec);
  CHECK(ec == beck::error::eof);
  CHECK(done.bytes <= 600'000);
  CHECK(contents(files.to).substr(0, done.bytes) == data.substr(0, done.bytes));
}

CONFORMANCE_ON(beck::test::kernel, "a source with holes ends a copy with eof where it ends") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  const std::string data = pattern(8192);
  for (const bool ends_with_data : {true, false}) {
    files.from.resize(0);
    files.from.resize(1 << 20);
    CHECK(files.from.write_some_at(0, beck::buffer(data)) == data.size());
    if (ends_with_data) {
      CHECK(files.from.write_some_at((1 << 20) - 8192, beck::buffer(data)) == data.size());
    }
    for (const auto which : {transfer_mechanism::automatic, transfer_mechanism::read_write}) {
      for (const std::uint64_t begin : {0u, 12'288u, 1u << 20, 3u << 20}) {
        files.to.resize(0);
        beck::error_code ec;
        const auto how = copy_options{.from_offset = begin, .length = 5 << 20, .only = which};
        const transfer_report done = files.copy(ctx, how, ec);
        CHECK(ec == beck::error::eof);
        CHECK(done.bytes == (1u << 20) - std::min<std::uint64_t>(begin, 1u << 20));
        CHECK(files.to.size() == done.bytes);
        const std::string source = contents(files.from);
        CHECK((contents(files.to) == source.substr(std::min<std::size_t>(begin, source.size()))));
      }
    }
  }
}

CONFORMANCE_ON(beck::test::kernel, "a copy that ends in a hole of its source has the hole") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  files.from.resize(3 << 20);
  const std::string data = pattern(8192);
  CHECK(files.from.write_some_at(0, beck::buffer(data)) == data.size());
  CHECK(files.from.write_some_at(2 << 20, beck::buffer(data)) == data.size());
  const transfer_report done = files.copy(ctx, copy_options{.length = 1 << 20});
  CHECK(done.bytes == 1u << 20);
  CHECK((contents(files.to) == contents(files.from).substr(0, 1 << 20)));
}

CONFORMANCE_ON(beck::test::kernel,
               "a source with holes that shrinks during its copy ends it with eof") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  const std::string data = pattern(1 << 20);
  files.from.resize(4 << 20);
  CHECK(files.from.write_some_at(0, beck::buffer(data)) == data.size());
  CHECK(files.from.write_some_at(3 << 20, beck::buffer(data)) == data.size());
  auto shrink = [&](std::uint64_t bytes) {
    if (bytes == 1u << 20) files.from.resize(2 << 20);
  };
  beck::error_code ec;
  const transfer_report done = files.copy(ctx, copy_options{.progress = shrink}, ec);
  CHECK(ec == beck::error::eof);
  CHECK(done.bytes == 2u << 20);
  CHECK((contents(files.to) == contents(files.from)));
}

CONFORMANCE("what is appended to a source after the start is not copied") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  const std::string data = pattern(500'000);
  fill(files.from, data);
  auto grow = [&](std::uint64_t) {
    beck::error_code ignored;
    if (files.from.size() == data.size())
      files.from.write_some_at(data.size(), beck::buffer("more", 4), ignored);
  };
  const transfer_report done =
      files.copy(ctx, copy_options{.depth = 2, .block_bytes = 65'536, .progress = grow});
  CHECK(done.bytes == data.size());
  CHECK(contents(files.to) == data);
}

CONFORMANCE("progress only grows, and ends with everything") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  const std::string data = pattern(1 << 20);
  fill(files.from, data);
  for (const auto which : {transfer_mechanism::automatic, transfer_mechanism::read_write}) {
    files.to.resize(0);
    std::vector<std::uint64_t> seen;
    auto note = [&](std::uint64_t bytes) { seen.push_back(bytes); };
    files.copy(ctx, copy_options{.only = which, .block_bytes = 65'536, .progress = note});
    REQUIRE_FALSE(seen.empty());
    CHECK(seen.back() == data.size());
    for (std::size_t i = 1; i < seen.size(); ++i) CHECK(seen[i - 1] < seen[i]);
  }
}

namespace {

std::uint64_t told_bytes = 0;
void tell_bytes(std::uint64_t bytes) { told_bytes = bytes; }

}  // namespace

CONFORMANCE("the progress of a copy goes to a plain function, too") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  fill(files.from, pattern(10'000));
  files.copy(ctx, copy_options{.progress = tell_bytes});
  CHECK(told_bytes == 10'000);
}

CONFORMANCE("a copy takes a handler, a future and a coroutine") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  const std::string data = pattern(10'000);
  fill(files.from, data);
  bool inside = true;
  std::uint64_t handled = 0;
  beck::async_copy(files.from, files.to, copy_options(),
                   [&](beck::error_code ec, transfer_report done) {
                     CHECK_FALSE(inside);
                     CHECK_FALSE(ec);
                     handled = done.bytes;
                   });
  inside = false;
  ctx.run();
  ctx.restart();
  CHECK(handled == data.size());
  auto future = beck::async_copy(files.from, files.to, copy_options(), beck::use_future);
  ctx.run();
  ctx.restart();
  CHECK(future.get().bytes == data.size());
  run_task(ctx, [&]() -> beck::awaitable<void> {
    const transfer_report done =
        co_await beck::async_copy(files.from, files.to, copy_options(), beck::use_awaitable);
    CHECK(done.bytes == data.size());
  });
}

CONFORMANCE("a copy between closed files says so") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  files.from.close();
  beck::error_code ec;
  CHECK(files.copy(ctx, copy_options(), ec).bytes == 0);
  CHECK(ec == beck::error::bad_descriptor);
}

CONFORMANCE("a copy from a file that cannot be read, or to one that cannot be written, fails") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  fill(files.from, pattern(1000));
  files.to.close();
  files.to.open(files.place.path("to"), file_object::read_only);
  for (const auto which : {transfer_mechanism::automatic, transfer_mechanism::read_write}) {
    beck::error_code ec;
    CHECK(files.copy(ctx, copy_options{.only = which}, ec).bytes == 0);
    CHECK(ec == beck::error::bad_descriptor);
  }
}

CONFORMANCE("the same bytes of one file are not copied onto themselves") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file file(ctx, place.path("a"), for_writing);
  random_access_file again(ctx, place.path("a"), for_writing);
  const std::string data = pattern(10'000);
  fill(file, data);
  run_task(ctx, [&]() -> beck::task<> {
    auto same = co_await beck::async_copy(file, file);
    CHECK(same.error() == beck::error::invalid_argument);
    auto other = co_await beck::async_copy(file, again, copy_options{.to_offset = 9'999});
    CHECK(other.error() == beck::error::invalid_argument);
    auto behind = co_await beck::async_copy(file, again, copy_options{.to_offset = 10'000});
    CHECK_FALSE(behind.error());
  });
  CHECK(contents(file) == data + data);
}

CONFORMANCE("a target that appends gets the bytes in order behind what it has") {
  beck::io_context ctx(context_options());
  two_files files(ctx, where);
  const std::string data = pattern(200'000);
  fill(files.from, data);
  fill(files.to, "head");
  files.to.close();
  files.to.open(files.place.path("to"), file_object::read_write | file_object::append);
  const transfer_report done = files.copy(ctx, copy_options{.block_bytes = 4096});
  CHECK(done.bytes == data.size());
  CHECK(contents(files.to) == "head" + data);
}
