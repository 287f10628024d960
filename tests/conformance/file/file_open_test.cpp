// SPDX-License-Identifier: BSL-1.0
//
// Asynchronous opens: what the file is like, and opens whose object is closed, cancelled or gone
// before they end.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/file/random_access_file.hpp>
#include <beck/run/bind.hpp>
#include <beck/run/strand.hpp>
#include <future>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>

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

/// How an open is ended before it is done.
enum class end { close, cancel, object_goes };
constexpr end ends[] = {end::close, end::cancel, end::object_goes};

void bring_about(end how, std::unique_ptr<random_access_file>& file) {
  if (how == end::close) file->close();
  if (how == end::cancel) file->cancel();
  if (how == end::object_goes) file.reset();
}

unsigned mode_of(const std::string& path) {
  struct stat status{};
  CHECK(::stat(path.c_str(), &status) == 0);
  return status.st_mode;
}

/// A thread of epoll's may have opened it before anything else happens.
bool is_end_of_an_open(const beck::error_code& ec, beck::backend where) {
  return ec == beck::error::operation_aborted || (where == beck::test::on_epoll && !ec);
}

/// An open of a named pipe stays in the kernel until somebody has it open for writing.
class slow_file {
 public:
  explicit slow_file(std::string path) : path_(std::move(path)) {
    REQUIRE(::mkfifo(path_.c_str(), 0600) == 0);
  }
  ~slow_file() { ::close(writer_); }
  slow_file(const slow_file&) = delete;
  slow_file& operator=(const slow_file&) = delete;

  const char* path() const { return path_.c_str(); }
  void let_open() { writer_ = ::open(path(), O_RDWR | O_CLOEXEC); }

 private:
  std::string path_;
  int writer_ = -1;
};
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

CONFORMANCE("a file that is closed or cancelled while it opens is not open afterwards") {
  file_place place(where);
  const std::string path = place.path("a");
  const auto before = beck::test::open_descriptors();
  for (const bool running : {false, true}) {
    for (const bool cancels : {false, true}) {
      beck::io_context ctx(context_options());
      random_access_file file(ctx);
      beck::error_code ended = beck::error::in_progress;
      auto open_and_end = [&] {
        file.async_open(path.c_str(), for_writing, [&](beck::error_code ec) { ended = ec; });
        cancels ? file.cancel() : file.close();
      };
      running ? post(ctx, open_and_end) : open_and_end();
      ctx.run();
      CHECK(is_end_of_an_open(ended, where));
      CHECK(file.is_open() == (cancels && !ended));
      file.close();
      file.open(path, for_writing);  // it may be used again
    }
  }
  if (where != beck::test::on_sim) CHECK(beck::test::open_descriptors() == before);
}

CONFORMANCE("a file never opens in an object that has taken the place of its own") {
  const file_place place(where);
  const std::string path = place.path("a");
  for (const bool running : {false, true}) {
    beck::io_context ctx(context_options());
    auto file = std::make_unique<random_access_file>(ctx);
    std::unique_ptr<random_access_file> others[2];
    beck::error_code ended = beck::error::in_progress;
    auto open_and_go = [&] {
      file->async_open(path.c_str(), for_writing, [&](beck::error_code ec) { ended = ec; });
      file.reset();
      for (auto& other : others) other = std::make_unique<random_access_file>(ctx);
    };
    running ? post(ctx, open_and_go) : open_and_go();
    ctx.run();
    CHECK(is_end_of_an_open(ended, where));
    for (auto& other : others) CHECK_FALSE(other->is_open());
    others[0]->open(path, for_writing);
    CHECK_FALSE(others[1]->is_open());
  }
}

CONFORMANCE("files that go with calls under way leave each place to one object only") {
  beck::io_context ctx(context_options());
  const file_place place(where);
  auto file = std::make_unique<random_access_file>(ctx, place.path("a"), for_writing);
  beck::error_code ended;
  post(ctx, [&] {
    file->async_sync_all([&](beck::error_code ec) { ended = ec; });
    file.reset();
  });
  ctx.run();
  random_access_file one(ctx);
  random_access_file other(ctx);
  one.open(place.path("a"), for_writing);
  CHECK_FALSE(other.is_open());
}

