// SPDX-License-Identifier: BSL-1.0
// composed: a function object with steps, as the first argument of async_initiate.
#pragma once

#include <cstddef>
#include <type_traits>

#include <beck/asio/compose.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/token.hpp>

BECK_ASIO_BEGIN

namespace facade {

/// Starts composed operations whose steps are calls of an `Implementation`.
template <class Signature, class Implementation, std::size_t Places>
class composed_start {
 public:
  using executor_type = beck::any_io_executor;

  template <class I, class... P>
  explicit composed_start(I&& implementation, P&&... places)
      : implementation_(static_cast<I&&>(implementation)), start_(static_cast<P&&>(places)...) {}
  executor_type get_executor() const noexcept { return start_.get_executor(); }

  template <class Handler, class... Args>
  void operator()(Handler&& handler, Args&&... args) && {
    start_(static_cast<Handler&&>(handler), static_cast<Implementation&&>(implementation_),
           static_cast<Args&&>(args)...);
  }
  template <class Handler, class... Args>
  void operator()(Handler&& handler, Args&&... args) const& {
    composed_start (*this)(static_cast<Handler&&>(handler), static_cast<Args&&>(args)...);
  }

 private:
  Implementation implementation_;
  composed_initiation<Signature, Places> start_;
};

template <class... Signatures>
struct composed_signature {
  using type = beck::detail::any_signature;
};
template <class Signature>
struct composed_signature<Signature> {
  using type = beck_signature<Signature>;
};

}  // namespace facade

/// Returns a function object for async_initiate, whose steps are those of async_compose; the first
/// call of `implementation` has the arguments that async_initiate got. With one signature `self`
/// has its complete(); otherwise complete() takes any results that the handler takes.
template <class... Signatures, class Implementation, class... Places>
auto composed(Implementation&& implementation, Places&&... places) {
  constexpr std::size_t count = sizeof...(Places) == 0 ? 1 : sizeof...(Places);
  return facade::composed_start<typename facade::composed_signature<Signatures...>::type,
                                std::decay_t<Implementation>, count>(
      static_cast<Implementation&&>(implementation), places...);
}

BECK_ASIO_END
