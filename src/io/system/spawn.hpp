// SPDX-License-Identifier: BSL-1.0
// What the system is asked for when a child process is made.
#pragma once

namespace beck::detail {

struct spawn_request {
  enum class stream : unsigned char { inherited, null, handle, pipe, output };

  const char* program;
  char* const* arguments;    ///< with the program's name, up to a nullptr
  char* const* environment;  ///< up to a nullptr; nullptr: ours
  const char* directory;     ///< nullptr: ours
  stream streams[3];
  int handles[3];  ///< of those that are one
};

struct spawned_child {
  int pid = -1;
  int handle = -1;             ///< its pidfd
  int ends[3] = {-1, -1, -1};  ///< our ends of its pipes, non-blocking
  bool bad_directory = false;  ///< with an error: the directory was the reason
};

}  // namespace beck::detail
