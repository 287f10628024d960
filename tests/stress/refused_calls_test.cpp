// SPDX-License-Identifier: BSL-1.0
// System calls that a filter refuses (S18), one by one, with each of the errors that filters and
// old kernels answer with: a program that uses a little of everything works, or gets errors, or
// ends with a message. None hangs, none spins, none ends without a word.
#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizers.hpp"
#include "stress/refused_work.hpp"
#include "support/file_place.hpp"
#include "support/refused_call.hpp"
#include "support/report.hpp"
#include "support/scale.hpp"

namespace {

using beck::test::refused_work;

struct call {
  const char* name;
  long number;
  bool has_older_form;  // or another way: EPERM and ENOSYS change nothing that the user sees
};

#define BECK_CALL(name) {#name, __NR_##name, false}
#define BECK_NEWER_CALL(name) {#name, __NR_##name, true}

constexpr call calls[] = {
    // Waits and wake-ups.
    BECK_NEWER_CALL(epoll_pwait2),
    BECK_CALL(epoll_wait),
    BECK_CALL(epoll_pwait),
    BECK_CALL(epoll_ctl),
    BECK_CALL(epoll_create1),
    BECK_CALL(eventfd2),
    BECK_CALL(ppoll),
    BECK_CALL(poll),
    BECK_CALL(futex),
    BECK_CALL(clock_gettime),
    BECK_CALL(clock_nanosleep),
    BECK_CALL(io_uring_setup),
    BECK_CALL(io_uring_enter),
    BECK_CALL(io_uring_register),
    // Sockets.
    BECK_CALL(socket),
    BECK_CALL(socketpair),
    BECK_CALL(bind),
    BECK_CALL(listen),
    BECK_CALL(accept4),
    BECK_CALL(connect),
    BECK_CALL(shutdown),
    BECK_CALL(getsockname),
    BECK_CALL(getsockopt),
    BECK_CALL(setsockopt),
    BECK_CALL(sendto),
    BECK_CALL(recvfrom),
    BECK_CALL(sendmsg),
    BECK_CALL(recvmsg),
    BECK_CALL(sendmmsg),
    BECK_CALL(ioctl),
    // Pipes and files.
    BECK_CALL(read),
    BECK_CALL(write),
    BECK_CALL(readv),
    BECK_CALL(writev),
    BECK_CALL(close),
    BECK_CALL(fcntl),
    BECK_CALL(pipe2),
    BECK_CALL(openat),
    BECK_CALL(newfstatat),
    BECK_CALL(fstat),
    BECK_NEWER_CALL(statx),
    BECK_CALL(pread64),
    BECK_CALL(pwrite64),
    BECK_CALL(preadv),
    BECK_CALL(pwritev),
    BECK_NEWER_CALL(preadv2),
    BECK_NEWER_CALL(pwritev2),
    BECK_CALL(fdatasync),
    BECK_CALL(ftruncate),
    BECK_CALL(lseek),
    BECK_NEWER_CALL(fadvise64),
    BECK_NEWER_CALL(copy_file_range),
    BECK_NEWER_CALL(sendfile),
    BECK_NEWER_CALL(splice),
    // Processes, threads, signals, memory.
    BECK_CALL(clone),
    BECK_CALL(clone3),
    BECK_CALL(wait4),
    BECK_CALL(waitid),
    BECK_CALL(pidfd_open),
    BECK_CALL(pidfd_send_signal),
    BECK_CALL(execve),
    BECK_NEWER_CALL(close_range),
    BECK_CALL(kill),
    BECK_CALL(tgkill),
    BECK_CALL(rt_sigaction),
    BECK_CALL(rt_sigprocmask),
    BECK_CALL(rt_sigtimedwait),
    BECK_CALL(rt_sigpending),
    BECK_CALL(mmap),
    BECK_CALL(mprotect),
    BECK_CALL(madvise),
    BECK_CALL(getpid),
    BECK_CALL(gettid),
    BECK_CALL(sched_yield),
    BECK_CALL(getrandom),
};
constexpr int reasons[] = {EPERM, ENOSYS, EINVAL};

enum class mode { automatic, epoll, shared };
constexpr mode modes[] = {mode::automatic, mode::epoll, mode::shared};
constexpr const char* mode_names[] = {"automatic", "epoll", "shared"};

/// A refusal, and whether it comes before there is a context or when all is open.
struct trial {
  const call* refused;
  int reason;
  mode how;
  bool late;

