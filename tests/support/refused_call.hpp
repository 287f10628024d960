// SPDX-License-Identifier: BSL-1.0
// Makes a system call of this process fail, as the filter of a container does (seccomp(2)). For
// children of support/child.hpp, because it cannot be undone.
#pragma once

#include <cstddef>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

namespace beck::test {

/// Makes the call with this `number` (`__NR_...`) fail with `reason`, an errno value, from now on,
/// in this thread and the threads that it makes. Returns false if no filter can be installed here.
inline bool refuse_call(long number, int reason) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(reason)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{4, code};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace beck::test
