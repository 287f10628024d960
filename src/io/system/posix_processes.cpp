// SPDX-License-Identifier: BSL-1.0
// Child processes: posix_spawn(3), which neither copies the address space nor runs the program's
// handlers in the child, then everything through the pidfd. The child's descriptors are numbered
// from 3 up before they become 0, 1 and 2, so that none overwrites another; all further ones are
// closed in the child, whatever their flags.
#include <cerrno>
#include <csignal>
#include <mutex>
#include <new>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <beck/base/unique_fd.hpp>
#include <beck/io/process.hpp>

#include "base/fork_count.hpp"
#include "io/system/posix_system.hpp"
#include "io/system/requests.hpp"

namespace beck::detail {
namespace {

constexpr int first_other = 3;               // behind the standard streams
constexpr idtype_t by_handle = idtype_t(3);  // P_PIDFD, which is newer than some headers

/// Moves the descriptor to a number behind the standard streams. Returns 0 or -errno.
int raise_number(unique_fd& fd) noexcept {
  if (fd.get() >= first_other) return 0;
  const int higher = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, first_other);
  if (higher < 0) return -errno;
  fd.reset(higher);
  return 0;
}

/// The arguments of posix_spawn(3), whose functions return errno values.
class plan {
 public:
  plan() noexcept {
    error_ = ::posix_spawn_file_actions_init(&actions_);
    has_actions_ = error_ == 0;
    note(::posix_spawnattr_init(&attributes_));
    has_attributes_ = error_ == 0;
  }
  ~plan() {
    if (has_actions_) ::posix_spawn_file_actions_destroy(&actions_);
    if (has_attributes_) ::posix_spawnattr_destroy(&attributes_);
  }
  plan(const plan&) = delete;
  plan& operator=(const plan&) = delete;

