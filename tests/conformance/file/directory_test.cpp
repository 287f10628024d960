// SPDX-License-Identifier: BSL-1.0
//
// Directories: what a path in one leads to and what it must not reach, the properties of files, and
// opens that end before they are done.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <beck/file/directory.hpp>
#include <beck/file/read_write_at.hpp>
#include <beck/interop/use_future.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "support/context_options.hpp"
#include "support/faulty_system.hpp"
#include "support/file_tree.hpp"
#include "support/open_descriptors.hpp"
#include "support/stream_pair.hpp"

using beck::directory;
using beck::file_kind;
using beck::file_object;
using beck::file_status;
using beck::random_access_file;
using beck::test::file_tree;
using beck::test::run_task;

namespace {

constexpr auto reading = file_object::read_only;
constexpr auto for_writing = file_object::read_write | file_object::create;

/// Opens a file of `from` and returns the error; the file is closed again.
beck::task<beck::error_code> open_error(beck::io_context& ctx, directory& from, std::string path,
                                        file_object::flags how = reading,
                                        directory::resolve limits = directory::inside) {
  random_access_file file(ctx);
  auto opened = co_await from.async_open_file(file, path, how, limits);
  CHECK(file.is_open() == !opened.error());
  co_return opened.error();
}

/// A system whose openat2(2) ends with errors, depending on whether it may wait.
class stubborn_system final : public beck::detail::posix_system {
 public:
  int cached_error = 0;
  int error = 0;
  int status_error = 0;
  int calls_that_wait = 0;

  int open_in(int from, const char* path, unsigned flags, unsigned mode,
              unsigned resolve) noexcept override {
    const bool cached = (resolve & beck::detail::resolve_cached) != 0;
    if (!cached) ++calls_that_wait;
    const int refused = cached ? cached_error : error;
    return refused != 0 ? -refused : posix_system::open_in(from, path, flags, mode, resolve);
  }
  int read_status(int fd, file_status& status, bool known) noexcept override {
    return status_error != 0 ? -status_error : posix_system::read_status(fd, status, known);
  }
};

}  // namespace

CONFORMANCE("a file is opened relative to its directory, and its properties come with it") {
  beck::io_context ctx(context_options());
  file_tree tree(ctx, where, {"a", "sub/b"});
  run_task(ctx, [&]() -> beck::task<> {
    directory root(ctx);
    auto opened = co_await root.async_open(tree.root());
    CHECK_FALSE(opened.error());
    random_access_file file(ctx);
    auto [ec, status] = co_await root.async_open_file(file, "sub/b", reading);
    CHECK_FALSE(ec);
    CHECK(status.kind == file_kind::regular);
    CHECK(status.bytes == 5);
    CHECK(status.links == 1);
    CHECK((status.permissions & 0400) != 0);
    CHECK(status.permissions < 010000);
    CHECK(status.inode != 0);
    char text[6] = "";
    auto read = co_await beck::async_read_at(file, 0, beck::buffer(text, 5));
    CHECK_FALSE(read.error());
    CHECK(std::string(text) == "sub/b");
    directory sub(ctx);
    auto below = co_await root.async_open_directory(sub, "sub");
    CHECK_FALSE(below.error());
    CHECK((*below).kind == file_kind::directory);
    random_access_file same(ctx);
    auto again = co_await sub.async_open_file(same, "b", reading);
    CHECK_FALSE(again.error());
    CHECK((*again).inode == status.inode);
    CHECK((*again).device == status.device);
    auto itself = co_await sub.async_status(".");
    CHECK((*itself).inode == (*below).inode);
    CHECK((*itself).inode != status.inode);
  });
}

