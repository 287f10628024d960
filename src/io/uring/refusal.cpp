// SPDX-License-Identifier: BSL-1.0
//
// The names of the errors and the settings behind them, with the values that this machine has for
// them. Runs only if a ring was refused, so it need not be fast.
#include "io/uring/probe.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <cstdio>

namespace beck::uring {
namespace {

std::string error_name(int error) {
  switch (error) {
    case EPERM:
      return "EPERM";
    case EINTR:
      return "EINTR";
    case EBADF:
      return "EBADF";
    case EAGAIN:
      return "EAGAIN";
    case ENOMEM:
      return "ENOMEM";
    case EACCES:
      return "EACCES";
    case EFAULT:
      return "EFAULT";
    case EBUSY:
      return "EBUSY";
    case EEXIST:
      return "EEXIST";
    case EINVAL:
      return "EINVAL";
    case ENFILE:
      return "ENFILE";
    case EMFILE:
      return "EMFILE";
    case ENOSYS:
      return "ENOSYS";
    case ENOBUFS:
      return "ENOBUFS";
    case EOPNOTSUPP:
      return "EOPNOTSUPP";
    case EPROTO:
      return "EPROTO";
    case ETIME:
      return "ETIME";
    case ETIMEDOUT:
      return "ETIMEDOUT";
    case EBADFD:
      return "EBADFD";
    case EBADR:
      return "EBADR";
    case ECANCELED:
      return "ECANCELED";
    default:
      return "errno " + std::to_string(error);
  }
}

std::string advice(int error, const refusal_facts& facts) {
  switch (error) {
    case EPERM:
      if (facts.io_uring_disabled == 2) return "kernel.io_uring_disabled = 2";
      if (facts.io_uring_disabled == 1) {
        return "kernel.io_uring_disabled = 1: only for CAP_SYS_ADMIN and kernel.io_uring_group";
      }
      if (facts.io_uring_disabled == 0) return "seccomp or another security policy";
      return "seccomp, or kernel.io_uring_disabled = 2";
    case EACCES:
      return "a security policy";
    case ENOSYS:
      return "no io_uring in this kernel, or hidden by seccomp";
    case ENOMEM:
      if (facts.locked_bytes_max == 0) return "memory, or the locked memory limit";
      return "locked memory limit " + std::to_string(facts.locked_bytes_max) + " bytes";
    case EMFILE:
      if (facts.files_max == 0) return "too many open files in this process";
      return "too many open files in this process, limit " + std::to_string(facts.files_max);
    case ENFILE:
      return "too many open files on this machine, fs.file-max";
    case EINVAL:
      return "not known to this kernel";
    case EPROTO:
      return "the queues do not fit their own description";
    default:
      return {};
  }
}

std::uint64_t limit_of(__rlimit_resource which) {
  rlimit limit{};
  return ::getrlimit(which, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : 0;
}

}  // namespace

refusal_facts read_refusal_facts() {
  refusal_facts facts;
  facts.locked_bytes_max = limit_of(RLIMIT_MEMLOCK);
  facts.files_max = limit_of(RLIMIT_NOFILE);
  if (std::FILE* const file = std::fopen("/proc/sys/kernel/io_uring_disabled", "re")) {
    int value = 0;
    if (std::fscanf(file, "%d", &value) == 1) facts.io_uring_disabled = value;
    std::fclose(file);
  }
  return facts;
}

std::string describe_refusal(const char* call, int error, const refusal_facts& facts) {
  std::string text = std::string(call) + ": " + error_name(error);
  const std::string why = advice(error, facts);
  if (!why.empty()) text += " (" + why + ")";
  return text;
}

}  // namespace beck::uring