  void note(int error) noexcept {
    if (error_ == 0) error_ = error;
  }
  int error() const noexcept { return error_; }
  posix_spawn_file_actions_t* actions() noexcept { return &actions_; }
  posix_spawnattr_t* attributes() noexcept { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
  bool has_actions_;
  bool has_attributes_ = false;
  int error_ = 0;
};

struct stream_ends {
  unique_fd ours[3];
  unique_fd theirs[3];
};

int open_stream_pipe(stream_ends& ends, int number) noexcept {
  int both[2];
  if (::pipe2(both, O_CLOEXEC) < 0) return -errno;
  const bool input = number == 0;
  unique_fd& ours = ends.ours[number];
  unique_fd& theirs = ends.theirs[number];
  ours.reset(both[input ? 1 : 0]);
  theirs.reset(both[input ? 0 : 1]);
  // Only the parent's end is non-blocking: programs expect streams that block.
  if (::fcntl(ours.get(), F_SETFL, O_NONBLOCK | (input ? O_WRONLY : O_RDONLY)) < 0) return -errno;
  if (const int refused = raise_number(ours); refused < 0) return refused;
  return raise_number(theirs);
}

int plan_stream(plan& how, stream_ends& ends, const spawn_request& what, int number) noexcept {
  using stream = spawn_request::stream;
  unique_fd& theirs = ends.theirs[number];
  switch (what.streams[number]) {
    case stream::inherited:
      // A stream_descriptor has made the parent's stream close-on-exec; dup2 onto itself undoes
      // that in the child.
      if (const int flags = ::fcntl(number, F_GETFD); flags >= 0 && (flags & FD_CLOEXEC) != 0) {
        how.note(::posix_spawn_file_actions_adddup2(how.actions(), number, number));
      }
      return 0;
    case stream::null:
      how.note(::posix_spawn_file_actions_addopen(how.actions(), number, "/dev/null",
                                                  number == 0 ? O_RDONLY : O_WRONLY, 0));
      return 0;
    case stream::output:
      how.note(::posix_spawn_file_actions_adddup2(how.actions(), STDOUT_FILENO, number));
      return 0;
    case stream::handle:
      theirs.reset(::fcntl(what.handles[number], F_DUPFD_CLOEXEC, first_other));
      if (theirs.get() < 0) return -errno;
      break;
    case stream::pipe:
      if (const int refused = open_stream_pipe(ends, number); refused < 0) return refused;
      break;
  }
  how.note(::posix_spawn_file_actions_adddup2(how.actions(), theirs.get(), number));
  return 0;
}

void plan_signals(plan& how) noexcept {
  sigset_t none;
  sigset_t standard;
  sigemptyset(&none);
  sigemptyset(&standard);
  sigaddset(&standard, SIGPIPE);
  how.note(::posix_spawnattr_setsigmask(how.attributes(), &none));
  how.note(::posix_spawnattr_setsigdefault(how.attributes(), &standard));
  how.note(
      ::posix_spawnattr_setflags(how.attributes(), POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
}

bool is_usable_directory(const char* path) noexcept {
  const unique_fd folder(::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
  return folder && ::faccessat(folder.get(), ".", X_OK, AT_EACCESS) == 0;
}

int wait_for(int handle, int options, siginfo_t& info) noexcept {
  info.si_pid = 0;
  for (;;) {
    if (::waitid(by_handle, static_cast<id_t>(handle), &info, WEXITED | options) == 0) return 0;
    if (errno != EINTR) return -errno;
  }
}

/// Returns a pidfd of a child of this process, or -errno.
int handle_of_child(pid_t pid) noexcept {
  unique_fd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  int error = handle ? 0 : -errno;
  siginfo_t info;
  // -ECHILD: the child has been collected elsewhere, and the number may belong to another process.
  if (error == 0) error = wait_for(handle.get(), WNOHANG | WNOWAIT, info);
  if (error == 0) error = raise_number(handle);  // numbers 0 to 2 would be passed to the next child
  if (error == 0) return handle.release();
  if (error == -ESRCH) error = -ECHILD;
  if (error == -ECHILD) return error;
  ::kill(pid, SIGKILL);  // it has not been collected, so the number is still its own
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  return error;
}

// --- children that the program does not wait for -----------------------------------------------

struct left_child {
  unique_fd handle;
  left_child* next;
};

constinit std::mutex left_mutex;
constinit left_child* left_children = nullptr;

/// Collects the left children that have ended. In a child of fork: forgets them.
void collect_left() noexcept {
  keep_over_forks<left_mutex>();
  const std::lock_guard lock(left_mutex);
  for (left_child** at = &left_children; *at != nullptr;) {
    siginfo_t info;
    const int result = wait_for((*at)->handle.get(), WNOHANG, info);
    if (result == 0 && info.si_pid == 0) {
      at = &(*at)->next;
    } else {
      delete std::exchange(*at, (*at)->next);
    }
  }
}

}  // namespace

int posix_system::spawn(const spawn_request& what, spawned_child& child) noexcept {
  collect_left();
  plan how;
  if (how.error() != 0) return -how.error();
  if (what.directory != nullptr) {
    how.note(::posix_spawn_file_actions_addchdir_np(how.actions(), what.directory));
  }
  stream_ends ends;
  for (int number = 0; number < first_other; ++number) {
    if (const int refused = plan_stream(how, ends, what, number); refused < 0) return refused;
  }
  how.note(::posix_spawn_file_actions_addclosefrom_np(how.actions(), first_other));
  plan_signals(how);
  pid_t pid = -1;
  if (how.error() == 0) {
    how.note(::posix_spawnp(&pid, what.program, how.actions(), how.attributes(), what.arguments,
                            what.environment != nullptr ? what.environment : environ));
  }
  if (how.error() != 0) {
    child.bad_directory = what.directory != nullptr && !is_usable_directory(what.directory);
    return -how.error();
  }
  const int handle = handle_of_child(pid);
  if (handle < 0) return handle;
  child.pid = pid;
  child.handle = handle;
  for (int number = 0; number < first_other; ++number) {
    child.ends[number] = ends.ours[number].release();
  }
  return 0;
}

int posix_system::collect_child(int handle, bool known, exit_status& status) noexcept {
  siginfo_t info;
  const int result = wait_for(handle, known ? 0 : WNOHANG, info);
  if (result < 0) return result;
  if (info.si_pid == 0) return -EAGAIN;
  status = info.si_code == CLD_EXITED ? exit_status(info.si_status, 0, false)
                                      : exit_status(-1, info.si_status, info.si_code == CLD_DUMPED);
  return 0;
}

int posix_system::signal_child(int handle, int number) noexcept {
  return ::syscall(SYS_pidfd_send_signal, handle, number, nullptr, 0) < 0 ? -errno : 0;
}

void posix_system::leave_child(int handle) noexcept {
  unique_fd mine(handle);
  collect_left();
  auto* const left = new (std::nothrow) left_child{std::move(mine), nullptr};
  if (left == nullptr) return;  // without memory it stays a zombie until this program ends
  const std::lock_guard lock(left_mutex);
  left->next = std::exchange(left_children, left);
}

}  // namespace beck::detail
