// SPDX-License-Identifier: BSL-1.0
// Writing without SIGPIPE on kernels that cannot be told to send none, and sending files, for which
// none can: what the program has done with its signals is the same before and after.
#include "io/system/pipe_signal.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <beck/base/unique_fd.hpp>
#include <beck/detail/vector_operation.hpp>

#include "base/sanitizers.hpp"
#include "io/system/posix_system.hpp"
#include "support/report.hpp"

using beck::unique_fd;
using beck::detail::io_vector;

namespace {

volatile std::sig_atomic_t raised = 0;

/// SIGPIPE as a program has it by default, or with a handler; and as it was, afterwards.
class pipe_signal {
 public:
  explicit pipe_signal(void (*handler)(int)) {
    raised = 0;
    struct sigaction mine{};
    mine.sa_handler = handler;
    ::sigaction(SIGPIPE, &mine, &action_);
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
  }
  ~pipe_signal() {
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    ::sigaction(SIGPIPE, &action_, nullptr);
  }
  pipe_signal(const pipe_signal&) = delete;
  pipe_signal& operator=(const pipe_signal&) = delete;

 private:
  struct sigaction action_{};
  sigset_t mask_{};
};

struct ends {
  ends() {
    int both[2];
    REQUIRE(::pipe2(both, O_CLOEXEC | O_NONBLOCK) == 0);
    out.reset(both[0]);
    in.reset(both[1]);
  }
  unique_fd out, in;
};

char text[] = "text";
const io_vector part{text, 4};

bool is_blocked() {
  sigset_t now;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
  return sigismember(&now, SIGPIPE) != 0;
}

bool is_pending() {
  sigset_t now;
  ::sigpending(&now);
  return sigismember(&now, SIGPIPE) != 0;
}

void block() {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &one, nullptr);
}

void count_signal(int) { raised = raised + 1; }

/// Another process sends SIGPIPE to this one; it has arrived afterwards.
void send_from_outside() {
  const pid_t self = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::kill(self, SIGPIPE) == 0 ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
}

}  // namespace

TEST_CASE("the fallback writes to a pipe with a reader") {
  ends pipe;
  CHECK(beck::detail::write_blocking_signal(pipe.in.get(), &part, 1) == 4);
  const io_vector two[] = {part, part};
  CHECK(beck::detail::write_blocking_signal(pipe.in.get(), two, 2) == 8);
  char there[16];
  CHECK(::read(pipe.out.get(), there, sizeof there) == 12);
  CHECK_FALSE(is_blocked());
}

TEST_CASE("the fallback gives broken_pipe and takes the signal back, with any action for it") {
  for (void (*const handler)(int) : {SIG_DFL, SIG_IGN, +[](int) { raised = raised + 1; }}) {
    const pipe_signal as(handler);
    ends pipe;
    pipe.out.reset();
    CHECK(beck::detail::write_blocking_signal(pipe.in.get(), &part, 1) == -EPIPE);
    CHECK_FALSE(is_pending());
    CHECK_FALSE(is_blocked());
    CHECK(raised == 0);
  }
}

TEST_CASE("the fallback leaves a blocked signal blocked, and a pending one pending") {
  const pipe_signal as(SIG_DFL);
  ends pipe;
  pipe.out.reset();
  block();
  CHECK(beck::detail::write_blocking_signal(pipe.in.get(), &part, 1) == -EPIPE);
  CHECK(is_blocked());
  CHECK_FALSE(is_pending());
  ::raise(SIGPIPE);
  CHECK(is_pending());
  CHECK(beck::detail::write_blocking_signal(pipe.in.get(), &part, 1) == -EPIPE);
  CHECK(is_blocked());
  CHECK(is_pending());
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGPIPE);
  const timespec at_once{0, 0};
  CHECK(::sigtimedwait(&one, nullptr, &at_once) == SIGPIPE);
}

TEST_CASE("a SIGPIPE from outside that comes during a short call reaches the program") {
  if (beck::detail::thread_sanitizer) {
    beck::test::mark_skipped(
        "a thread of ThreadSanitizer's own may get the signal, and dies of it");
    return;
  }
  const pipe_signal as(&count_signal);
  ends pipe;
  pipe.out.reset();
  const auto short_call = [] {
    send_from_outside();
    return std::ptrdiff_t{2};
  };
  const auto failing_call = [&] {
    send_from_outside();
    return ::write(pipe.in.get(), text, 4) < 0 ? std::ptrdiff_t{-errno} : std::ptrdiff_t{0};
  };
  CHECK(beck::detail::with_pipe_signal_kept_back(4, short_call) == 2);
  CHECK(raised == 1);
  CHECK(beck::detail::with_pipe_signal_kept_back(4, failing_call) == -EPIPE);
  CHECK(raised == 2);
  CHECK_FALSE(is_pending());
  CHECK_FALSE(is_blocked());
}

TEST_CASE("a SIGPIPE that the program sends to the calling thread reaches it, as it was sent") {
  const pipe_signal as(&count_signal);
  const auto call = [] {
    ::raise(SIGPIPE);
    return std::ptrdiff_t{2};
  };
  CHECK(beck::detail::with_pipe_signal_kept_back(4, call) == 2);
  CHECK(raised == 1);
  std::thread([&] {
    block();
    CHECK(beck::detail::with_pipe_signal_kept_back(4, call) == 2);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    siginfo_t info{};
    const timespec at_once{0, 0};
    CHECK(::sigtimedwait(&one, &info, &at_once) == SIGPIPE);
    CHECK(info.si_pid == ::getpid());
  }).join();
  CHECK(raised == 1);
}

TEST_CASE("the system's own way raises no signal either") {
  const pipe_signal as(+[](int) { raised = raised + 1; });
  beck::detail::posix_system sys;
  ends pipe;
  CHECK(sys.write(pipe.in.get(), beck::detail::descriptor_nature::pipe, &part, 1) == 4);
  pipe.out.reset();
  CHECK(sys.write(pipe.in.get(), beck::detail::descriptor_nature::pipe, &part, 1) == -EPIPE);
  CHECK(raised == 0);
  CHECK_FALSE(is_pending());
}

TEST_CASE("a peer that goes while a file is sent to it gives a short count and no signal") {
  const pipe_signal as(+[](int) { raised = raised + 1; });
  constexpr std::size_t bytes = 16 << 20;  // more than any socket takes without a reader
  const unique_fd file(::memfd_create("sent", MFD_CLOEXEC));
  REQUIRE(::ftruncate(file.get(), bytes) == 0);
  int both[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) == 0);  // blocking
  const unique_fd ours(both[0]);
  unique_fd other(both[1]);
  std::thread peer([&] {
    char byte;
    CHECK(::read(other.get(), &byte, 1) == 1);  // the call has begun, and cannot end yet
    other.reset();
  });
  beck::detail::posix_system sys;
  const std::ptrdiff_t sent = sys.send_to_stream(file.get(), 0, ours.get(), bytes);
  peer.join();
  CHECK(sent > 0);
  CHECK(sent < static_cast<std::ptrdiff_t>(bytes));
  CHECK(raised == 0);
  CHECK_FALSE(is_pending());
  CHECK_FALSE(is_blocked());
}
