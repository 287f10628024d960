// SPDX-License-Identifier: BSL-1.0
//
// dump_on_signal: a signal from outside makes the context print what its tasks do.
#include <fcntl.h>
#include <unistd.h>
#include <beck/coro/co_spawn.hpp>
#include <beck/io/dump_on_signal.hpp>
#include <chrono>
#include <csignal>
#include <ostream>
#include <string>

#include "support/dump_text.hpp"
#include "support/machine.hpp"
#include "support/signal_receiver.hpp"
#include "support/stream_pair.hpp"

using namespace std::chrono_literals;
using beck::dump_on_signal;
using beck::test::machine;
using beck::test::receiver;

namespace {

// A pipe that neither end waits for.
class pipe_text {
 public:
  pipe_text() { REQUIRE(::pipe2(ends_, O_NONBLOCK | O_CLOEXEC) == 0); }
  ~pipe_text() {
    for (const int end : ends_) ::close(end);
  }
  int fd() const { return ends_[1]; }

  // What has come since the last call.
  std::string take() {
    std::string text(1 << 16, '\0');
    const auto bytes = ::read(ends_[0], text.data(), text.size());
    text.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
    return beck::test::without_ages(text);
  }

 private:
  int ends_[2] = {-1, -1};
};

}  // namespace

CONFORMANCE("a signal makes a context print its tasks, each time") {
  machine here;
  pipe_text out;
  beck::io_context ctx(here.options());
  const dump_on_signal on_demand(ctx, SIGUSR1, out.fd());
  beck::co_spawn(ctx, beck::test::pause(ctx, 1h), beck::detached);
  ctx.poll();
  for (int i = 0; i < 2; ++i) {
    here.raise(SIGUSR1);
    ctx.poll();
    const std::string text = out.take();
    CHECK(text.find("1 task in 1 group\n") == 0);
    CHECK(text.find("  waiting T for timer: #1 (due in T)\n") != text.npos);
  }
  ctx.poll();
  CHECK(out.take().empty());
}

CONFORMANCE("waiting for a signal to dump keeps no run() alive") {
  machine here;
  pipe_text out;
  beck::io_context ctx(here.options());
  const dump_on_signal on_demand(ctx, SIGUSR1, out.fd());
  CHECK(ctx.run() == 0);
  here.raise(SIGUSR1);  // is answered by who runs the context next
  CHECK(out.take().empty());
  ctx.restart();
  CHECK(ctx.run() == 0);
  CHECK(out.take() == "no tasks\n");
}

CONFORMANCE("a dump on a signal leaves the signal to other sets too") {
  machine here;
  pipe_text out;
  beck::io_context ctx(here.options());
  const dump_on_signal on_demand(ctx, SIGUSR1, out.fd());
  beck::signal_set set(ctx, SIGUSR1);
  receiver got;
  got.wait(set);
  here.raise(SIGUSR1);
  CHECK(ctx.run() == 1);
  CHECK(got.numbers == std::vector{SIGUSR1});
  CHECK(out.take() == "no tasks\n");
}

CONFORMANCE("without its dump_on_signal a context prints nothing") {
  machine here;
  pipe_text out;
  beck::io_context ctx(here.options());
  beck::signal_set set(ctx, SIGUSR1);  // so that the signal does not end the program
  {
    const dump_on_signal on_demand(ctx, SIGUSR1, out.fd());
    here.raise(SIGUSR1);
  }
  here.raise(SIGUSR1);
  ctx.poll();
  CHECK(out.take().empty());
}

CONFORMANCE("a signal that no process can catch is refused") {
  machine here;
  beck::io_context ctx(here.options());
  CHECK_THROWS_AS(dump_on_signal(ctx, SIGKILL), beck::io_error);
}
