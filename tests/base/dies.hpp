// SPDX-License-Identifier: BSL-1.0
//
// Runs code that must abort in a child process and gives what it printed, so that assertions are
// tested like any other behaviour.
#pragma once

#include <csignal>
#include <string>

#include "support/child.hpp"

/// What `code` printed on the standard error before it aborted; "" if it did not abort.
template <class Code>
std::string dies_with(Code code) {
  const beck::test::child_end end = beck::test::run_child([&code](int fd) {
    ::signal(SIGABRT, SIG_DFL);  // the test runner's handler would report a crash
    ::dup2(fd, STDERR_FILENO);
    code();
  });
  return WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGABRT ? end.text : std::string();
}
