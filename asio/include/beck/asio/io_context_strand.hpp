// SPDX-License-Identifier: BSL-1.0
// io_context::strand: a strand with members in the place of functions.
#pragma once

#include <type_traits>
#include <utility>

#include <beck/asio/config.hpp>
#include <beck/asio/executor.hpp>
#include <beck/io/io_context.hpp>

BECK_ASIO_BEGIN

namespace facade {

/// A function object that dispatches a copy of a handler on an executor at each call.
template <class Executor, class Handler>
class wrapped_handler {
 public:
  using executor_type = Executor;
  wrapped_handler(const Executor& executor, Handler handler)
      : executor_(executor), handler_(std::move(handler)) {}
  executor_type get_executor() const noexcept { return executor_; }
  template <class... Args>
  void operator()(Args&&... args) {
    beck::dispatch(executor_, [handler = handler_,
                               ... kept = std::decay_t<Args>(static_cast<Args&&>(args))]() mutable {
      handler(std::move(kept)...);
    });
  }

 private:
  Executor executor_;
  Handler handler_;
};

/// A strand on a context.
template <class Context>
class context_strand : public beck::strand<beck::io_context::executor_type> {
  using base = beck::strand<beck::io_context::executor_type>;

 public:
  /// Makes a strand on `context`.
  explicit context_strand(Context& context) : base(context.get_executor()), context_(&context) {}
  /// Returns the context.
  Context& context() const noexcept { return *context_; }
  /// As asio::post().
  template <class Token>
  auto post(Token&& token) const {
    return beck::post(static_cast<const base&>(*this), static_cast<Token&&>(token));
  }
  /// As asio::defer().
  template <class Token>
  auto defer(Token&& token) const {
    return beck::defer(static_cast<const base&>(*this), static_cast<Token&&>(token));
  }
  /// As asio::dispatch().
  template <class Token>
  auto dispatch(Token&& token) const {
    return beck::dispatch(static_cast<const base&>(*this), static_cast<Token&&>(token));
  }
  /// Returns a function that dispatches `handler`, with its arguments, on this strand.
  template <class Handler>
  auto wrap(Handler handler) const {
    return facade::wrapped_handler<base, Handler>(*this, std::move(handler));
  }

 private:
  Context* context_;
};

}  // namespace facade

#if defined(BECK_ASIO_OLD_NAMES)
namespace detail {

struct is_continuation_if_running {};
struct is_continuation_delegated {};
/// The type of wrap(), for programs that name it as the result of a function.
template <class Wrapper, class Handler, class = is_continuation_delegated>
using wrapped_handler =
    decltype(std::declval<Wrapper&>().wrap(std::declval<std::decay_t<Handler>>()));

}  // namespace detail
#endif

BECK_ASIO_END

/// Asio's older form of a strand.
class beck::io_context::strand : public BECK_ASIO::facade::context_strand<beck::io_context> {
  using BECK_ASIO::facade::context_strand<beck::io_context>::context_strand;
};
