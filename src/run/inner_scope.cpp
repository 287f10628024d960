// SPDX-License-Identifier: BSL-1.0
// The link between an inner scope and the one around it.
#include <beck/run/inner_scope.hpp>

namespace beck {

inner_scope::inner_scope(scope& outer) noexcept
    : scope(outer.executor(), outer.locals()), outer_(outer) {
  const bool waits = outer.wait_at(
      this, [](void* leaf, scope&) noexcept -> scope* { return static_cast<inner_scope*>(leaf); });
  if (!waits) stop(outer.reason());
}

inner_scope::~inner_scope() {
  outer_.stop_waiting();
  if (interrupted() && outer_.stop_requested()) outer_.note_interrupted();
}

}  // namespace beck
