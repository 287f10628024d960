// SPDX-License-Identifier: BSL-1.0
// Runs code in a child process, for cases that change what a process cannot take back, or that
// must not harm the others: seccomp filters, limits.
#pragma once

#include <cstdio>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace beck::test {

/// The text that `code` gives in a child process.
template <class Code>
std::string said_by_child(Code code) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  std::fflush(nullptr);  // what is buffered would be written twice
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = code();
    const ssize_t written = ::write(ends[1], text.data(), text.size());
    ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char part[512];
  for (ssize_t n = 0; (n = ::read(ends[0], part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "the child died";
}

}  // namespace beck::test
