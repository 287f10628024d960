// SPDX-License-Identifier: BSL-1.0
// exit(3) destroys the thread-local objects of its caller before all static ones.
#include "io/loop/program_end.hpp"

namespace beck::detail {
namespace {

constinit thread_local bool thread_is_ending = false;

struct thread_end {
  ~thread_end() { thread_is_ending = true; }
};

}  // namespace

void note_thread() noexcept {
  static thread_local thread_end of_thread;
  static_cast<void>(&of_thread);
}

bool program_is_ending() noexcept { return thread_is_ending; }

}  // namespace beck::detail