CONFORMANCE("no path leads out of a directory, unless that is allowed") {
  beck::io_context ctx(context_options());
  file_tree tree(ctx, where, {"a", "sub/b", "sub/deep/c"});
  directory sub(ctx, tree.root() + "/sub");
  run_task(ctx, [&]() -> beck::task<> {
    for (const char* path : {"..", "../a", "../sub/b", "deep/../../a", "/a", "deep/../.."}) {
      CAPTURE(path);
      const beck::error_code refused = co_await open_error(ctx, sub, path);
      CHECK(refused == std::errc::cross_device_link);
      auto status = co_await sub.async_status(path);
      CHECK(status.error() == std::errc::cross_device_link);
    }
    for (const char* path : {"b", "./b", "deep/../b", "deep/./../b", ".//b"}) {
      CAPTURE(path);
      CHECK_FALSE(co_await open_error(ctx, sub, path));
    }
    const beck::error_code ec = co_await open_error(ctx, sub, "../a", reading, directory::anywhere);
    CHECK_FALSE(ec);
    auto above = co_await sub.async_status("deep/../../a", directory::anywhere);
    CHECK((*above).bytes == 1);
    directory other(ctx);
    auto out = co_await sub.async_open_directory(other, "..");
    CHECK(out.error() == std::errc::cross_device_link);
  });
}

CONFORMANCE("what cannot be opened in a directory is refused as everywhere") {
  beck::io_context ctx(context_options());
  file_tree tree(ctx, where, {"a", "sub/b"});
  directory root(ctx, tree.root());
  run_task(ctx, [&]() -> beck::task<> {
    const auto error_of = [&](std::string path, file_object::flags how) {
      return open_error(ctx, root, path, how);
    };
    CHECK(co_await error_of("x", reading) == std::errc::no_such_file_or_directory);
    CHECK(co_await error_of("x/y", reading) == std::errc::no_such_file_or_directory);
    CHECK(co_await error_of("", reading) == std::errc::no_such_file_or_directory);
    CHECK(co_await error_of("a/b", reading) == std::errc::not_a_directory);
    CHECK(co_await error_of("a/", reading) == std::errc::not_a_directory);
    CHECK(co_await error_of("a/.", reading) == std::errc::not_a_directory);
    CHECK(co_await error_of("a/../a", reading) == std::errc::not_a_directory);
    CHECK(co_await error_of("sub", file_object::write_only) == std::errc::is_a_directory);
    CHECK(co_await error_of(std::string(300, 'x'), reading) == beck::error::name_too_long);
    CHECK(co_await error_of(std::string(5000, '/'), reading) == beck::error::name_too_long);
    CHECK(co_await error_of(std::string("a\0b", 3), reading) == beck::error::invalid_argument);
    CHECK(co_await error_of("a", for_writing | file_object::exclusive) == std::errc::file_exists);
    directory other(ctx);
    auto file = co_await root.async_open_directory(other, "a");
    CHECK(file.error() == std::errc::not_a_directory);
    CHECK_FALSE(other.is_open());
    auto plain = co_await other.async_open(tree.root() + "/a");
    CHECK(plain.error() == std::errc::not_a_directory);
    beck::error_code ec;
    other.open(tree.root() + "/a", ec);
    CHECK(ec == std::errc::not_a_directory);
    auto closed = co_await other.async_status("a");
    CHECK(closed.error() == beck::error::bad_descriptor);
    const beck::error_code unopened = co_await open_error(ctx, other, "a");
    CHECK(unopened == beck::error::bad_descriptor);
  });
}

CONFORMANCE("a directory opened as a file has a status and no bytes") {
  beck::io_context ctx(context_options());
  file_tree tree(ctx, where, {"sub/b"});
  directory root(ctx, tree.root());
  run_task(ctx, [&]() -> beck::task<> {
    random_access_file file(ctx);
    auto [ec, status] = co_await root.async_open_file(file, "sub", reading);
    CHECK_FALSE(ec);
    CHECK(status.kind == file_kind::directory);
    char byte = 0;
    auto read = co_await file.async_read_some_at(0, beck::buffer(&byte, 1));
    CHECK(read.error() == std::errc::is_a_directory);
  });
}

