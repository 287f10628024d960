// SPDX-License-Identifier: BSL-1.0
// as_sender: everything that a task of beck can await, as a sender. Its operation state is the
// awaitable itself, a scope and the receiver: nothing is allocated.
#pragma once

#include <beck/coro/within.hpp>
#include <beck/detail/operation.hpp>
#include <beck/detail/pause_operation.hpp>
#include <beck/detail/sender_wait.hpp>
#include <beck/interop/execution/scheduler.hpp>
#include <beck/interop/execution/vocabulary.hpp>
#include <beck/run/op.hpp>
#include <exception>
#include <new>
#include <optional>
#include <system_error>

namespace beck::execution {
inline namespace BECK_EXECUTION_VOCABULARY {

namespace detail {

/// How a result becomes a completion: `signatures`, and send(receiver, result, stopped), where
/// `stopped` says that a stop has ended the wait. Whole: the io_result itself is the value.
template <class Result, bool Whole>
struct completion {
  using signatures =
      completion_signatures<set_value_t(Result), set_error_t(std::exception_ptr), set_stopped_t()>;
  template <class Receiver>
  static void send(Receiver&& receiver, Result&& result, bool) noexcept {
    execution::set_value(static_cast<Receiver&&>(receiver), static_cast<Result&&>(result));
  }
};
template <bool Whole>
struct completion<void, Whole> {
  using signatures =
      completion_signatures<set_value_t(), set_error_t(std::exception_ptr), set_stopped_t()>;
};
template <class... T>
struct completion<io_result<T...>, false> {
  using signatures =
      completion_signatures<set_value_t(T...), set_error_t(error_code), set_stopped_t()>;
  template <class Receiver>
  static void send(Receiver&& receiver, io_result<T...>&& result, bool stopped) noexcept {
    if (const error_code ec = result.error()) {
      if (stopped && ec == error::operation_aborted) {
        execution::set_stopped(static_cast<Receiver&&>(receiver));
      } else {
        execution::set_error(static_cast<Receiver&&>(receiver), error_code(ec));
      }
    } else if constexpr (sizeof...(T) == 0) {
      execution::set_value(static_cast<Receiver&&>(receiver));
    } else if constexpr (sizeof...(T) == 1) {
      execution::set_value(static_cast<Receiver&&>(receiver), std::move(result.value_));
    } else {
      execution::set_value(static_cast<Receiver&&>(receiver), std::move(result.first_),
                           std::move(result.second_));
    }
  }
};
template <class... T>
struct completion<io_result<T...>, true> {
  using signatures = completion_signatures<set_value_t(io_result<T...>), set_stopped_t()>;
  template <class Receiver>
  static void send(Receiver&& receiver, io_result<T...>&& result, bool stopped) noexcept {
    bool has_moved = false;
    if constexpr (std::is_same_v<io_result<T...>, io_result<std::size_t>>) {
      has_moved = result.value_ != 0;
    }
    if (stopped && !has_moved && result.error() == error::operation_aborted) {
      execution::set_stopped(static_cast<Receiver&&>(receiver));
    } else {
      execution::set_value(static_cast<Receiver&&>(receiver), std::move(result));
    }
  }
};

/// Adds std::exception_ptr to the errors: for tasks and operations of users, which may throw.
template <class Signatures>
using with_exceptions = append_new<Signatures, set_error_t(std::exception_ptr)>;
/// Whether an awaitable ends with an error_code or a value only: the operations of the library.
template <class Op>
inline constexpr bool throws_nothing = std::is_base_of_v<beck::detail::io_op, Op> ||
                                       std::is_base_of_v<beck::detail::pause_operation, Op>;

/// Whether an awaitable certainly runs no task inside the call that starts it.
template <class Op>
inline constexpr bool starts_no_task = throws_nothing<Op> || requires { typename Op::handler; };

/// A callable that makes an operation of the library may fail: the whole result has no place for
/// that.
template <class Place, bool Whole>
struct signatures_for {
  using operation = typename Place::operation;
  using plain =
      typename completion<decltype(std::declval<operation&>().await_resume()), Whole>::signatures;
  using type = std::conditional_t<throws_nothing<operation> && !(Whole && Place::is_made_at_start),
                                  plain, typename with_exceptions<plain>::type>;
};

namespace functions {

/// Returns the executor on which an awaitable completes by itself; empty if it has none.
template <class Op>
any_io_executor home_of(const Op& op) noexcept {
  if constexpr (std::is_base_of_v<beck::detail::io_op, Op>) {
    return beck::detail::default_executor(static_cast<const beck::detail::io_op&>(op));
  } else if constexpr (
      requires { typename Op::handler; } &&
      requires { beck::detail::executor_at(op.get_executor()); }) {
    return beck::detail::executor_at(op.get_executor());
  } else if constexpr (requires { any_io_executor(op.through()); }) {
    return op.through();
  } else {
    return any_io_executor();
  }
}

}  // namespace functions
using namespace functions;

/// The place of an awaitable that exists when the sender is connected. One that has something to
/// destroy (frames, scopes, timers) goes before the completion.
template <class Op>
class one_shot {
  static constexpr bool has_end = !std::is_trivially_destructible_v<Op>;

 public:
  using operation = Op;
  static constexpr bool is_made_at_start = false;
  explicit one_shot(Op&& op) : op_(static_cast<Op&&>(op)) {}
  Op& make() noexcept { return get(); }
  Op& get() noexcept {
    if constexpr (has_end) {
      return *op_;
    } else {
      return op_;
    }
  }
  void end() noexcept {
    if constexpr (has_end) op_.reset();
  }

 private:
  std::conditional_t<has_end, std::optional<Op>, Op> op_;
};

/// The place of an awaitable that a callable makes when the sender is started.
template <class Make>
class many_shots {
 public:
  using operation = std::invoke_result_t<Make&>;
  static constexpr bool is_made_at_start = true;
  explicit many_shots(Make&& make) : make_(static_cast<Make&&>(make)) {}
  many_shots(const many_shots& other)
    requires std::copy_constructible<Make>
      : make_(other.make_) {}
  many_shots(many_shots&& other) noexcept(std::is_nothrow_move_constructible_v<Make>)
      : make_(static_cast<Make&&>(other.make_)) {}
  operation& make() {
    return op_ ? *op_ : op_.emplace(in_place{[this]() -> operation { return make_(); }});
  }
  operation& get() noexcept { return *op_; }
  void end() noexcept { op_.reset(); }

 private:
  Make make_;
  std::optional<operation> op_;
};

/// The function of a stop callback.
template <class State>
struct on_stop {
  State* state;
  void operator()() const noexcept { state->stop(); }
};

/// The part of a state that only receivers that can stop have: the registration, and the message to
/// the executor of the wait.
template <class Token, class State, bool CanStop>
class stop_part {
 public:
  static void connect(const auto&, State*) noexcept {}
  static bool leave() noexcept { return true; }
};
template <class Token, class State>
class stop_part<Token, State, true> {
 public:
  template <class Env>
  void connect(const Env& env, State* state) {
    callback_.emplace(detail::stop_token_in(env), on_stop<State>{state});
  }
  /// Ends the registration: from here on no request begins. Returns false if one is on its way,
  /// which calls the state again.
  bool leave() noexcept {
    callback_.reset();
    return message_.leave();
  }
  beck::detail::stop_request& message() noexcept { return message_; }

 private:
  std::optional<stop_callback_for_t<Token, on_stop<State>>> callback_;
  beck::detail::stop_request message_;
};

/// The exception of a start, while the message of a stop is on its way and the completion has to
/// wait for it.
struct late_exception {
  std::exception_ptr error;
};
struct no_late_exception {};

template <class Place, bool Whole, class Receiver>
class op_state : beck::detail::sender_wait {
  using operation = typename Place::operation;
  using result = decltype(std::declval<operation&>().await_resume());
  using signatures = typename signatures_for<Place, Whole>::type;
  using env = env_of_t<Receiver>;
  static constexpr bool stoppable = can_stop<env>;
  static constexpr bool may_fail_late = stoppable && !throws_nothing<operation>;

 public:
  using operation_state_concept = operation_state_tag;

  template <class P, class Home, class R>
  op_state(P&& place, Home&& home, R&& receiver)
      : sender_wait(&called, static_cast<Home&&>(home)),
        place_(static_cast<P&&>(place)),
        receiver_(static_cast<R&&>(receiver)) {}
  op_state(op_state&&) = delete;

  void start() & noexcept {
    if constexpr (stoppable) {
      if (detail::stop_token_in(get_env(receiver_)).stop_requested()) return send_stopped();
    }
    try {
      if (!this->home()) this->set_home(find_home());
    } catch (...) {
      return fail();
    }
    if constexpr (starts_no_task<operation>) {
      this->is_here() ? start_here() : this->begin_elsewhere();
    } else {
      this->begin();
    }
  }

 private:
  friend struct on_stop<op_state>;

  /// Returns the executor of a wait of which the sender names none: that of the awaitable, else
  /// that of the receiver's scheduler, else that of the caller.
  any_io_executor find_home() {
    if (any_io_executor own = detail::home_of(place_.make())) return own;
    if (any_io_executor start = detail::start_executor(get_env(receiver_))) return start;
    const beck::detail::runner* const here = beck::detail::runner::current();
    return here != nullptr && here->ambient != nullptr ? beck::detail::ambient_scope().executor()
                                                       : any_io_executor();
  }

  /// The function of sender_wait.
  static void called(beck::detail::resumable& wait) {
    auto& self = static_cast<op_state&>(wait);
    if (self.is_over()) return self.complete();
    if (self.is_open()) return self.end_wait();
    self.is_lost() ? self.send_stopped() : self.start_here();
  }

  void start_here() noexcept {
    try {
      operation& op = place_.make();
      if constexpr (requires { op.await_ready(); }) {
        if (op.await_ready()) return complete_at_once(0);
      }
      beck::detail::scope& environment = this->open();
      stops_.connect(get_env(receiver_), this);
      if (!beck::detail::suspend_inside(op, beck::detail::continuation(*this), environment)) {
        if (stops_.leave()) complete_at_once(beck::detail::runner::memory_weight);
      }
    } catch (...) {
      if (!this->is_open() || stops_.leave()) return fail();
      if constexpr (may_fail_late) late_.error = std::current_exception();
    }
  }

  void stop() noexcept { this->request_stop(stops_.message()); }

  void end_wait() noexcept {
    if (stops_.leave()) complete();
  }

  /// `weight`: the budget that the awaitable has not paid for its own completion.
  void complete_at_once(unsigned weight) noexcept {
    const beck::detail::immediate_level level;
    if (level) {
      level.charge(weight);
      complete();
    } else {
      this->finish_later();
    }
  }

  void complete() noexcept {
    const bool stopped = this->is_open() && this->leave_context();
    if (this->is_lost()) return send_stopped();
    try {
      if constexpr (may_fail_late) {
        if (late_.error) std::rethrow_exception(late_.error);
      }
      if constexpr (std::is_void_v<result>) {
        place_.get().await_resume();
        end();
        if (stopped) return send_stopped();
        execution::set_value(static_cast<Receiver&&>(receiver_));
      } else {
        result value = place_.get().await_resume();
        end();
        completion<result, Whole>::send(static_cast<Receiver&&>(receiver_),
                                        static_cast<result&&>(value), stopped);
      }
    } catch (...) {
      if (stopped && beck::detail::caught_code() == error::operation_aborted) return send_stopped();
      fail();
    }
  }

  /// Destroys the awaitable and its scope: before the completion, which may destroy the state.
  void end() noexcept {
    place_.end();
    this->close();
  }
  void send_stopped() noexcept {
    end();
    execution::set_stopped(static_cast<Receiver&&>(receiver_));
  }
  /// Sends the current exception. An operation of the library has no other error than an
  /// error_code: that of the exception; and its whole result is no error at all.
  void fail() noexcept {
    if constexpr (has_signature<set_error_t(std::exception_ptr), signatures>) {
      std::exception_ptr error = std::current_exception();
      end();
      execution::set_error(static_cast<Receiver&&>(receiver_),
                           static_cast<std::exception_ptr&&>(error));
    } else if constexpr (Whole) {
      std::terminate();
    } else {
      const error_code ec = beck::detail::code_of_current_exception();
      end();
      execution::set_error(static_cast<Receiver&&>(receiver_), error_code(ec));
    }
  }

  Place place_;
  Receiver receiver_;
  [[no_unique_address]] stop_part<stop_token_of_t<env>, op_state, stoppable> stops_;
  [[no_unique_address]] std::conditional_t<may_fail_late, late_exception, no_late_exception> late_;
};

template <class Op>
inline constexpr bool has_home = std::is_base_of_v<beck::detail::io_op, Op>;

/// `Placed`: it is known where the sender completes.
template <class Place, bool Whole, bool Placed>
class [[nodiscard]] op_sender {
 public:
  using sender_concept = sender_tag;
  using operation = typename Place::operation;

  op_sender(Place place, any_io_executor home)
      : place_(static_cast<Place&&>(place)), home_(static_cast<any_io_executor&&>(home)) {}

  template <class Self, class... Env>
  static consteval auto get_completion_signatures() noexcept {
    return typename signatures_for<Place, Whole>::type();
  }
  template <class Receiver>
  op_state<Place, Whole, std::decay_t<Receiver>> connect(Receiver&& receiver) && {
    return {static_cast<Place&&>(place_), static_cast<any_io_executor&&>(home_),
            static_cast<Receiver&&>(receiver)};
  }
  template <class Receiver>
  op_state<Place, Whole, std::decay_t<Receiver>> connect(Receiver&& receiver) const&
    requires std::copy_constructible<Place>
  {
    return {place_, home_, static_cast<Receiver&&>(receiver)};
  }
  auto get_env() const noexcept {
    if constexpr (Placed) {
      return results_on(home_);
    } else {
      return completes_anywhere();
    }
  }

  /// Returns the sender for coroutines of other libraries.
  affine_sender<op_sender> affine() && {
    return affine_sender<op_sender>(static_cast<op_sender&&>(*this));
  }
  affine_sender<op_sender> affine() const&
    requires std::copy_constructible<Place>
  {
    return affine_sender<op_sender>(*this);
  }

  /// Whether a task may await the operation instead: the operation runs where its object is, or the
  /// program has named no executor for it.
  static constexpr bool may_be_released = has_home<operation> || !Placed;
  /// Returns the operation, for a task that awaits the sender.
  operation release() && { return static_cast<operation&&>(place_.make()); }

 private:
  Place place_;
  any_io_executor home_;
};

/// A callable that makes an awaitable.
template <class F>
concept makes_awaitable = !beck::detail::scoped_awaitable<F> && std::move_constructible<F> &&
                          beck::detail::scoped_awaitable<std::invoke_result_t<F&>>;

}  // namespace detail

namespace functions {

/// Returns a sender of an operation or a task, which can be started once.
///
/// It sends the values of the operation (`set_value(std::size_t)` for a read), or the value of the
/// task; the error of an operation as an error_code; the exceptions of tasks, and of operations
/// that users write, as a std::exception_ptr. **The number of bytes that have moved before an error
/// or a stop is not sent**: as_result_sender() sends it. It sends set_stopped if the receiver has
/// requested a stop and that has ended the operation; a result that is there wins. Cancelling or
/// closing the object is an error (operation_aborted).
///
/// Thread: start() by any thread; completes on the executor of the operation's object, else, as
/// tasks do, on that of the receiver's start scheduler if it is one of beck, else on the executor
/// that the caller of start() is inside; inside start() if the operation is ready, there is budget,
/// and fewer than runner::immediate_depth_max completions nest. A stop may be requested by any
/// thread, and never completes inside that call unless it is made on the executor.
/// A context that is destroyed completes its started senders with set_stopped: join their scope
/// before. Memory: none.
template <beck::detail::scoped_awaitable Op>
auto as_sender(Op operation) {
  any_io_executor home = detail::home_of(operation);
  return detail::op_sender<detail::one_shot<Op>, false, detail::has_home<Op>>(
      detail::one_shot<Op>(static_cast<Op&&>(operation)), static_cast<any_io_executor&&>(home));
}
/// As above, and runs and completes on `where`: an executor, or an object that has one.
template <beck::detail::scoped_awaitable Op, beck::detail::execution_place Where>
auto as_sender(Op operation, Where&& where) {
  return detail::op_sender<detail::one_shot<Op>, false, true>(
      detail::one_shot<Op>(static_cast<Op&&>(operation)), beck::detail::executor_at(where));
}
/// As above, again and again: `make` returns the operation when the sender is started, on the
/// executor if it is known, else inside start().
template <detail::makes_awaitable Make>
auto as_sender(Make make) {
  return detail::op_sender<detail::many_shots<Make>, false, false>(
      detail::many_shots<Make>(static_cast<Make&&>(make)), any_io_executor());
}
template <detail::makes_awaitable Make, beck::detail::execution_place Where>
auto as_sender(Make make, Where&& where) {
  return detail::op_sender<detail::many_shots<Make>, false, true>(
      detail::many_shots<Make>(static_cast<Make&&>(make)), beck::detail::executor_at(where));
}

/// Returns a sender of the whole result: `set_value(io_result<...>)`, also if it has an error, so
/// that the bytes that have moved are known. Sends set_stopped only if a stop was requested and no
/// byte has moved. Everything else as as_sender().
template <beck::detail::scoped_awaitable Op>
auto as_result_sender(Op operation) {
  any_io_executor home = detail::home_of(operation);
  return detail::op_sender<detail::one_shot<Op>, true, detail::has_home<Op>>(
      detail::one_shot<Op>(static_cast<Op&&>(operation)), static_cast<any_io_executor&&>(home));
}
template <detail::makes_awaitable Make>
auto as_result_sender(Make make) {
  return detail::op_sender<detail::many_shots<Make>, true, false>(
      detail::many_shots<Make>(static_cast<Make&&>(make)), any_io_executor());
}

}  // namespace functions
using namespace functions;

}  // namespace BECK_EXECUTION_VOCABULARY
}  // namespace beck::execution