  std::string name() const {
    return std::string(refused->name) + ' ' + std::strerror(reason) + ' ' +
           mode_names[static_cast<int>(how)] + (late ? " late" : " early");
  }
  bool must_work() const {
    if (reason == EINVAL) return false;
    const bool ring = refused->number == __NR_io_uring_setup ||
                      refused->number == __NR_io_uring_enter ||
                      refused->number == __NR_io_uring_register;
    return refused->has_older_form || (ring && !late);
  }
};

// Far more than the work takes, in turns of the loop and in seconds of processor time.
constexpr std::uint64_t turns_max = 3000;
constexpr rlim_t cpu_seconds_max = 8;
constexpr unsigned seconds_max = 20;
constexpr std::size_t at_once = 6;

/// What a child leaves for its parent, in memory that both see: it may not be able to write.
struct verdict {
  bool over;
  bool is_filtered;
  int failed;
  int wrong;
  int lost;  // activities that did not come to an end
  std::uint64_t turns;
  char errors[1024];
};

beck::io_context::options options_of(mode how) {
  beck::io_context::options made;
  if (how != mode::automatic) made.backend = beck::backend::epoll;
  if (how == mode::shared) made.threads = 2;
  return made;
}

void run_filtered(const trial& t, const std::string& folder, verdict& v) {
  const auto refuse = [&] { v.is_filtered = beck::test::refuse_call(t.refused->number, t.reason); };
  if (!t.late) refuse();
  beck::io_context ctx(options_of(t.how));
  refused_work work(ctx, folder);
  if (t.late) refuse();
  work.start();
  std::thread other;
  if (t.how == mode::shared) other = std::thread([&ctx] { ctx.run(); });
  ctx.run();
  if (other.joinable()) other.join();
  v.failed = work.failed();
  v.wrong = work.wrong();
  v.lost = work.started() - work.ended();
  // A thread of a shared context may look round often while another one asks the kernel.
  v.turns = t.how == mode::shared ? ctx.stats().kernel_entries : ctx.stats().iterations;
  std::snprintf(v.errors, sizeof v.errors, "%s", work.errors().c_str());
}

[[noreturn]] void be_child(const trial& t, const std::string& folder, verdict& v, int words) {
  const rlimit seconds{cpu_seconds_max, cpu_seconds_max};
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CPU, &seconds);
  ::setrlimit(RLIMIT_CORE, &none);
  ::alarm(seconds_max);
  ::dup2(words, STDERR_FILENO);
  ::unsetenv("BECK_BACKEND");
  try {
    run_filtered(t, folder, v);
  } catch (const std::exception& error) {
    v.failed = 1;
    std::snprintf(v.errors, sizeof v.errors, "%s", error.what());
  }
  v.over = true;
  ::_exit(0);
}

class running_trial {
 public:
  running_trial(const trial& t, const std::string& folder)
      : trial_(t), words_(::memfd_create("words", MFD_CLOEXEC)) {
    void* const shared =
        ::mmap(nullptr, sizeof(verdict), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(words_ >= 0);
    REQUIRE(shared != MAP_FAILED);
    verdict_ = static_cast<verdict*>(shared);
    std::fflush(nullptr);
    child_ = ::fork();
    if (child_ == 0) be_child(trial_, folder, *verdict_, words_);
    REQUIRE(child_ > 0);
  }
  ~running_trial() {
    ::munmap(verdict_, sizeof(verdict));
    ::close(words_);
  }
  running_trial(const running_trial&) = delete;
  running_trial& operator=(const running_trial&) = delete;

  /// Waits for the end and judges it: "" or what is wrong.
  std::string judge() {
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {}
    const std::string wrong = fault(status);
    return wrong.empty() ? wrong : trial_.name() + ": " + wrong + ' ' + words() + verdict_->errors;
  }
  bool worked() const { return verdict_->over && verdict_->failed == 0; }

 private:
  std::string fault(int status) const {
    const verdict& v = *verdict_;
    if (WIFSIGNALED(status)) {
      const int number = WTERMSIG(status);
      if (number == SIGALRM) return "hangs";
      if (number == SIGXCPU || number == SIGKILL) return "spins";
      const bool dumb = trial_.refused->number == __NR_write;  // it could not print anything
      if (number == SIGABRT && (dumb || !words().empty())) return ended_in_vain();
      return std::string("ended by ") + ::strsignal(number) + ", without a message";
    }
    if (!v.over && WEXITSTATUS(status) != 0 && !words().empty()) return ended_in_vain();
    if (!v.over) return "left with " + std::to_string(WEXITSTATUS(status)) + ", without a message";
    if (v.wrong != 0) return "wrong data";
    if (v.failed == 0 && v.lost != 0) return "activities were lost";
    if (v.turns > turns_max) return std::to_string(v.turns) + " turns";
    if (!v.is_filtered) return "no filter";
    return v.failed != 0 ? ended_in_vain() : "";
  }
  /// An error or a message, where there is another way.
  std::string ended_in_vain() const { return trial_.must_work() ? "does not work" : ""; }
  std::string words() const {
    char text[512];
    const ssize_t n = ::pread(words_, text, sizeof text, 0);
    return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : std::string();
  }

  const trial trial_;
  int words_;
  verdict* verdict_ = nullptr;
  pid_t child_ = -1;
};

std::vector<trial> all_trials() {
  std::vector<trial> all;
  // An odd step meets each reason, mode and moment.
  const int step = 15 / beck::test::scaled(3, 15);
  int n = 0;
  for (const call& each : calls) {
    for (const int reason : reasons) {
      for (const mode how : modes) {
        for (const bool late : {false, true}) {
          if (n++ % step == 0) all.push_back({&each, reason, how, late});
        }
      }
    }
  }
  return all;
}

}  // namespace

TEST_CASE("S18: whatever call is refused, a program works, gets errors, or ends with a message") {
  if (beck::detail::thread_sanitizer) {
    beck::test::mark_skipped("ThreadSanitizer ends a child that seccomp restricts");
    return;
  }
  const beck::test::file_place place(beck::test::on_epoll);
  std::deque<running_trial> running;
  int trials = 0;
  int worked = 0;
  const auto end_oldest = [&] {
    const std::string wrong = running.front().judge();
    CHECK(wrong == "");
    ++trials;
    if (running.front().worked()) ++worked;
    running.pop_front();
  };
  for (const trial& each : all_trials()) {
    if (running.size() == at_once) end_oldest();
    const std::string own =
        place.path(std::to_string(trials + static_cast<int>(running.size())).c_str());
    std::filesystem::create_directory(own);
    running.emplace_back(each, own + '/');
  }
  while (!running.empty()) end_oldest();
  CHECK(worked >= trials / 4);  // else nothing was tried
  beck::test::report_value("refusals", trials);
}
