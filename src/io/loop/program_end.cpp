// SPDX-License-Identifier: BSL-1.0
// exit(3) destroys the thread-local objects of its caller before all static ones.
#include "io/loop/program_end.hpp"

#include <new>

#include "base/thread_store.hpp"

namespace beck::detail {
namespace {

struct noted {};

}  // namespace

void note_thread() noexcept {
  if (thread_is_ending()) return;
  try {
    static_cast<void>(of_this_thread<noted>::get());
  } catch (const std::bad_alloc&) {
    return;  // then the end of the thread is not noticed
  }
}

bool program_is_ending() noexcept { return thread_is_ending(); }

}  // namespace beck::detail
