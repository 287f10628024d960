// SPDX-License-Identifier: BSL-1.0
// co_composed: an operation written as a coroutine, for async_initiate. The coroutine co_awaits
// operations, ends with `co_return {results...}` or `co_yield state.complete(results...)`, and is
// owned until then by the handler of the operation that it waits for.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <beck/asio/compose.hpp>
#include <beck/asio/config.hpp>
#include <beck/asio/error.hpp>
#include <beck/asio/executor.hpp>
#include <beck/asio/token.hpp>

BECK_ASIO_BEGIN

namespace facade {

/// The work of a coroutine that has just suspended: to start an operation, or to complete.
struct co_step {
  void (*run)(void* object) = nullptr;
  void* object = nullptr;
};

/// The results of state.complete(), until the coroutine has suspended.
template <class... A>
struct co_completion {
  std::tuple<A&&...> results;
};

/// Throws the error that an operation's results begin with, if there is one, and returns the other
/// results: nothing, one value, or a tuple.
template <class Results, std::size_t First, std::size_t... I>
auto co_values(Results& results, std::index_sequence<I...>) {
  if constexpr (sizeof...(I) == 1) {
    return std::get<First>(std::move(results));
  } else if constexpr (sizeof...(I) > 1) {
    return std::tuple<std::tuple_element_t<First + I, Results>...>(
        std::get<First + I>(std::move(results))...);
  }
}
template <class... A>
auto co_result(std::tuple<A...>& results) {
  return co_values<std::tuple<A...>, 0>(results, std::index_sequence_for<A...>());
}
template <class... A>
auto co_result(std::tuple<beck::error_code, A...>& results) {
  if (std::get<0>(results)) throw system_error(std::get<0>(results));
  return co_values<std::tuple<beck::error_code, A...>, 1>(results, std::index_sequence_for<A...>());
}
template <class... A>
auto co_result(std::tuple<std::exception_ptr, A...>& results) {
  if (std::get<0>(results)) std::rethrow_exception(std::get<0>(std::move(results)));
  return co_values<std::tuple<std::exception_ptr, A...>, 1>(results,
                                                            std::index_sequence_for<A...>());
}

template <std::size_t Places, class Handler, class... Signatures>
class co_promise;

/// One signature of a coroutine: its co_return, and its results if it is cancelled.
template <class Promise, class Signature>
class co_return_of;
template <class Promise, class R, class... A>
class co_return_of<Promise, R(A...)> {
 public:
  /// Completes with `results` when the coroutine has suspended for the last time.
  void return_value(std::tuple<A...>&& results) {
    results_.emplace(std::move(results));
    promise().then({&complete, this});
  }
  /// Completes with these results if the coroutine suspends after it was cancelled.
  void complete_if_cancelled(A... results) {
    results_.emplace(static_cast<A&&>(results)...);
    promise().if_cancelled({&complete, this});
  }
  /// As above, with operation_aborted, if the signature begins with an error.
  void complete_if_cancelled_by_default() {
    if constexpr ((std::is_default_constructible_v<A> && ...)) by_default(std::tuple<A...>());
  }

 private:
  Promise& promise() noexcept { return static_cast<Promise&>(*this); }
  static void complete(void* self) {
    auto& me = *static_cast<co_return_of*>(self);
    me.promise().complete(std::tuple<A...>(std::move(*me.results_)));
  }
  void by_default(const std::tuple<>&) {}
  template <class First, class... Rest>
  void by_default(std::tuple<First, Rest...> results) {
    if constexpr (std::is_same_v<First, beck::error_code>) {
      std::get<0>(results) = error::operation_aborted;
    } else if constexpr (std::is_same_v<First, std::exception_ptr>) {
      std::get<0>(results) =
          std::make_exception_ptr(system_error(error::operation_aborted, "co_await"));
    } else {
      return;
    }
    if (promise().completes_if_cancelled()) return;
    std::apply([this](auto&&... each) { complete_if_cancelled(std::move(each)...); },
               std::move(results));
  }

  std::optional<std::tuple<A...>> results_;
};

/// All signatures of a coroutine; without one it may only end by co_yield.
template <class Promise, class... Signatures>
class co_returns : public co_return_of<Promise, Signatures>... {
 public:
  using co_return_of<Promise, Signatures>::complete_if_cancelled...;
  using co_return_of<Promise, Signatures>::return_value...;

