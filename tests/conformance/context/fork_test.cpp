// SPDX-License-Identifier: BSL-1.0
//
// U16: a child of fork shares the parent's ring or epoll instance, but not its operations. It may
// destroy what it inherited, which disturbs nothing of the parent's; to run it is a bug.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <beck/file/stream_file.hpp>
#include <beck/transfer/copy.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/dies.hpp"
#include "support/context_options.hpp"
#include "support/outcome.hpp"
#include "support/stream_pair.hpp"

namespace {

constexpr std::size_t pairs_max = 3;

struct inheritance {
  explicit inheritance(const beck::io_context::options& how)
      : ctx(std::make_unique<beck::io_context>(how)) {
    for (std::size_t i = 0; i < pairs_max; ++i) {
      pairs.push_back(std::make_unique<beck::test::stream_pair>(*ctx));
      pairs[i]->a.async_read_some(
          beck::buffer(data[i]),
          [this, held = life](beck::error_code ec, std::size_t n) { read += ec ? 0 : n; });
      pairs[i]->a.async_write_some(
          beck::buffer("w", 1), [this, held = life](beck::error_code, std::size_t) { ++written; });
      // behind the first one
      pairs[i]->a.async_read_some(beck::buffer(data[i]),
                                  [held = life](beck::error_code, std::size_t) {});
    }
    timer = std::make_unique<beck::steady_timer>(*ctx, std::chrono::hours(1));
    timer->async_wait([held = life](beck::error_code) {});
    beck::co_spawn(*ctx, wait_for_ever(*timer, life), beck::detached);
  }

  static beck::task<> wait_for_ever(beck::steady_timer& timer, std::shared_ptr<int>) {
    beck::ignore(co_await timer.async_wait());
  }

  std::shared_ptr<int> life = std::make_shared<int>();
  std::size_t read = 0;
  int written = 0;
  std::string data[pairs_max] = {std::string(1, ' '), std::string(100, ' '),
                                 std::string(9000, ' ')};
  std::unique_ptr<beck::io_context> ctx;
  std::vector<std::unique_ptr<beck::test::stream_pair>> pairs;
  std::unique_ptr<beck::steady_timer> timer;
};

/// The exit status of a child that runs `code`, -1 if a signal ended it.
template <class Code>
int status_of_child(Code code) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(code());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// All that the parent has started still works.
void check_that_reads_arrive(inheritance& in) {
  for (auto& pair : in.pairs) CHECK(pair->b.write_some(beck::buffer("x", 1)) == 1);
  for (int i = 0; i < 1000 && in.read < pairs_max; ++i) in.ctx->poll();
  CHECK(in.read == pairs_max);
  CHECK(in.written == static_cast<int>(pairs_max));
}

}  // namespace

CONFORMANCE_ON(beck::test::kernel,
               "a child of fork destroys objects and context, the parent's go on") {
  for (const int polls : {0, 1, 5}) {
    inheritance in(context_options());
    for (int i = 0; i < polls; ++i) in.ctx->poll();
    CHECK(status_of_child([&in] {
            in.pairs.clear();
            in.timer.reset();
            in.ctx.reset();
            return static_cast<int>(in.life.use_count());  // every handler and frame is gone
          }) == 1);
    check_that_reads_arrive(in);
  }
}

CONFORMANCE_ON(beck::test::kernel,
               "a child of fork destroys the handler of a read that was to be tried a turn later") {
  for (const int handlers : {0, 1, 64, 65, 100}) {  // a turn takes 64
    const auto life = std::make_shared<int>();
    auto ctx = std::make_unique<beck::io_context>(context_options());
    auto pair = std::make_unique<beck::test::stream_pair>(*ctx);
    char room[100];
    beck::test::outcome first;
    pair->a.async_read_some(beck::buffer(room), beck::test::note(first));
    beck::test::let_settle(*ctx);
    pair->b.write_some(beck::buffer("x", 1));  // after a short read the next one is tried late
    CHECK(beck::test::run_until(*ctx, first));
    int reads = 0;
    pair->a.async_read_some(beck::buffer(room),
                            [held = life, &reads](beck::error_code, std::size_t) { ++reads; });
    for (int i = 0; i <= handlers; ++i) post(*ctx, [] {});
    for (int i = 0; i < handlers; ++i) ctx->poll_one();
    CHECK(status_of_child([&] {
            pair.reset();
            ctx.reset();
            return static_cast<int>(life.use_count());
          }) == 1);
    pair->b.write_some(beck::buffer("y", 1));
    for (int i = 0; i < 1000 && reads == 0; ++i) ctx->poll();
    CHECK(reads == 1);
  }
}

CONFORMANCE_ON(beck::test::kernel,
               "a child of fork destroys the context before its objects' owner") {
  inheritance in(context_options());
  in.ctx->poll();
  CHECK(status_of_child([&in] {
          in.pairs[0]->a.close();  // off the runner
          beck::error_code ec;
          in.pairs[1]->a.cancel(ec);
          in.pairs.clear();
          in.timer.reset();
          in.ctx.reset();
          return static_cast<int>(in.life.use_count());
        }) == 1);
  check_that_reads_arrive(in);
}

