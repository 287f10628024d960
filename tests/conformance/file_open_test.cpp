// SPDX-License-Identifier: BSL-1.0
//
// Asynchronous opens: what the file is like.
#include <sys/stat.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/file/random_access_file.hpp>
#include <ostream>
#include <string>

#include "support/context_options.hpp"
#include "support/file_place.hpp"
#include "support/open_descriptors.hpp"
#include "support/stream_pair.hpp"

using beck::file_object;
using beck::random_access_file;
using beck::test::file_place;
using beck::test::run_task;

namespace {
constexpr auto for_writing = file_object::read_write | file_object::create;

unsigned mode_of(const std::string& path) {
  struct stat status{};
  CHECK(::stat(path.c_str(), &status) == 0);
  return status.st_mode;
}
}  // namespace

CONFORMANCE_ON(beck::test::kernel, "a new file has the same permissions whoever waits for it") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  random_access_file now(ctx, place.path("now"), for_writing);
  random_access_file awaited(ctx);
  random_access_file handled(ctx);
  const std::string awaited_path = place.path("awaited");
  const std::string handled_path = place.path("handled");
  run_task(ctx, [&]() -> beck::task<> {
    CHECK_FALSE((co_await awaited.async_open(awaited_path.c_str(), for_writing)).error());
  });
  ctx.restart();
  handled.async_open(handled_path.c_str(), for_writing,
                     [](beck::error_code ec) { CHECK_FALSE(ec); });
  ctx.run();
  CHECK(mode_of(awaited_path) == mode_of(place.path("now")));
  CHECK(mode_of(handled_path) == mode_of(place.path("now")));
}

CONFORMANCE_ON(beck::test::kernel, "no file is handed to the programs that are executed") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  const std::string path = place.path("a");
  random_access_file now(ctx, path, for_writing);
  random_access_file later(ctx);
  later.async_open(path.c_str(), for_writing, [](beck::error_code ec) { CHECK_FALSE(ec); });
  ctx.run();
  CHECK(beck::test::closes_on_exec(now.native_handle()));
  CHECK(beck::test::closes_on_exec(later.native_handle()));
}