CONFORMANCE("files are made, cut and written in a directory") {
  beck::io_context ctx(context_options());
  file_tree tree(ctx, where, {"sub/b"});
  directory root(ctx, tree.root());
  run_task(ctx, [&]() -> beck::task<> {
    random_access_file file(ctx);
    auto made = co_await root.async_open_file(file, "sub/new", for_writing);
    CHECK_FALSE(made.error());
    CHECK((*made).bytes == 0);
    beck::ignore(co_await beck::async_write_at(file, 0, beck::buffer("12345", 5)));
    auto size = co_await root.async_status("sub/new");
    CHECK((*size).bytes == 5);
    CHECK((*size).inode == (*made).inode);
    random_access_file cut(ctx);
    const auto how = file_object::write_only | file_object::truncate;
    auto emptied = co_await root.async_open_file(cut, "sub/new", how);
    CHECK((*emptied).bytes == 0);
  });
}

CONFORMANCE("the time of modification is that of the last change of the contents") {
  beck::io_context ctx(context_options());
  file_tree tree(ctx, where, {"a"});
  random_access_file file(ctx, tree.root() + "/a", file_object::read_write);
  run_task(ctx, [&]() -> beck::task<> {
    const auto later = [&]() -> beck::task<file_status> {  // clocks of files have ticks of 4 ms
      co_await beck::test::pause(ctx, std::chrono::milliseconds(20));
      auto status = co_await file.async_status();
      CHECK_FALSE(status.error());
      co_return *status;
    };
    const file_status first = co_await later();
    CHECK(first.modified_ns > 1'700'000'000'000'000'000);
    const file_status unchanged = co_await later();
    CHECK(unchanged.modified_ns == first.modified_ns);
    beck::ignore(co_await beck::async_write_at(file, 0, beck::buffer("xy", 2)));
    const file_status written = co_await later();
    CHECK(written.modified_ns > first.modified_ns);
    CHECK(written.bytes == 2);
    beck::ignore(co_await file.async_resize(1));
    const file_status cut = co_await later();
    CHECK(cut.modified_ns > written.modified_ns);
    CHECK(cut.bytes == 1);
    CHECK(file.status().modified_ns == cut.modified_ns);
    CHECK(file.status().inode == first.inode);
  });
}

CONFORMANCE("the status of a closed file is bad_descriptor") {
  beck::io_context ctx(context_options());
  random_access_file file(ctx);
  beck::error_code ec;
  CHECK(file.status(ec).bytes == 0);
  CHECK(ec == beck::error::bad_descriptor);
  CHECK_THROWS_AS(beck::ignore(file.status()), beck::io_error);
  run_task(ctx, [&]() -> beck::task<> {
    auto status = co_await file.async_status();
    CHECK(status.error() == beck::error::bad_descriptor);
  });
}

CONFORMANCE("a file that is open already is left alone by an open in a directory") {
  beck::io_context ctx(context_options());
  file_tree tree(ctx, where, {"a", "b"});
  directory root(ctx, tree.root());
  const auto before = beck::test::open_descriptors();
  run_task(ctx, [&]() -> beck::task<> {
    random_access_file file(ctx);
    auto first = co_await root.async_open_file(file, "a", reading);
    CHECK_FALSE(first.error());
    auto second = co_await root.async_open_file(file, "b", reading);
    CHECK(second.error() == beck::error::already_open);
    CHECK(file.status().inode == (*first).inode);
  });
  CHECK(beck::test::open_descriptors() == before);
}

CONFORMANCE("a file that is opened elsewhere while an open is under way stays what it is") {
  beck::io_context ctx(context_options());
  file_tree tree(ctx, where, {"a", "b"});
  directory root(ctx, tree.root());
  const auto before = beck::test::open_descriptors();
  {
    random_access_file file(ctx);
    beck::error_code ended;
    root.async_open_file(file, "a", reading, directory::inside,
                         [&](beck::error_code ec, file_status) { ended = ec; });
    file.open(tree.root() + "/b", reading);
    const auto number = file.status().inode;
    ctx.run();
    CHECK(ended == beck::error::already_open);
    CHECK(file.status().inode == number);
  }
  CHECK(beck::test::open_descriptors() == before);
}