CONFORMANCE_ON(beck::test::kernel, "a child of fork may make and run a context of its own") {
  inheritance in(context_options());
  in.ctx->poll();
  const auto how = context_options();
  CHECK(status_of_child([&in, &how] {
          in.pairs.clear();
          in.timer.reset();
          in.ctx.reset();
          inheritance own(how);
          for (auto& pair : own.pairs) pair->b.write_some(beck::buffer("x", 1));
          for (int i = 0; i < 1000 && own.read < pairs_max; ++i) own.ctx->poll();
          return static_cast<int>(own.read);
        }) == static_cast<int>(pairs_max));
  check_that_reads_arrive(in);
}

CONFORMANCE_ON(beck::test::kernel,
               "a child of fork that runs the parent's context ends with a message") {
  inheritance in(context_options());
  in.ctx->poll();
  CHECK(dies_with([&in] { in.ctx->poll(); }).find("child of fork") != std::string::npos);
  check_that_reads_arrive(in);
}

CONFORMANCE_ON(beck::test::kernel,
               "a child of fork cancels, closes and releases, and the parent's sockets go on") {
  for (const int polls : {0, 1, 5}) {
    inheritance in(context_options());
    for (int i = 0; i < polls; ++i) in.ctx->poll();
    CHECK(status_of_child([&in] {
            beck::error_code ec;
            const int fd = in.pairs[2]->a.release(ec);
            if (ec || fd < 0) return 1;
            ::close(fd);
            in.pairs[0]->a.cancel();
            in.pairs[1]->a.close();
            in.timer->cancel();
            return in.pairs[1]->a.is_open() ? 2 : 0;
          }) == 0);
    check_that_reads_arrive(in);
  }
}

CONFORMANCE_ON(beck::test::kernel,
               "a child that a handler made may close, destroy and exit inside it") {
  inheritance in(context_options());
  in.ctx->poll();
  int status = -1;
  beck::post(*in.ctx, [&] {
    status = status_of_child([&in] {
      in.pairs[0]->a.close();
      in.pairs.clear();
      in.timer.reset();
      return 0;
    });
  });
  in.ctx->poll();
  CHECK(status == 0);
  check_that_reads_arrive(in);
}

CONFORMANCE_ON(beck::test::kernel,
               "a child that returns from a handler into the parent's loop ends with a message") {
  const std::string text = dies_with([] {
    inheritance in(context_options());
    in.ctx->poll();
    beck::post(*in.ctx, [] {
      const pid_t child = ::fork();
      if (child == 0) return;  // into the loop below
      int status = 0;
      ::waitpid(child, &status, 0);
      if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) std::abort();
      ::_exit(0);
    });
    in.ctx->run();
  });
  CHECK(text.find("fork") != std::string::npos);
}

CONFORMANCE_ON(beck::test::kernel, "a child of fork that execs leaves the parent alone") {
  inheritance in(context_options());
  in.ctx->poll();
  CHECK(status_of_child([] {
          ::execl("/bin/sh", "sh", "-c", "exit 7", static_cast<char*>(nullptr));
          return 1;
        }) == 7);
  check_that_reads_arrive(in);
}

CONFORMANCE_ON(beck::test::kernel,
               "a child of fork starts nothing that its parent began before the first run") {
  beck::io_context ctx(context_options());
  auto pair = std::make_unique<beck::test::stream_pair>(ctx);
  std::string there(16, ' ');
  std::size_t read = 0;
  pair->a.async_write_some(beck::buffer("hello", 5), [](beck::error_code, std::size_t) {});
  pair->b.async_read_some(beck::buffer(there), [&](beck::error_code, std::size_t n) { read = n; });
  CHECK(status_of_child([&] {
          pair.reset();
          return 0;
        }) == 0);
  CHECK(pair->b.available() == 0);
  ctx.run();
  CHECK(read == 5);
  CHECK(pair->b.available() == 0);
}

CONFORMANCE_ON(beck::test::kernel,
               "a child of fork destroys a context in the middle of a copy, and closes its files") {
  const int lowest = ::dup(0);
  ::close(lowest);
  auto ctx = std::make_unique<beck::io_context>(context_options());
  bool opened = false;
  const auto copy = [&]() -> beck::task<> {
    beck::stream_file from(*ctx, "/dev/zero", beck::stream_file::read_only);
    beck::stream_file to(*ctx, "/dev/null", beck::stream_file::write_only);
    opened = true;
    const auto how = beck::copy_options{.length = std::uint64_t{1} << 50};
    beck::ignore(co_await beck::async_copy(from, to, how));
  };
  beck::co_spawn(*ctx, copy, beck::detached);
  // poll() would not return while each block is ready at once.
  const beck::duration moment(100'000);
  for (int i = 0; i < 50; ++i) ctx->run_for(moment);
  REQUIRE(opened);
  const auto descriptors_left = [&ctx, lowest] {
    ctx.reset();
    int left = 0;
    for (int fd = lowest; fd < lowest + 64; ++fd) left += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    return left;
  };
  // A call of a thread of the pool may have one or both in use at the fork: they stay open then.
  int least = status_of_child(descriptors_left);
  for (int i = 0; i < 100 && least > 1; ++i) {
    ctx->run_for(moment);
    least = std::min(least, status_of_child(descriptors_left));
  }
  CHECK(least <= 1);
  ctx.reset();
}
