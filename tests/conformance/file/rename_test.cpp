// SPDX-License-Identifier: BSL-1.0
// Names of files: a file gets another name in one step, and names are removed, also by calls that
// cannot wait.
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/file/rename.hpp>
#include <beck/run/strand.hpp>
#include <optional>
#include <ostream>
#include <string>

#include "support/context_options.hpp"
#include "support/file_place.hpp"
#include "support/stream_pair.hpp"

using beck::error_code;
using beck::file_object;
using beck::random_access_file;
using beck::test::file_place;
using beck::test::run_task;

namespace {

/// Makes a file with this content.
void put(beck::io_context& ctx, const std::string& path, std::string_view text) {
  random_access_file file(ctx, path, file_object::write_only | file_object::create);
  file.write_some_at(0, beck::buffer(text));
}

/// Returns the content of a file; "none" if there is no such file.
std::string content_of(beck::io_context& ctx, const std::string& path) {
  random_access_file file(ctx);
  error_code ec;
  file.open(path, file_object::read_only, ec);
  if (ec) return ec == std::errc::no_such_file_or_directory ? "none" : ec.message();
  char text[100];
  return {text, file.read_some_at(0, beck::buffer(text), ec)};
}

}  // namespace

CONFORMANCE("a file gets another name, in place of the file that had it") {
  const file_place place(where);
  beck::io_context ctx(context_options());
  const std::string a = place.path("a"), b = place.path("b"), c = place.path("c");
  put(ctx, a, "one");
  put(ctx, b, "two");
  run_task(ctx, [&]() -> beck::task<> {
    const auto executor = ctx.get_executor();
    auto renamed = co_await beck::async_rename_file(executor, a, b);
    CHECK(!renamed.error());
    auto again = co_await beck::async_rename_file(executor, a, c);
    CHECK(again.error() == std::errc::no_such_file_or_directory);
  });
  CHECK(content_of(ctx, a) == "none");
  CHECK(content_of(ctx, b) == "one");
  CHECK(content_of(ctx, c) == "none");
}

CONFORMANCE("the name of an open file is removed, and its content can still be read") {
  const file_place place(where);
  beck::io_context ctx(context_options());
  const std::string a = place.path("a"), b = place.path("b");
  put(ctx, a, "one");
  put(ctx, b, "two");
  random_access_file open(ctx, a, file_object::read_only);
  std::optional<error_code> removed, again;
  beck::async_remove_file(ctx.get_executor(), a, [&](error_code ec) { removed = ec; });
  ctx.run();
  ctx.restart();
  REQUIRE(removed.has_value());
  CHECK(!*removed);
  CHECK(content_of(ctx, a) == "none");
  char text[3];
  CHECK(open.read_some_at(0, beck::buffer(text)) == 3);
  CHECK(std::string_view(text, 3) == "one");
  beck::async_remove_file(ctx.get_executor(), a, [&](error_code ec) { again = ec; });
  ctx.run();
  REQUIRE(again.has_value());
  CHECK(*again == std::errc::no_such_file_or_directory);
  error_code ec;
  CHECK(!beck::remove_file(beck::make_strand(ctx), b, ec));
  CHECK(content_of(ctx, b) == "none");
  CHECK(beck::remove_file(ctx.get_executor(), b, ec) == std::errc::no_such_file_or_directory);
}

CONFORMANCE("a path with a NUL in it, or without end, names no file") {
  const file_place place(where);
  beck::io_context ctx(context_options());
  const std::string a = place.path("a");
  put(ctx, a, "one");
  const std::string cut = a + std::string("\0x", 2);
  error_code ec;
  CHECK(beck::remove_file(ctx.get_executor(), cut, ec) == std::errc::invalid_argument);
  const std::string longer(5000, 'x');
  CHECK(beck::remove_file(ctx.get_executor(), longer, ec) == std::errc::filename_too_long);
  CHECK(beck::remove_file(beck::any_io_executor(), a, ec) == std::errc::invalid_argument);
  run_task(ctx, [&]() -> beck::task<> {
    const auto executor = ctx.get_executor();
    auto from_none = co_await beck::async_rename_file(executor, cut, "y");
    CHECK(from_none.error() == std::errc::invalid_argument);
    auto to_none = co_await beck::async_rename_file(executor, a, cut);
    CHECK(to_none.error() == std::errc::invalid_argument);
    auto removed = co_await beck::async_remove_file(executor, cut);
    CHECK(removed.error() == std::errc::invalid_argument);
  });
  CHECK(content_of(ctx, a) == "one");
}

CONFORMANCE("a rename that is cancelled has happened or not, as its result says") {
  const file_place place(where);
  beck::io_context ctx(context_options());
  const std::string a = place.path("a"), b = place.path("b");
  int happened = 0;
  run_task(ctx, [&]() -> beck::task<> {
    const auto executor = ctx.get_executor();
    put(ctx, a, "x");
    for (int i = 0; i < 40; ++i) {
      const bool back = happened % 2 == 1;
      const std::string& from = back ? b : a;
      const std::string& to = back ? a : b;
      const beck::duration limit(i * 2'000LL);
      auto renamed = co_await beck::timeout(beck::async_rename_file(executor, from, to), limit);
      if (!renamed.error()) ++happened;
      if (renamed.error()) CHECK(renamed.error() == beck::error::timeout);
      CHECK(content_of(ctx, renamed.error() ? from : to) == "x");
      CHECK(content_of(ctx, renamed.error() ? to : from) == "none");
    }
  });
}
