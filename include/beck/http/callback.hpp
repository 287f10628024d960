// SPDX-License-Identifier: BSL-1.0
// Functions of the program that servers and clients keep, and call with an argument.
#pragma once

#include <type_traits>

namespace beck::http::detail {

/// A function of the program that takes an argument, such as a reference to a record. A plain
/// record: its owner calls destroy().
template <class Argument>
struct callback {
  void* object = nullptr;
  void (*function)(void* object, Argument argument) = nullptr;
  void (*deleter)(void* object) noexcept = nullptr;

  void call(Argument argument) const { function(object, argument); }
  void destroy() const noexcept { deleter(object); }
  /// Returns one with `given` inside. Throws std::bad_alloc.
  template <class Function>
  static callback of(Function&& given) {
    using kept = std::decay_t<Function>;
    return {new kept(static_cast<Function&&>(given)),
            [](void* self, Argument argument) { (*static_cast<kept*>(self))(argument); },
            [](void* self) noexcept { delete static_cast<kept*>(self); }};
  }
};

}  // namespace beck::http::detail
