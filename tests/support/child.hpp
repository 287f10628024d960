// SPDX-License-Identifier: BSL-1.0
// Runs code in a child process, for cases whose changes to the process cannot be undone, or would
// affect other cases: seccomp filters, limits.
#pragma once

#include <cstdio>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

/// Defined by the runtime of the preset coverage, and absent elsewhere.
extern "C" [[gnu::weak]] int __llvm_profile_write_file();

namespace beck::test {

/// Ends a child as _exit(2) does, but writes the counters of ./test --coverage first.
[[noreturn]] inline void exit_child(int status) {
  if (__llvm_profile_write_file != nullptr) __llvm_profile_write_file();
  ::_exit(status);
}

struct child_end {
  int status;  ///< as from wait(2)
  std::string text;
};

/// Calls `code(fd)` in a child process, which then exits with 0. Returns its status, and the text
/// that it has written to `fd`.
template <class Code>
child_end run_child(Code code) {
  int ends[2];
  if (::pipe(ends) != 0) return {-1, {}};
  std::fflush(nullptr);  // otherwise the child would write buffered text a second time
  const pid_t child = ::fork();
  if (child == 0) {
    code(ends[1]);
    exit_child(0);
  }
  ::close(ends[1]);
  child_end end{-1, {}};
  char part[512];
  for (ssize_t n = 0; (n = ::read(ends[0], part, sizeof part)) > 0;) {
    end.text.append(part, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  ::waitpid(child, &end.status, 0);
  return end;
}

/// Returns the text that `code` returns in a child process.
template <class Code>
std::string said_by_child(Code code) {
  const child_end end = run_child([&code](int fd) {
    const std::string text = code();
    if (::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(1);
  });
  return WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0 ? end.text : "the child died";
}

}  // namespace beck::test
