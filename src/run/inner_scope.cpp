// SPDX-License-Identifier: BSL-1.0
// The link between an inner scope and the one around it.
#include <beck/detail/inner_scope.hpp>

namespace beck::detail {
namespace {

constexpr wait_kind waits_for_scope{
    [](void* leaf, scope&) noexcept -> scope* { return static_cast<scope*>(leaf); }, "",
    wait_kind::leaf::inner_scope};

constexpr wait_kind waits_for_shielded{[](void*, scope&) noexcept -> scope* { return nullptr; }, "",
                                       wait_kind::leaf::inner_scope};

}  // namespace

inner_scope::inner_scope(scope& outer) noexcept
    : scope(outer.executor(), outer.locals()), outer_(outer) {
  if (!outer.wait_at(static_cast<scope*>(this), waits_for_scope)) stop(outer.reason());
}

shielding_scope::shielding_scope(scope& outer) noexcept
    : scope(outer.executor(), outer.locals()), outer_(outer) {
  static_cast<void>(outer.wait_at(static_cast<scope*>(this), waits_for_shielded));
}

inner_scope::~inner_scope() {
  outer_.stop_waiting();
  if (interrupted() && outer_.stop_requested()) outer_.note_interrupted();
}

}  // namespace beck::detail
