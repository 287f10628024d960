// SPDX-License-Identifier: BSL-1.0
// What code prints on the standard error, for tests of what users are told.
#pragma once

#include <unistd.h>
#include <cstdio>
#include <string>

#include <sys/mman.h>

namespace beck::test {

/// Runs `code` with the standard error in a file in memory, and gives what it printed.
template <class Code>
std::string errors_of(Code&& code) {
  std::fflush(stderr);
  const int kept = ::dup(STDERR_FILENO);
  const int file = ::memfd_create("errors", 0);
  ::dup2(file, STDERR_FILENO);
  code();
  std::fflush(stderr);
  ::dup2(kept, STDERR_FILENO);
  ::close(kept);
  std::string text(static_cast<std::size_t>(::lseek(file, 0, SEEK_END)), '\0');
  const auto read = ::pread(file, text.data(), text.size(), 0);
  ::close(file);
  text.resize(read < 0 ? 0 : static_cast<std::size_t>(read));
  return text;
}

}  // namespace beck::test
