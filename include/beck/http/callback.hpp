// SPDX-License-Identifier: BSL-1.0
// Functions of the program that servers and clients keep, and call with an argument.
#pragma once

#include <type_traits>

namespace beck::http::detail {

/// A function of the program that takes an argument, such as a reference to a record. A plain
/// record: its owner calls destroy().
template <class Argument, class Result = void>
struct callback {
  void* object = nullptr;
  Result (*function)(void* object, Argument argument) = nullptr;
  void (*deleter)(void* object) noexcept = nullptr;

  Result call(Argument argument) const { return function(object, argument); }
  void destroy() const noexcept { deleter(object); }
  /// Returns one with `given` inside. Throws std::bad_alloc.
  template <class Function>
  static callback of(Function&& given) {
    using kept = std::decay_t<Function>;
    return {new kept(static_cast<Function&&>(given)), &call_kept<kept>,
            [](void* self) noexcept { delete static_cast<kept*>(self); }};
  }

 private:
  template <class Kept>
  static Result call_kept(void* self, Argument argument) {
    using returned = decltype((*static_cast<Kept*>(self))(argument));
    if constexpr (std::is_void_v<returned>) {
      (*static_cast<Kept*>(self))(argument);
      return Result();
    } else if constexpr (std::is_void_v<Result>) {
      static_cast<void>((*static_cast<Kept*>(self))(argument));
    } else {
      return (*static_cast<Kept*>(self))(argument);
    }
  }
};

}  // namespace beck::http::detail