CONFORMANCE("an open in a directory that is closed or cancelled ends, and leaves no descriptor") {
  const auto before = beck::test::open_descriptors();
  for (const bool closes : {true, false}) {
    beck::io_context ctx(context_options());
    file_tree tree(ctx, where, {"a"});
    directory root(ctx, tree.root());
    random_access_file file(ctx);
    std::optional<beck::error_code> ended;
    root.async_open_file(file, "a", reading, directory::inside,
                         [&](beck::error_code ec, file_status) { ended = ec; });
    closes ? root.close() : root.cancel();
    ctx.run();
    REQUIRE(ended);
    const bool done = !*ended;  // a call that was made keeps its result
    CHECK((done || *ended == beck::error::operation_aborted));
    CHECK(file.is_open() == done);
  }
  CHECK(beck::test::open_descriptors() == before);
}

CONFORMANCE("what a context has of a directory when it ends is closed") {
  const auto before = beck::test::open_descriptors();
  for (const bool polled : {false, true}) {
    beck::io_context ctx(context_options());
    file_tree tree(ctx, where, {"a"});
    struct everything {
      everything(beck::io_context& on, const std::string& path) : root(on, path), file(on) {}
      directory root;
      random_access_file file;
      beck::directory_listing listing;
    };
    auto all = std::make_shared<everything>(ctx, tree.root());
    all->root.async_open_file(all->file, "a", reading, directory::inside,
                              [all](beck::error_code, file_status) {});
    all->root.async_status("a", directory::inside, [all](beck::error_code, file_status) {});
    all->root.async_list(all->listing, [all](beck::error_code, std::size_t) {});
    if (polled) ctx.poll();
  }
  CHECK(beck::test::open_descriptors() == before);
}

CONFORMANCE("a status, an open and a listing take handlers and futures") {
  beck::io_context ctx(context_options());
  file_tree tree(ctx, where, {"a"});
  directory root(ctx, tree.root());
  random_access_file file(ctx);
  bool inside = true;
  std::uint64_t bytes = 0;
  root.async_open_file(file, std::string("a"), reading, directory::inside,
                       [&](beck::error_code ec, file_status status) {
                         CHECK_FALSE(inside);
                         CHECK_FALSE(ec);
                         bytes = status.bytes;
                       });
  inside = false;
  ctx.run();
  ctx.restart();
  CHECK(bytes == 1);
  auto status = root.async_status(std::string("a"), directory::inside, beck::use_future);
  beck::directory_listing listing;
  auto count = root.async_list(listing, beck::use_future);
  ctx.run();
  CHECK(status.get().bytes == 1);
  CHECK(count.get() == 1);
}

CONFORMANCE_ON(beck::test::kernel, "links lead nowhere outside, and nowhere at all if forbidden") {
  beck::io_context ctx(context_options());
  file_tree tree(ctx, where, {"a", "sub/b"});
  std::filesystem::create_symlink("b", tree.root() + "/sub/near");
  std::filesystem::create_symlink("../a", tree.root() + "/sub/far");
  std::filesystem::create_hard_link(tree.root() + "/a", tree.root() + "/twin");
  directory sub(ctx, tree.root() + "/sub");
  run_task(ctx, [&]() -> beck::task<> {
    CHECK_FALSE(co_await open_error(ctx, sub, "near"));
    CHECK(co_await open_error(ctx, sub, "far") == std::errc::cross_device_link);
    const auto limits = directory::beneath | directory::no_links;
    CHECK(co_await open_error(ctx, sub, "near", reading, limits) ==
          std::errc::too_many_symbolic_link_levels);
    CHECK_FALSE(co_await open_error(ctx, sub, "b", reading, limits));
    auto far = co_await sub.async_status("far", directory::anywhere);
    CHECK((*far).links == 2);
    CHECK((*far).kind == file_kind::regular);
    directory proc(ctx, "/proc/self");
    CHECK(co_await open_error(ctx, proc, "fd/0", reading, directory::no_magic_links) ==
          std::errc::too_many_symbolic_link_levels);
  });
}

