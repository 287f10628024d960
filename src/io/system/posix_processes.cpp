// SPDX-License-Identifier: BSL-1.0
// Child processes: the start, which opens their streams, then everything through the pidfd. The
// child's descriptors are numbered from 3 up before they become 0, 1 and 2, so that none overwrites
// another. A stream that the child inherits stays as it is: closed where the parent has none, or
// where the program has made it close-on-exec.
#include <cerrno>
#include <csignal>
#include <mutex>
#include <new>
#include <utility>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <beck/base/unique_fd.hpp>
#include <beck/io/process.hpp>

#include "base/descriptor_number.hpp"
#include "base/fork_count.hpp"
#include "io/system/posix_system.hpp"
#include "io/system/program_start.hpp"
#include "io/system/requests.hpp"

namespace beck::detail {
namespace {

constexpr idtype_t by_handle = idtype_t(3);  // P_PIDFD, which is newer than some headers

struct stream_ends {
  unique_fd ours[3];
  unique_fd theirs[3];
};

int open_stream_pipe(stream_ends& ends, int number) noexcept {
  int both[2];
  if (::pipe2(both, O_CLOEXEC) < 0) return -errno;
  if (const int refused = behind_standard(both); refused < 0) return refused;
  const bool input = number == 0;
  unique_fd& ours = ends.ours[number];
  unique_fd& theirs = ends.theirs[number];
  ours.reset(both[input ? 1 : 0]);
  theirs.reset(both[input ? 0 : 1]);
  // Only the parent's end is non-blocking: programs expect streams that block.
  return ::fcntl(ours.get(), F_SETFL, O_NONBLOCK | (input ? O_WRONLY : O_RDONLY)) < 0 ? -errno : 0;
}

/// Opens the descriptor that becomes stream `number` of the child, and notes it in `how`. Returns 0
/// or -errno.
int plan_stream(start_plan& how, stream_ends& ends, const spawn_request& what,
                int number) noexcept {
  using stream = spawn_request::stream;
  unique_fd& theirs = ends.theirs[number];
  switch (what.streams[number]) {
    case stream::inherited:
      return 0;
    case stream::output:
      how.streams[number] = STDOUT_FILENO;
      return 0;
    case stream::null: {
      const int opened = ::open("/dev/null", (number == 0 ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
      if (opened < 0) return -errno;
      const int moved = behind_standard(opened);
      if (moved < 0) return moved;
      theirs.reset(moved);
      break;
    }
    case stream::handle:
      theirs.reset(::fcntl(what.handles[number], F_DUPFD_CLOEXEC, first_own_number));
      if (theirs.get() < 0) return -errno;
      break;
    case stream::pipe:
      if (const int refused = open_stream_pipe(ends, number); refused < 0) return refused;
      break;
  }
  how.streams[number] = theirs.get();
  return 0;
}

int wait_for(int handle, int options, siginfo_t& info) noexcept {
  info.si_pid = 0;
  for (;;) {
    if (::waitid(by_handle, static_cast<id_t>(handle), &info, WEXITED | options) == 0) return 0;
    if (errno != EINTR) return -errno;
  }
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
  start_plan how{what.program, what.arguments,
                 what.environment != nullptr ? what.environment : environ, what.directory};
  stream_ends ends;
  for (int number = 0; number < first_own_number; ++number) {
    if (const int refused = plan_stream(how, ends, what, number); refused < 0) return refused;
  }
  const int handle = start_program(how, child.pid, child.bad_directory);
  if (handle < 0) return handle;
  child.handle = handle;
  for (int number = 0; number < first_own_number; ++number) {
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
