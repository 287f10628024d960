// SPDX-License-Identifier: BSL-1.0
// Tells whether the program is ending, by exit(3) or by the return from main(). Then contexts with
// static storage are destroyed although a handler that has called exit() never returns, and
// although objects in the scopes of main() and of other threads are never destroyed.
#pragma once

namespace beck::detail {

/// Notices if the calling thread ends the program: its thread-local objects are destroyed before
/// all static ones. Called where a context is made and where one is run. Thread: any.
void note_thread() noexcept;

/// Returns whether the program is ending, as far as that was noticed. Thread: the one that ends it.
bool program_is_ending() noexcept;

}  // namespace beck::detail