CONFORMANCE_ON(beck::test::kernel, "a named pipe in a directory keeps no open waiting") {
  beck::io_context ctx(context_options());
  file_tree tree(ctx, where, {"a"});
  REQUIRE(::mkfifo((tree.root() + "/pipe").c_str(), 0600) == 0);
  directory root(ctx, tree.root());
  run_task(ctx, [&]() -> beck::task<> {
    random_access_file file(ctx);
    auto [ec, status] = co_await root.async_open_file(file, "pipe", reading);
    CHECK_FALSE(ec);
    CHECK(status.kind == file_kind::pipe);
    random_access_file regular(ctx);
    beck::ignore(co_await root.async_open_file(regular, "a", for_writing));
    // The flag is only for the open: reads of a ring take another way with it.
    CHECK((::fcntl(regular.native_handle(), F_GETFL) & O_NONBLOCK) == 0);
    CHECK(beck::test::closes_on_exec(regular.native_handle()));
  });
}

CONFORMANCE_ON(beck::test::kernel, "a path that is in memory is opened without a thread") {
  beck::io_context ctx(context_options());
  file_tree tree(ctx, where, {"a"});
  directory root(ctx, tree.root());
  run_task(ctx, [&]() -> beck::task<> {
    const auto before = ctx.stats();
    random_access_file file(ctx);
    auto opened = co_await root.async_open_file(file, "a", reading);
    CHECK_FALSE(opened.error());
    auto status = co_await root.async_status("a");
    CHECK_FALSE(status.error());
    auto missing = co_await root.async_status("nothing");
    CHECK(missing.error() == std::errc::no_such_file_or_directory);
    const auto after = ctx.stats();
    CHECK(after.inline_completions - before.inline_completions >= 2);
    CHECK(after.attempts - before.attempts == 3);
    CHECK(after.wrong_attempts - before.wrong_attempts <= 1);  // the name that is not there
  });
}

CONFORMANCE_ON(beck::test::kernel,
               "a path that is not in memory is opened by a thread, and an old kernel says so") {
  beck::io_context ctx(context_options());
  auto made = std::make_unique<stubborn_system>();
  stubborn_system& sys = *made;
  beck::testing::context_seam::replace_system(ctx, std::move(made));
  file_tree tree(ctx, where, {"a"});
  directory root(ctx, tree.root());
  run_task(ctx, [&]() -> beck::task<> {
    sys.cached_error = EAGAIN;
    random_access_file file(ctx);
    auto opened = co_await root.async_open_file(file, "a", reading);
    CHECK_FALSE(opened.error());
    CHECK((*opened).bytes == 1);
    CHECK(sys.calls_that_wait == 1);
    auto status = co_await root.async_status("a");
    CHECK((*status).bytes == 1);
    CHECK(sys.calls_that_wait == 2);
    sys.cached_error = sys.error = ENOSYS;
    auto refused = co_await root.async_status("a");
    CHECK(refused.error() == std::errc::function_not_supported);
    CHECK(sys.calls_that_wait == 2);
  });
  CHECK(ctx.stats().wrong_attempts == 2);
}

CONFORMANCE_ON(beck::test::kernel, "a file whose properties cannot be read is not left open") {
  beck::io_context ctx(context_options());
  auto made = std::make_unique<stubborn_system>();
  stubborn_system& sys = *made;
  beck::testing::context_seam::replace_system(ctx, std::move(made));
  file_tree tree(ctx, where, {"a"});
  directory root(ctx, tree.root());
  const auto before = beck::test::open_descriptors();
  run_task(ctx, [&]() -> beck::task<> {
    sys.status_error = EIO;
    const beck::error_code opened = co_await open_error(ctx, root, "a");
    CHECK(opened == std::errc::io_error);
    auto status = co_await root.async_status("a");
    CHECK(status.error() == std::errc::io_error);
  });
  CHECK(beck::test::open_descriptors() == before);
}
