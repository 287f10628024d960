// SPDX-License-Identifier: BSL-1.0
// The child shares the memory of its parent, whose calling thread waits until the child has called
// execve(2), as after vfork(2). So the child allocates nothing, takes no lock and runs no handler
// of the program, and it makes its system calls without the wrappers of libc, in whose place
// sanitizers keep books for a process of their own.
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <beck/base/unique_fd.hpp>

#include "base/descriptor_number.hpp"
#include "base/sanitizers.hpp"
#include "io/system/program_start.hpp"

// Instrumented code of the child would work with the records of the parent's thread.
#define BECK_IN_CHILD [[gnu::no_sanitize_address, gnu::no_sanitize_thread]]

/// clone(3) without the interceptor of ThreadSanitizer, which takes the child for one of fork(2).
// NOLINTNEXTLINE(readability-identifier-naming): the name is that of libc
extern "C" int __clone(int (*)(void*), void*, int, void*, ...) noexcept;

namespace beck::detail {
namespace {

constexpr idtype_t of_pidfd = idtype_t(3);      // P_PIDFD
constexpr int pidfd_at_parent = 0x1000;         // CLONE_PIDFD, which is newer than some headers
constexpr std::size_t stack_bytes = 64 * 1024;  // the child needs some 6 KB
constexpr std::size_t kernel_sigset_bytes = 8;
constexpr int signals_max = 64;

/// The paths under which a program may be found, one after the other, each with its NUL.
class program_paths {
 public:
  /// Returns false if there is no memory.
  bool find(const char* program) noexcept {
    const std::size_t name = std::strlen(program);
    const char* where = std::strchr(program, '/') == nullptr ? std::getenv("PATH") : "";
    if (where == nullptr) where = "/bin:/usr/bin";  // as execvp(3)
    std::size_t folders = 1;
    for (const char* at = where; *at != 0; ++at) folders += *at == ':' ? 1 : 0;
    text_.reset(new (std::nothrow) char[std::strlen(where) + folders * (name + 2)]);
    if (text_ == nullptr) return false;
    char* to = text_.get();
    for (const char* at = where; folders != 0; --folders) {
      const std::size_t folder = std::strcspn(at, ":");
      std::memcpy(to, at, folder);
      to += folder;
      if (folder != 0) *to++ = '/';  // an empty one is the working directory
      std::memcpy(to, program, name + 1);
      to += name + 1;
      at += folder + 1;
    }
    end_ = to;
    return true;
  }
  const char* begin() const noexcept { return text_.get(); }
  const char* end() const noexcept { return end_; }

 private:
  std::unique_ptr<char[]> text_;
  const char* end_ = nullptr;
};

/// What the parent gives to the child, and the child's answer.
struct shared_start {
  const start_plan& how;
  const char* path;
  const char* paths_end;
  int error = 0;
  bool bad_directory = false;
};

template <class... Arguments>
BECK_IN_CHILD int make_call(long number, Arguments... arguments) noexcept {
  const long result = ::syscall(number, arguments...);
  return result < 0 ? -errno : static_cast<int>(result);
}

/// Restores the default action of each signal that the parent handles: the child must not run code
/// of the program.
BECK_IN_CHILD void reset_signals() noexcept {
  constexpr std::size_t words = 8;  // more than the struct of the kernel has; the handler is first
  const std::uintptr_t by_default[words] = {};
  for (int number = 1; number <= signals_max; ++number) {
    std::uintptr_t now[words] = {};
    make_call(SYS_rt_sigaction, number, nullptr, now, kernel_sigset_bytes);
    const bool is_ours = now[0] > reinterpret_cast<std::uintptr_t>(SIG_IGN);
    if (is_ours || number == SIGPIPE) {
      make_call(SYS_rt_sigaction, number, by_default, nullptr, kernel_sigset_bytes);
    }
  }
}

/// Closes the descriptors that /proc lists. Returns 0 or -errno.
BECK_IN_CHILD int close_listed() noexcept {
  struct record {  // as getdents64(2) writes it
    std::uint64_t inode;
    std::int64_t offset;
    std::uint16_t bytes;
    unsigned char type;
    char name[1];
  };
  const int list = make_call(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY, 0);
  if (list < 0) return list;
  for (;;) {
    alignas(record) char part[2048];
    const int bytes = make_call(SYS_getdents64, list, part, sizeof part);
    if (bytes <= 0) return bytes;
    for (int at = 0; at < bytes;) {
      const auto* const one = reinterpret_cast<const record*>(part + at);
      int number = 0;
      for (const char* digit = one->name; *digit >= '0' && *digit <= '9'; ++digit) {
        number = number * 10 + (*digit - '0');
      }
      // Its own number is closed by execve(2).
      if (number >= first_own_number && number != list) make_call(SYS_close, number);
      at += one->bytes;
    }
  }
}

/// Closes all descriptors but the standard streams, whatever their flags. Returns 0 or -errno.
BECK_IN_CHILD int close_others() noexcept {
  constexpr long close_range_number = 436;  // SYS_close_range, Linux 5.9
  const int closed =
      make_call(close_range_number, static_cast<unsigned>(first_own_number), ~0U, 0U);
  return closed == 0 ? 0 : close_listed();
}

BECK_IN_CHILD int arrange_streams(const start_plan& how) noexcept {
  for (int number = 0; number < first_own_number; ++number) {
    const int from = how.streams[number];
    if (from == start_plan::as_it_is || from == number) continue;
    const int placed = make_call(SYS_dup3, from, number, 0);
    if (placed < 0) return placed;
  }
  return 0;
}

/// Returns whether another folder of PATH may have the program, as execvp(3) decides it.
BECK_IN_CHILD bool may_be_elsewhere(int error) noexcept {
  switch (-error) {
    case EACCES:
    case ENOENT:
    case ENOTDIR:
    case ESTALE:
    case ENODEV:
    case ETIMEDOUT:
      return true;
    default:
      return false;
  }
}

/// Runs the first of the paths that can be run. Returns the reason why none can.
BECK_IN_CHILD int run_program(const shared_start& start) noexcept {
  int reason = -ENOENT;
  bool refused = false;
  for (const char* path = start.path; path != start.paths_end;) {
    reason = make_call(SYS_execve, path, start.how.arguments, start.how.environment);
    if (!may_be_elsewhere(reason)) return reason;
    refused = refused || reason == -EACCES;
    while (*path++ != 0) continue;
  }
  return refused ? -EACCES : reason;
}

/// The child. All signals are blocked until its handlers are the default ones.
BECK_IN_CHILD int be_child(void* shared) noexcept {
  auto& start = *static_cast<shared_start*>(shared);
  reset_signals();
  const std::uint64_t none = 0;
  make_call(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, kernel_sigset_bytes);
  if (start.how.directory != nullptr) {
    start.error = make_call(SYS_chdir, start.how.directory);
    start.bad_directory = start.error < 0;
  }
  if (start.error == 0) start.error = arrange_streams(start.how);
  if (start.error == 0) start.error = close_others();
  if (start.error == 0) start.error = run_program(start);
  ::syscall(SYS_exit_group, 127);
  return 127;
}

/// The stack of the child while it shares our memory.
class child_stack {
 public:
  child_stack() noexcept
      : bottom_(::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)) {}
  ~child_stack() {
    if (is_there()) ::munmap(bottom_, stack_bytes);
  }
  child_stack(const child_stack&) = delete;
  child_stack& operator=(const child_stack&) = delete;

