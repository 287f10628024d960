// SPDX-License-Identifier: BSL-1.0
// exit(3) destroys the thread-local objects of its caller before all static ones. This is a byte
// and a call at the end of the thread: an object would take more of the static TLS block.
#include "io/loop/program_end.hpp"

#include "base/thread_store.hpp"

namespace beck::detail {
namespace {

enum class thread_state : unsigned char { unknown, noted, ending };

constinit thread_local thread_state state [[gnu::tls_model("initial-exec")]] =
    thread_state::unknown;

void end_thread(void*) noexcept { state = thread_state::ending; }

}  // namespace

void note_thread() noexcept {
  if (state != thread_state::unknown) return;
  if (call_at_thread_end(&end_thread)) state = thread_state::noted;
}

bool program_is_ending() noexcept { return state == thread_state::ending; }

}  // namespace beck::detail
