// SPDX-License-Identifier: BSL-1.0
// The start of a program in a child process, as one decision: either the program runs and there is
// a handle for it, or it has not run. posix_spawn(3) and a pidfd_open(2) after it are two: the
// child may have ended and have been collected by then, and its number may belong to another
// process.
#pragma once

namespace beck::detail {

struct start_plan {
  static constexpr int as_it_is = -1;

  const char* program;       ///< a path, or a name to be found in PATH
  char* const* arguments;    ///< up to a nullptr
  char* const* environment;  ///< up to a nullptr
  const char* directory;     ///< nullptr: the parent's
  /// The descriptor that becomes stream 0, 1, 2: as_it_is, stdout, or one from 3 up.
  int streams[3] = {as_it_is, as_it_is, as_it_is};
};

/// Starts a program. Returns its pidfd, which is close-on-exec, and sets `pid`; or -errno if it has
/// not run, and sets `bad_directory` if the directory was the reason. The program has the default
/// action for each signal that the parent handles and for SIGPIPE, blocks none, and has no
/// descriptor besides its three streams. Waits for the kernel to load it. Source: clone(2) with
/// CLONE_PIDFD, Linux 5.4.
int start_program(const start_plan& how, int& pid, bool& bad_directory) noexcept;

}  // namespace beck::detail
