// SPDX-License-Identifier: BSL-1.0
// Directories where a filter, or a kernel before Linux 5.6, has no openat2(2) (S18). In child
// processes, whose filters affect no other case.
#include <beck/file/directory.hpp>

#include <cerrno>
#include <filesystem>
#include <string>

#include <sys/syscall.h>

#include "base/sanitizers.hpp"
#include "support/child.hpp"
#include "support/context_options.hpp"
#include "support/file_tree.hpp"
#include "support/refused_call.hpp"
#include "support/stream_pair.hpp"

using beck::directory;
using beck::random_access_file;
using beck::test::file_tree;
using beck::test::run_task;

namespace {

/// Opens files beneath a directory: "works", or the path whose answer is wrong.
std::string use_directory(beck::io_context& ctx, const std::string& path) {
  struct question {
    const char* path;
    directory::resolve limits;
    int error;
  };
  const question questions[] = {
      {"a", directory::inside, 0},
      {"sub/b", directory::inside, 0},
      {"sub/../a", directory::inside, 0},
      {"near", directory::inside, 0},
      {"near", directory::inside | directory::no_links, ELOOP},
      {"far", directory::inside, EXDEV},
      {"../secret", directory::inside, EXDEV},
      {"../secret", directory::anywhere, 0},
      {"/etc/passwd", directory::inside, EXDEV},
      {"nothing", directory::inside, ENOENT},
      {"a/b", directory::inside, ENOTDIR},
  };
  std::string said = "works";
  run_task(ctx, [&]() -> beck::task<> {
    directory root(ctx, path);
    for (const question& asked : questions) {
      random_access_file file(ctx);
      auto opened = co_await root.async_open_file(file, asked.path, random_access_file::read_only,
                                                  asked.limits);
      auto status = co_await root.async_status(asked.path, asked.limits);
      const bool same = opened.error().value() == asked.error &&
                        status.error().value() == asked.error &&
                        (asked.error != 0 || (*opened).inode == (*status).inode);
      if (!same) said = asked.path;
    }
  });
  return said;
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel,
               "S18: where a filter refuses openat2 files are opened beneath a directory without") {
  if (beck::detail::thread_sanitizer)
    SKIP_CASE("ThreadSanitizer ends a child that seccomp restricts");
  for (const int reason : {0, EPERM, ENOSYS}) {
    beck::io_context outer(context_options());
    const file_tree tree(outer, where, {"a", "sub/b"});
    std::filesystem::create_symlink("sub/b", tree.root() + "/near");
    std::filesystem::create_symlink("../secret", tree.root() + "/far");
    std::filesystem::copy_file(tree.root() + "/a", tree.root() + "/../secret");
    const std::string said = beck::test::said_by_child([&] {
      beck::io_context ctx(context_options());
      if (reason != 0 && !beck::test::refuse_call(__NR_openat2, reason))
        return std::string("no filter");
      return use_directory(ctx, tree.root());
    });
    INFO("refused with " << reason);
    CHECK(said == "works");
  }
}