 protected:
  void set_default() {
    (co_return_of<Promise, Signatures>::complete_if_cancelled_by_default(), ...);
  }
};
template <class Promise>
class co_returns<Promise> {
 public:
  void return_void() noexcept {}

 protected:
  void set_default() noexcept {}
};

/// The first argument of the coroutine: its final handler, executors and cancellation. It is moved
/// into the frame of the coroutine.
template <std::size_t Places, class Handler, class... Signatures>
class co_state {
 public:
  using io_executor_type = beck::any_io_executor;
  using executor_type = beck::any_io_executor;
  using cancellation_slot_type = cancellation_slot;
  using allocator_type = beck::associated_allocator_t<Handler>;

  co_state(Handler&& handler, const beck::any_io_executor (&places)[Places],
           co_promise<Places, Handler, Signatures...>** made)
      : handler_(std::move(handler)), io_executor_(places[0]), made_(made) {
    for (const beck::any_io_executor& place : places) work_.add(place);
    work_.add(get_executor());
    reset_cancellation_state();
  }

  /// Returns the executor of the first I/O object.
  io_executor_type get_io_executor() const noexcept { return io_executor_; }
  /// Returns the executor of the steps: the final handler's, else that of the first I/O object.
  executor_type get_executor() const noexcept {
    return beck::get_associated_executor(handler_, io_executor_);
  }
  /// Returns the final handler's allocator.
  allocator_type get_allocator() const noexcept { return beck::get_associated_allocator(handler_); }

  /// Returns the slot for the operations inside.
  cancellation_slot_type get_cancellation_slot() const noexcept { return cancellation_.slot(); }
  /// Returns the state of the cancellation.
  cancellation_state get_cancellation_state() const noexcept { return cancellation_; }
  /// Passes on the requests that `filter` lets pass; without one, terminal requests.
  template <class... Filter>
  void reset_cancellation_state(Filter... filter) {
    cancellation_ = cancellation_state(beck::get_associated_cancellation_slot(handler_), filter...);
  }
  /// Returns the requests so far that passed the filter.
  cancellation_type cancelled() const noexcept { return cancellation_.cancelled(); }
  /// Removes the handler of the operation inside from its slot.
  void clear_cancellation_slot() noexcept { cancellation_.slot().clear(); }

  /// Returns whether a co_await after a cancellation throws operation_aborted; by default false.
  bool throw_if_cancelled() const noexcept { return throws_; }
  /// Sets it.
  void throw_if_cancelled(bool throws) noexcept { throws_ = throws; }
  /// Returns whether a co_await after a cancellation completes the operation; by default true.
  bool complete_if_cancelled() const noexcept { return completes_; }
  /// Sets it.
  void complete_if_cancelled(bool completes) noexcept { completes_ = completes; }
  /// Sets the results of a co_await after a cancellation. By default they are operation_aborted and
  /// default values, if a signature begins with an error.
  template <class... A>
  void on_cancellation_complete_with(A&&... results) {
    promise_->complete_if_cancelled(static_cast<A&&>(results)...);
  }

  /// Returns the object with which `co_yield` ends the operation.
  template <class... A>
  [[nodiscard]] co_completion<A...> complete(A&&... results) {
    return {std::tuple<A&&...>(static_cast<A&&>(results)...)};
  }

 private:
  friend co_promise<Places, Handler, Signatures...>;

  Handler handler_;
  io_executor_type io_executor_;
  co_promise<Places, Handler, Signatures...>** made_;  // where the promise says that it was made
  co_promise<Places, Handler, Signatures...>* promise_ = nullptr;
  beck::detail::composed_work<Places + 1> work_;
  cancellation_state cancellation_;
  bool throws_ = false, completes_ = true;
};

/// The handler of an operation inside the coroutine. It owns the frame until it is called.
template <class Promise, class Signature>
class co_handler;
template <class Promise, class R, class... A>
class co_handler<Promise, R(A...)> {
 public:
  using executor_type = beck::any_io_executor;
  using cancellation_slot_type = cancellation_slot;
  using allocator_type = typename Promise::state_type::allocator_type;

