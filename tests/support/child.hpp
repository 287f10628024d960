// SPDX-License-Identifier: BSL-1.0
// Runs code in a child process, for cases that change what a process cannot take back, or that
// must not harm the others: seccomp filters, limits.
#pragma once

#include <cstdio>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

/// Of the runtime of the preset coverage, and absent elsewhere.
extern "C" [[gnu::weak]] int __llvm_profile_write_file();

namespace beck::test {

/// Ends a child as _exit(2) does, but writes what ./test --coverage has counted in it.
[[noreturn]] inline void exit_child(int status) {
  if (__llvm_profile_write_file != nullptr) __llvm_profile_write_file();
  ::_exit(status);
}

struct child_end {
  int status;  ///< as from wait(2)
  std::string text;
};

/// Calls `code(fd)` in a child process that exits with 0 then; what it writes to `fd` is the text.
template <class Code>
child_end run_child(Code code) {
  int ends[2];
  if (::pipe(ends) != 0) return {-1, {}};
  std::fflush(nullptr);  // what is buffered would be written twice
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

/// The text that `code` gives in a child process.
template <class Code>
std::string said_by_child(Code code) {
  const child_end end = run_child([&code](int fd) {
    const std::string text = code();
    if (::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(1);
  });
  return WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0 ? end.text : "the child died";
}

}  // namespace beck::test
