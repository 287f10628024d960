// SPDX-License-Identifier: BSL-1.0
// The call of a handler that is a coroutine, awaited by the course of its connection.
#pragma once

#include <coroutine>
#include <source_location>

#include <beck/coro/within.hpp>

#include "http/connection.hpp"

namespace beck::http::detail {

/// Awaits the task of a handler below a scope of its own, which a lost connection stops.
class connection::handler_call {
 public:
  handler_call(connection& of, task<>&& work) noexcept
      : connection_(&of), work_(static_cast<task<>&&>(work)) {}
  handler_call(handler_call&& inert) noexcept
      : connection_(inert.connection_), work_(static_cast<task<>&&>(inert.work_)) {}

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> course,
                     std::source_location at = std::source_location::current()) {
    scope_.emplace(beck::detail::scope_of(course, at));
    connection_->handler_scope_ = &*scope_;
    if (!beck::detail::suspend_inside(work_, course, *scope_)) return false;
    connection_->handler_suspended();
    return true;
  }
  /// Returns whether the handler threw an exception.
  bool await_resume() noexcept {
    connection_->handler_scope_ = nullptr;
    scope_.reset();
    try {
      work_.await_resume();
      return false;
    } catch (...) {
      return true;
    }
  }

 private:
  connection* connection_;
  beck::detail::deferred_init<beck::detail::inner_scope> scope_;
  task<> work_;
};

}  // namespace beck::http::detail