  explicit co_handler(Promise& promise) noexcept : promise_(&promise) {}
  co_handler(co_handler&& other) noexcept : promise_(std::exchange(other.promise_, nullptr)) {}
  co_handler& operator=(co_handler&&) = delete;
  ~co_handler() {
    if (promise_ != nullptr) promise_->destroy();
  }

  executor_type get_executor() const noexcept { return promise_->state().get_executor(); }
  cancellation_slot_type get_cancellation_slot() const noexcept {
    return promise_->state().get_cancellation_slot();
  }
  allocator_type get_allocator() const noexcept { return promise_->state().get_allocator(); }

  void operator()(A... results) {
    std::tuple<std::decay_t<A>...> kept(static_cast<A&&>(results)...);
    std::exchange(promise_, nullptr)->go(&kept);
  }

 private:
  Promise* promise_;
};

/// The co_await of an operation.
template <class Promise, class Operation, class Signature>
class co_await_of;
template <class Promise, class Operation, class R, class... A>
class [[nodiscard]] co_await_of<Promise, Operation, R(A...)> {
 public:
  co_await_of(Promise& promise, Operation&& operation)
      : promise_(promise), operation_(static_cast<Operation&&>(operation)) {}
  static constexpr bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) noexcept { promise_.then_start({&start, this}); }
  auto await_resume() {
    return co_result(*static_cast<std::tuple<std::decay_t<A>...>*>(promise_.results()));
  }

 private:
  static void start(void* self) {
    auto& me = *static_cast<co_await_of*>(self);
    static_cast<Operation&&>(me.operation_)(co_handler<Promise, R(A...)>(me.promise_));
  }

  Promise& promise_;
  Operation&& operation_;
};

/// The promise of the coroutine.
template <std::size_t Places, class Handler, class... Signatures>
class co_promise : public co_returns<co_promise<Places, Handler, Signatures...>, Signatures...> {
  using block = std::max_align_t;
  static constexpr std::size_t blocks(std::size_t bytes) noexcept {
    return (bytes + sizeof(block) - 1) / sizeof(block);
  }

 public:
  using state_type = co_state<Places, Handler, Signatures...>;

  /// The coroutine is a function...
  template <class... A>
  explicit co_promise(state_type& state, A&&...) : state_(state) {
    state_.promise_ = this;
    *state_.made_ = this;
    this->set_default();
  }
  /// ... or a function object.
  template <class Function, class... A>
    requires(!std::is_same_v<std::remove_cvref_t<Function>, state_type>)
  co_promise(Function&&, state_type& state, A&&...) : co_promise(state) {}

  static void* operator new(std::size_t bytes) {
    return beck::recycling_allocator<block>().allocate(blocks(bytes));
  }
  static void operator delete(void* frame, std::size_t bytes) noexcept {
    beck::recycling_allocator<block>().deallocate(static_cast<block*>(frame), blocks(bytes));
  }

  void get_return_object() noexcept {}
  std::suspend_always initial_suspend() noexcept { return {}; }
  std::suspend_always final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { error_ = std::current_exception(); }

