// SPDX-License-Identifier: BSL-1.0
// Awaiting senders of any library in tasks: `co_await from_sender(s)`. The task goes on where it
// runs, wherever the sender completes.
#pragma once

#include <beck/base/assert.hpp>
#include <beck/coro/task.hpp>
#include <beck/detail/initiating_call.hpp>
#include <beck/interop/execution/as_sender.hpp>
#include <exception>
#include <optional>
#include <tuple>
#include <variant>

namespace beck::execution {
inline namespace BECK_EXECUTION_VOCABULARY {

namespace detail {

/// The environment of a sender that a task awaits.
class task_env {
 public:
  task_env(inplace_stop_token token, const any_io_executor& home) noexcept
      : token_(static_cast<inplace_stop_token&&>(token)), home_(&home) {}
  inplace_stop_token query(get_stop_token_t) const noexcept { return token_; }
  scheduler query(get_scheduler_t) const noexcept { return scheduler(*home_); }
  scheduler query(get_start_scheduler_t) const noexcept { return scheduler(*home_); }
  scheduler query(get_delegation_scheduler_t) const noexcept { return scheduler(*home_); }

 private:
  inplace_stop_token token_;
  const any_io_executor* home_;
};

/// The value of a co_await for the values of a sender: none, the one, or a tuple.
template <class... T>
struct awaited_values {
  using type = std::tuple<std::decay_t<T>...>;
};
template <>
struct awaited_values<> {
  using type = std::monostate;
};
template <class T>
struct awaited_values<T> {
  using type = std::decay_t<T>;
};

/// The values and the kinds of errors in a list of signatures.
template <class... Signatures>
struct awaited_summary {
  using values = std::monostate;
  using result = io_result<>;
  static constexpr bool has_values = false, has_codes = false;
};
template <class... T, class... Rest>
struct awaited_summary<set_value_t(T...), Rest...> : awaited_summary<Rest...> {
  static_assert(!awaited_summary<Rest...>::has_values,
                "a task awaits senders that complete with one list of values");
  using values = typename awaited_values<T...>::type;
  using result = io_result<std::decay_t<T>...>;
  static constexpr bool has_values = true;
};
template <class Error, class... Rest>
struct awaited_summary<set_error_t(Error), Rest...> : awaited_summary<Rest...> {
  static constexpr bool has_codes =
      awaited_summary<Rest...>::has_codes || std::is_same_v<std::decay_t<Error>, error_code>;
};
template <class... Rest>
struct awaited_summary<set_stopped_t(), Rest...> : awaited_summary<Rest...> {};
template <class List>
struct awaited_summary_of;
template <class... S>
struct awaited_summary_of<completion_signatures<S...>> {
  using type = awaited_summary<S...>;
};

template <class Sender>
class [[nodiscard]] awaited_sender : beck::detail::queue_entry {
  class receiver {
   public:
    using receiver_concept = receiver_tag;
    explicit receiver(awaited_sender& self) noexcept : self_(&self) {}
    template <class... T>
    void set_value(T&&... values) noexcept {
      try {
        self_->result_.template emplace<1>(static_cast<T&&>(values)...);
      } catch (...) {
        self_->result_.template emplace<2>(std::current_exception());
      }
      self_->completed();
    }
    template <class Error>
    void set_error(Error&& error) noexcept {
      using type = std::decay_t<Error>;
      if constexpr (std::is_same_v<type, error_code>) {
        self_->result_.template emplace<3>(error);
      } else if constexpr (std::is_same_v<type, std::exception_ptr>) {
        self_->result_.template emplace<2>(static_cast<Error&&>(error));
      } else {
        self_->result_.template emplace<2>(std::make_exception_ptr(static_cast<Error&&>(error)));
      }
      self_->completed();
    }
    void set_stopped() noexcept {
      self_->result_.template emplace<4>();
      self_->completed();
    }
    task_env get_env() const noexcept {
      return task_env(self_->source_->get_token(), self_->scope_->executor());
    }

   private:
    awaited_sender* self_;
  };
  struct stopped {};
  using summary = typename awaited_summary_of<signatures_of<Sender, task_env>>::type;
  using state = connect_result_t<Sender, receiver>;

 public:
  /// Whether the result is an io_result: some errors are error_codes.
  static constexpr bool gives_result =
      summary::has_codes && requires { sizeof(typename summary::result); };

  explicit awaited_sender(Sender&& sender) : sender_(static_cast<Sender&&>(sender)) {}
  /// Moves one that was not awaited.
  awaited_sender(awaited_sender&& other) noexcept(std::is_nothrow_move_constructible_v<Sender>)
      : sender_(static_cast<Sender&&>(other.sender_)) {}
  ~awaited_sender() {
    if (state_ && result_.index() == 0) abandon();
  }

  static constexpr bool await_ready() noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine,
                     std::source_location at = std::source_location::current()) {
    return suspend_in(coroutine, beck::detail::scope_of(coroutine, at));
  }
  bool suspend_in(beck::detail::continuation waiting, beck::detail::scope& environment) {
    static constexpr beck::detail::wait_kind kind{&cancel, "a sender"};
    waiting_ = waiting;
    scope_ = &environment;
    source_.emplace();
    if (environment.stop_requested()) source_->request_stop();
    state_.emplace(in_place{
        [this] { return execution::connect(static_cast<Sender&&>(sender_), receiver(*this)); }});
    environment.wait_at_start(this, kind);
    environment.executor().on_work_started();
    if (beck::detail::completes_inside(this, [this] { execution::start(*state_); })) {
      environment.executor().on_work_finished();
      environment.stop_waiting();
      if (beck::detail::runner::current()->spend(beck::detail::runner::memory_weight)) return false;
      run = &resume;
      environment.executor().post(this);
      return true;
    }
    environment.started();
    return true;
  }
  auto await_resume() {
    state_.reset();
    if (result_.index() == 2) std::rethrow_exception(std::get<2>(result_));
    if constexpr (gives_result) {
      using result = typename summary::result;
      if (result_.index() != 1) return failure(static_cast<result*>(nullptr));
      return success<result>();
    } else {
      if (result_.index() != 1) beck::detail::throw_error(stop_error(), "a sender");
      if constexpr (!std::is_same_v<typename summary::values, std::monostate>) {
        return static_cast<typename summary::values&&>(std::get<1>(result_));
      }
    }
  }

 private:
  using initiating_call = beck::detail::initiating_call;

  /// Ends a wait whose task is being destroyed: a sender may complete inside the request of a stop.
  void abandon() noexcept {
    const bool ended = beck::detail::completes_inside(this, [this] { source_->request_stop(); });
    BECK_ASSERT(
        ended, "a task was destroyed while a sender that it awaits runs elsewhere; join it before");
    scope_->executor().on_work_finished();
  }
  error_code stop_error() noexcept {
    return beck::detail::make_error(scope_->stop_requested() ? scope_->stop_result()
                                                             : beck::detail::cancelled_result);
  }
  error_code error() noexcept { return result_.index() == 3 ? std::get<3>(result_) : stop_error(); }
  template <class... T>
  io_result<T...> failure(io_result<T...>*) {
    return io_result<T...>(result_error(error()), T()...);
  }
  template <class Result>
  Result success() {
    if constexpr (std::is_same_v<Result, io_result<>>) {
      return Result();
    } else {
      return success_of<Result>(std::get<1>(result_));
    }
  }
  template <class Result, class... T>
  static Result success_of(std::tuple<T...>& values) {
    return std::apply([](T&... each) { return Result(result_error(), static_cast<T&&>(each)...); },
                      values);
  }
  template <class Result, class T>
  static Result success_of(T& value) {
    return Result(result_error(), static_cast<T&&>(value));
  }

  static beck::detail::scope* cancel(void* leaf, beck::detail::scope&) noexcept {
    static_cast<awaited_sender*>(leaf)->source_->request_stop();
    return nullptr;
  }
  /// The sender has completed, on any thread.
  void completed() noexcept {
    const any_io_executor home = scope_->executor();  // afterwards the frame may be gone
    run = &resume;
    if (auto* const call = initiating_call::of(this); call != nullptr) {
      return call->end_with(initiating_call::outcome::completed);
    }
    home.post(this);
    home.on_work_finished();
  }
  static void resume(beck::detail::queue_entry* entry, beck::detail::runner* where) {
    if (where == nullptr) return;  // the frame belongs to its tree, which destroys it
    ++where->counters.delivered;
    auto& self = *static_cast<awaited_sender*>(entry);
    self.scope_->resume(self.waiting_, *where);
  }

  Sender sender_;
  beck::detail::continuation waiting_;
  beck::detail::scope* scope_ = nullptr;
  std::optional<inplace_stop_source> source_;
  std::optional<state> state_;
  std::variant<std::monostate, typename summary::values, std::exception_ptr, error_code, stopped>
      result_;
};

}  // namespace detail

namespace functions {

/// Returns an awaitable that starts `sender` and waits for its completion:
/// `auto value = co_await from_sender(s)`.
///
/// Result: if some errors of the sender are error_codes, an io_result of the values (in an
/// awaitable: the values or io_error); else the value, or a tuple of several. Other errors are
/// thrown. If the sender is stopped, the error or exception is operation_aborted, or timeout if a
/// time limit was the reason.
/// Cancellation: the sender's environment has a stop token, which a stop of the task's scope
/// requests, and the task's executor as scheduler.
/// Thread: the sender may complete on any thread; the task goes on where it runs.
/// Memory: none, but for a stop source where the program has no library of senders.
template <detail::any_sender Sender>
auto from_sender(Sender sender) {
  if constexpr (requires { requires Sender::may_be_released; }) {
    return static_cast<Sender&&>(sender).release();  // an operation of beck: as if awaited itself
  } else {
    return detail::awaited_sender<Sender>(static_cast<Sender&&>(sender));
  }
}

}  // namespace functions
using namespace functions;

}  // namespace BECK_EXECUTION_VOCABULARY
}  // namespace beck::execution
