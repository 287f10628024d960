// SPDX-License-Identifier: BSL-1.0
// Newer calls on files and pipes, refused by a filter (S18): the older form is used, and nothing is
// lost. In child processes, whose filters affect no other case.
#include <beck/file/random_access_file.hpp>
#include <beck/io/read_write.hpp>

#include <cerrno>
#include <string>

#include <sys/syscall.h>

#include "base/sanitizers.hpp"
#include "support/child.hpp"
#include "support/context_options.hpp"
#include "support/file_place.hpp"
#include "support/pipes.hpp"
#include "support/refused_call.hpp"
#include "support/stream_pair.hpp"

using beck::random_access_file;
using beck::test::run_task;

namespace {

/// Writes to a file and to a pipe and reads both: "works", or the name of the part that failed.
std::string use_file_and_pipe(beck::io_context& ctx, const std::string& path) {
  random_access_file file(ctx, path, random_access_file::read_write | random_access_file::create);
  beck::test::pipe_ends pipe(ctx);
  std::string said = "works";
  run_task(ctx, [&]() -> beck::task<> {
    char data[5] = {};
    const auto stored = co_await file.async_write_some_at(7, beck::buffer("hello", 5));
    const auto loaded = co_await file.async_read_some_at(7, beck::buffer(data));
    if (stored.error() || loaded.error() || std::string(data, *loaded) != "hello") said = "file";
    const auto sent = co_await beck::async_write(pipe.in, beck::buffer("world", 5));
    const auto got = co_await beck::async_read(pipe.out, beck::buffer(data));
    if (sent.error() || got.error() || std::string(data, *got) != "world") said = "pipe";
  });
  return said;
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel,
               "S18: where a filter refuses preadv2 or pwritev2 files and pipes do without") {
  if (beck::detail::thread_sanitizer)
    SKIP_CASE("ThreadSanitizer ends a child that seccomp restricts");
  for (const int reason : {EPERM, ENOSYS}) {
    for (const long call : {__NR_preadv2, __NR_pwritev2}) {
      const beck::test::file_place place(where);
      const std::string said = beck::test::said_by_child([&] {
        beck::io_context ctx(context_options());
        if (!beck::test::refuse_call(call, reason)) return std::string("no filter");
        return use_file_and_pipe(ctx, place.path("a"));
      });
      INFO(call << " refused with " << reason);
      CHECK(said == "works");
    }
  }
}