CONFORMANCE_ON(beck::test::kernel, "an open that the kernel has at work ends without a file") {
  const file_place place(where);
  for (const end how : ends) {
    const std::string name = "pipe" + std::to_string(static_cast<int>(how));
    slow_file slow(place.path(name.c_str()));
    beck::io_context ctx(context_options());
    auto file = std::make_unique<random_access_file>(ctx);
    beck::error_code ended;
    file->async_open(slow.path(), file_object::read_only | file_object::create,
                     [&](beck::error_code ec) { ended = ec; });
    for (int turn = 0; turn < 100; ++turn) ctx.poll();
    CHECK_FALSE(ended);
    bring_about(how, file);
    random_access_file next(ctx);
    random_access_file last(ctx);
    slow.let_open();
    ctx.run();
    CHECK(ended == beck::error::operation_aborted);
    CHECK_FALSE(next.is_open());
    CHECK_FALSE(last.is_open());
    if (file != nullptr) CHECK_FALSE(file->is_open());
    next.open(slow.path(), for_writing);
    CHECK_FALSE(last.is_open());
  }
}

CONFORMANCE_ON(beck::test::kernel, "an open is ended from a thread that does not run the context") {
  const file_place place(where);
  for (const end how : ends) {
    const std::string name = "pipe" + std::to_string(static_cast<int>(how));
    slow_file slow(place.path(name.c_str()));
    beck::io_context ctx(context_options());
    auto file = std::make_unique<random_access_file>(ctx);
    std::promise<beck::error_code> ended;
    auto guard = beck::make_work_guard(ctx);
    std::thread runner([&] { ctx.run(); });
    file->async_open(slow.path(), file_object::read_only | file_object::create,
                     [&](beck::error_code ec) { ended.set_value(ec); });
    bring_about(how, file);
    random_access_file next(ctx);
    slow.let_open();
    CHECK(ended.get_future().get() == beck::error::operation_aborted);
    guard.reset();
    runner.join();
    CHECK_FALSE(next.is_open());
    if (file != nullptr) CHECK_FALSE(file->is_open());
  }
}

CONFORMANCE_ON(beck::test::kernel, "a child of fork destroys files that its parent works with") {
  const file_place place(where);
  for (const bool at_once : {true, false}) {
    slow_file slow(place.path(at_once ? "pipe" : "other"));
    beck::io_context ctx(context_options());
    auto used = std::make_unique<random_access_file>(ctx, place.path("a"), for_writing);
    auto opened = std::make_unique<random_access_file>(ctx);
    int ended = 0;
    int status = -1;
    auto divide = [&] {
      const pid_t child = ::fork();
      if (child == 0) {
        used.reset();
        opened.reset();
        ::_exit(0);
      }
      ::waitpid(child, &status, 0);
    };
    post(ctx, [&] {
      opened->async_open(slow.path(), file_object::read_only | file_object::create,
                         [&](beck::error_code ec) { ended += ec ? 0 : 1; });
      for (int i = 0; i < 40; ++i) {
        used->async_sync_all([&](beck::error_code ec) { ended += ec ? 0 : 1; });
      }
      if (at_once) divide();
    });
    for (int turn = 0; turn < 100; ++turn) ctx.poll();
    if (!at_once) divide();
    CHECK(WIFEXITED(status));
    slow.let_open();
    ctx.run();
    CHECK(ended == 41);
    CHECK(opened->is_open());
  }
}

CONFORMANCE_ON(beck::test::epoll, "a context that several threads run opens files, or does not") {
  const file_place place(where);
  const std::string path = place.path("a");
  const auto before = beck::test::open_descriptors();
  {
    beck::io_context ctx({.backend = beck::backend::epoll, .threads = 2});
    std::unique_ptr<random_access_file> files[64];
    beck::error_code results[64];
    int ended = 0;
    auto strand = beck::make_strand(ctx.get_executor());
    for (auto& file : files) {
      const auto n = static_cast<std::size_t>(&file - files);
      file = std::make_unique<random_access_file>(ctx);
      auto note = [&, n](beck::error_code ec) {
        ++ended;
        results[n] = ec;
      };
      file->async_open(path.c_str(), for_writing, beck::bind_executor(strand, note));
      if (n % 4 == 1) file->close();
      if (n % 4 == 2) file->cancel();
      if (n % 4 == 3) file = std::make_unique<random_access_file>(ctx);
    }
    std::thread other([&] { ctx.run(); });
    ctx.run();
    other.join();
    CHECK(ended == 64);
    for (std::size_t n = 0; n < 64; ++n) {
      CHECK(is_end_of_an_open(results[n], where));
      if (n % 4 == 0) CHECK_FALSE(results[n]);
      CHECK(files[n]->is_open() == (n % 4 == 0 || (n % 4 == 2 && !results[n])));
    }
  }
  CHECK(beck::test::open_descriptors() == before);
}
