// SPDX-License-Identifier: BSL-1.0
// Commands to a loop from outside, other than starting an operation: cancel, close, release. They
// are carried out when the inbox is taken, in its order, as starts are; queued behind other entries
// they would meet operations that were started after them.
#pragma once

#include <beck/detail/queue_entry.hpp>

namespace beck::detail {

/// A command, which runs no user code. It may be freed in `carry_out`.
struct loop_command : queue_entry {
  using function = void (*)(void* subject) noexcept;

  loop_command() noexcept : loop_command(nullptr, nullptr) {}
  loop_command(function what, void* to_whom) noexcept
      : queue_entry{nullptr, &run_command}, carry_out(what), subject(to_whom) {}

  /// Carries the command out, also when the queue is destroyed first.
  static void run_command(queue_entry* entry, runner*) {
    auto* self = static_cast<loop_command*>(entry);
    self->carry_out(self->subject);
  }

  function carry_out;
  void* subject;
};

}  // namespace beck::detail
