// SPDX-License-Identifier: BSL-1.0
// A process that has used up RLIMIT_NOFILE.
#pragma once

#include <vector>

#include <sys/resource.h>
#include <unistd.h>

namespace beck::test {

/// Limits this process to `left` further descriptors, for its lifetime.
class no_descriptors {
 public:
  explicit no_descriptors(int left = 0) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit tight = before_;
    tight.rlim_cur = static_cast<rlim_t>(::dup(0)) + 1;
    holders_.push_back(static_cast<int>(tight.rlim_cur) - 1);
    tight.rlim_cur += static_cast<rlim_t>(left);
    ::setrlimit(RLIMIT_NOFILE, &tight);
    for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) holders_.push_back(fd);
    for (; left > 0; --left) {
      ::close(holders_.back());
      holders_.pop_back();
    }
  }
  ~no_descriptors() {
    for (const int fd : holders_) ::close(fd);
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  no_descriptors(const no_descriptors&) = delete;
  no_descriptors& operator=(const no_descriptors&) = delete;

  /// Returns the limit in force.
  static rlim_t limit() {
    rlimit now{};
    ::getrlimit(RLIMIT_NOFILE, &now);
    return now.rlim_cur;
  }

 private:
  rlimit before_ = {};
  std::vector<int> holders_;
};

}  // namespace beck::test
