// SPDX-License-Identifier: BSL-1.0
//
// Runs code that must abort in a child process and gives what it printed, so that assertions are
// tested like any other behaviour.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

/// What `code` printed on the standard error before it aborted; "" if it did not abort.
template <class Code>
std::string dies_with(Code code) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  std::fflush(nullptr);  // what is buffered would be written twice
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGABRT, SIG_DFL);  // the test runner's handler would report a crash
    ::dup2(ends[1], STDERR_FILENO);
    code();
    ::_exit(0);
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
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? text : std::string();
}
