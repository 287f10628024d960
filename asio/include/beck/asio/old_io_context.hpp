// SPDX-License-Identifier: BSL-1.0
// io_context as a class of the facade, with the members that Asio removed: for programs that define
// BECK_ASIO_OLD_NAMES or BECK_ASIO_THREADS, or declare the class themselves
// (BECK_ASIO_NO_INLINE_NAMESPACE).
#pragma once

#include <type_traits>
#include <utility>

#include <beck/asio/config.hpp>
#include <beck/asio/executor.hpp>
#include <beck/asio/io_context_strand.hpp>
#include <beck/asio/token.hpp>
#include <beck/io/io_context.hpp>

BECK_ASIO_BEGIN

/// beck's context with members in the place of functions. Everything else as beck::io_context.
class io_context : public beck::io_context {
 public:
  class work;
  class strand;

  using beck::io_context::io_context;
#if defined(BECK_ASIO_THREADS)
  /// Makes a context whose handlers BECK_ASIO_THREADS threads run side by side.
  io_context() : beck::io_context(BECK_ASIO_THREADS) {}
#endif

  using beck::io_context::poll;
  using beck::io_context::poll_one;
  using beck::io_context::run;
  using beck::io_context::run_one;
  /// As the function without `ec`, which is never set.
  std::size_t run(beck::error_code& ec) { return no_error(ec), run(); }
  /// As above.
  std::size_t run_one(beck::error_code& ec) { return no_error(ec), run_one(); }
  /// As above.
  std::size_t poll(beck::error_code& ec) { return no_error(ec), poll(); }
  /// As above.
  std::size_t poll_one(beck::error_code& ec) { return no_error(ec), poll_one(); }
  /// As restart().
  void reset() { restart(); }
  /// As asio::post().
  template <class Token>
  auto post(Token&& token) {
    return beck::post(*this, static_cast<Token&&>(token));
  }
  /// As asio::dispatch().
  template <class Token>
  auto dispatch(Token&& token) {
    return beck::dispatch(*this, static_cast<Token&&>(token));
  }
  /// Returns a function that dispatches `handler`, with its arguments, on this context.
  template <class Handler>
  auto wrap(Handler handler) {
    return facade::wrapped_handler<executor_type, Handler>(get_executor(), std::move(handler));
  }

 private:
  static void no_error(beck::error_code& ec) noexcept { ec = beck::error_code(); }
};

/// Keeps run() from returning while it exists.
class io_context::work {
 public:
  /// Counts as work of `context`.
  explicit work(io_context& context) : context_(&context), guard_(context.get_executor()) {}
  /// Returns the context.
  io_context& get_io_context() noexcept { return *context_; }
  /// As above.
  io_context& get_io_service() noexcept { return *context_; }

 private:
  io_context* context_;
  beck::executor_work_guard<beck::io_context::executor_type> guard_;
};

/// A strand with members in the place of functions.
class io_context::strand : public facade::context_strand<io_context> {
  using facade::context_strand<io_context>::context_strand;
};

/// The name of io_context before Asio 1.12.
using io_service = io_context;

BECK_ASIO_END