  bool is_there() const noexcept { return bottom_ != MAP_FAILED; }
  void* top() const noexcept { return static_cast<char*>(bottom_) + stack_bytes; }

 private:
  void* bottom_;
};

/// Blocks all signals of the thread while it lives: a handler in the child would run on the
/// parent's data.
class all_signals_blocked {
 public:
  all_signals_blocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    error_ = ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~all_signals_blocked() {
    if (error_ == 0) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  all_signals_blocked(const all_signals_blocked&) = delete;
  all_signals_blocked& operator=(const all_signals_blocked&) = delete;

  int error() const noexcept { return error_; }

 private:
  sigset_t before_;
  int error_;
};

/// Returns whether the kernel knows handles of processes (Linux 5.4). It is asked before the start,
/// because an older one starts the program and returns no handle.
bool has_handles() noexcept {
  siginfo_t info;
  constexpr id_t no_handle = 0x7fffffff;
  return ::waitid(of_pidfd, no_handle, &info, WEXITED | WNOHANG) < 0 && errno == EBADF;
}

/// Makes the child. Returns its number, or -errno.
int clone_child(shared_start& start, void* stack, int& handle) noexcept {
  constexpr int flags = CLONE_VM | CLONE_VFORK | pidfd_at_parent | SIGCHLD;
  const int pid = thread_sanitizer ? ::__clone(&be_child, stack, flags, &start, &handle)
                                   : ::clone(&be_child, stack, flags, &start, &handle);
  return pid < 0 ? -errno : pid;
}

}  // namespace

int start_program(const start_plan& how, int& pid, bool& bad_directory) noexcept {
  if (!has_handles()) return -ENOSYS;
  program_paths paths;
  const child_stack stack;
  if (!paths.find(how.program) || !stack.is_there()) return -ENOMEM;
  shared_start start{how, paths.begin(), paths.end()};
  int number = -1;
  int made = 0;
  {
    const all_signals_blocked blocked;
    if (blocked.error() != 0) return -blocked.error();
    made = clone_child(start, stack.top(), number);
  }
  if (made < 0) return made;
  unique_fd handle(number);
  if (start.error != 0) {
    siginfo_t info;  // another thread may have collected it already
    while (::waitid(of_pidfd, static_cast<id_t>(number), &info, WEXITED) < 0 && errno == EINTR) {}
    bad_directory = start.bad_directory;
    return start.error;
  }
  pid = made;
  // Where no other number is free it stays below 3: it is close-on-exec, and the program runs.
  const int copy =
      number < first_own_number ? ::fcntl(number, F_DUPFD_CLOEXEC, first_own_number) : -1;
  if (copy >= 0) handle.reset(copy);
  return handle.release();
}

}  // namespace beck::detail

#undef BECK_IN_CHILD