  /// Starts an operation, and resumes the coroutine with its results.
  template <beck::async_operation Operation>
  auto await_transform(Operation&& operation) {
    if (state_.throws_ && !!state_.cancelled()) {
      throw system_error(error::operation_aborted, "co_await");
    }
    using signature = beck::completion_signature_of_t<Operation>;
    return co_await_of<co_promise, Operation, signature>(*this,
                                                         static_cast<Operation&&>(operation));
  }
  /// Ends the coroutine, and calls the final handler.
  template <class... A>
  auto yield_value(co_completion<A...>&& completion) {
    struct [[nodiscard]] last_wait {
      co_promise& promise;
      std::tuple<A&&...> results;
      static constexpr bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<>) noexcept { promise.then({&complete_now, this}); }
      void await_resume() noexcept {}
      static void complete_now(void* self) {
        auto& me = *static_cast<last_wait*>(self);
        me.promise.complete(std::tuple<std::decay_t<A>...>(std::move(me.results)));
      }
    };
    return last_wait{*this, std::move(completion.results)};
  }

  /// Runs the coroutine until it suspends, then does what it waits for. Throws the exception that
  /// has left the coroutine, whose frame is gone then.
  void go(void* results) {
    results_ = results;
    step_ = {};
    state_.clear_cancellation_slot();
    std::coroutine_handle<co_promise>::from_promise(*this).resume();
    if (error_) {
      const std::exception_ptr error = error_;
      destroy();
      std::rethrow_exception(error);
    }
    if (step_.run == nullptr) return destroy();  // it has returned without results
    step_.run(step_.object);
  }
  void destroy() noexcept { std::coroutine_handle<co_promise>::from_promise(*this).destroy(); }
  /// Calls the final handler when the frame is gone.
  template <class... A>
  void complete(std::tuple<A...> results) {
    Handler handler(std::move(state_.handler_));
    destroy();
    std::apply(std::move(handler), std::move(results));
  }

  state_type& state() noexcept { return state_; }
  void* results() const noexcept { return results_; }
  void then(co_step step) noexcept { step_ = step; }
  /// As then(), but completes if the operation was cancelled.
  void then_start(co_step step) noexcept {
    const bool ends = state_.completes_ && !!state_.cancelled() && completes_if_cancelled();
    step_ = ends ? if_cancelled_ : step;
  }
  void if_cancelled(co_step step) noexcept { if_cancelled_ = step; }
  bool completes_if_cancelled() const noexcept { return if_cancelled_.run != nullptr; }

 private:
  state_type& state_;
  void* results_ = nullptr;  // of the operation that was awaited last
  co_step step_, if_cancelled_;
  std::exception_ptr error_;
};

/// Starts coroutines of an `Implementation`.
template <class Implementation, std::size_t Places, class... Signatures>
class co_start {
 public:
  using executor_type = beck::any_io_executor;

  template <class I, class... P>
  explicit co_start(I&& implementation, P&&... places)
      : implementation_(static_cast<I&&>(implementation)),
        places_{beck::detail::executor_at(places)...} {}
  executor_type get_executor() const noexcept { return places_[0]; }

  template <class Handler, class... Args>
  void operator()(Handler&& handler, Args&&... args) {
    using handler_type = std::decay_t<Handler>;
    if (!places_[0] && beck::detail::runner::current() != nullptr) {
      places_[0] = beck::detail::current_executor();
    }
    co_promise<Places, handler_type, Signatures...>* made = nullptr;
    implementation_(co_state<Places, handler_type, Signatures...>(
                        handler_type(static_cast<Handler&&>(handler)), places_, &made),
                    static_cast<Args&&>(args)...);
    made->go(nullptr);
  }

 private:
  Implementation implementation_;
  beck::any_io_executor places_[Places];
};

}  // namespace facade

/// Returns a function object for async_initiate that starts a coroutine: `implementation(state,
/// args...)`, whose return type is void. `places`: the I/O objects or executors that it uses. It
/// runs in the initiating function until its first co_await. A co_await of an operation throws the
/// error that its results begin with. An exception that leaves the coroutine leaves the function
/// that has resumed it, such as run().
template <class... Signatures, class Implementation, class... Places>
auto co_composed(Implementation&& implementation, Places&&... places) {
  constexpr std::size_t count = sizeof...(Places) == 0 ? 1 : sizeof...(Places);
  return facade::co_start<std::decay_t<Implementation>, count,
                          facade::beck_signature<Signatures>...>(
      static_cast<Implementation&&>(implementation), places...);
}

namespace experimental {

using BECK_ASIO::co_composed;

}  // namespace experimental

BECK_ASIO_END

template <std::size_t Places, class Handler, class... Signatures, class... Args>
struct std::coroutine_traits<void, BECK_ASIO::facade::co_state<Places, Handler, Signatures...>,
                             Args...> {
  using promise_type = BECK_ASIO::facade::co_promise<Places, Handler, Signatures...>;
};
template <class Function, std::size_t Places, class Handler, class... Signatures, class... Args>
struct std::coroutine_traits<void, Function&,
                             BECK_ASIO::facade::co_state<Places, Handler, Signatures...>, Args...> {
  using promise_type = BECK_ASIO::facade::co_promise<Places, Handler, Signatures...>;
};
