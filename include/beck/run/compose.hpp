// SPDX-License-Identifier: BSL-1.0
// async_compose: makes one asynchronous operation from several, written as one function object that
// is its own handler between the steps. With Asio's name and meaning.
#pragma once

#include <beck/detail/initiating_call.hpp>
#include <beck/run/post.hpp>
#include <beck/run/thread_pool.hpp>

namespace beck {

namespace detail {

/// Outstanding work on each distinct executor of a list.
template <std::size_t N>
class composed_work {
 public:
  composed_work() noexcept = default;
  composed_work(composed_work&&) noexcept = default;
  composed_work& operator=(composed_work&&) = delete;
  ~composed_work() { reset(); }

  void add(const any_io_executor& executor) noexcept {
    any_io_executor* free = executors_;
    while (*free && *free != executor) ++free;
    if (*free || !executor) return;
    *free = executor;
    executor.on_work_started();
  }
  void reset() noexcept {
    for (any_io_executor& executor : executors_) {
      if (!executor) return;
      any_io_executor(static_cast<any_io_executor&&>(executor)).on_work_finished();
    }
  }

 private:
  any_io_executor executors_[N + 1];  // the last one stays empty
};

/// The complete() of a composed operation `Op`.
template <class Signature, class Op>
class composed_end;

template <class... A, class Op>
class composed_end<void(A...), Op> {
 public:
  /// Ends the operation: calls the final handler. Inside the initiating function the call is queued
  /// instead, or goes to the immediate executor. Requires that `self` was not moved from; it is
  /// moved from after the call.
  void complete(A... results) {
    static_cast<Op*>(this)->complete_with(static_cast<A&&>(results)...);
  }
};

/// The signature of a composed operation that completes with any results its handler takes.
struct any_signature;

template <class Op>
class composed_end<any_signature, Op> {
 public:
  /// As above.
  template <class... A>
  void complete(A&&... results) {
    static_cast<Op*>(this)->complete_with(std::decay_t<A>(static_cast<A&&>(results))...);
  }
};

/// The `self` of a composed operation: the handler of its steps. Move-only; use it from one step to
/// the next as `std::move(self)`, and end the operation with self.complete(...).
template <class Signature, class Implementation, class Handler, std::size_t Places>
class composed_op
    : public composed_end<Signature, composed_op<Signature, Implementation, Handler, Places>> {
 public:
  using executor_type = any_io_executor;
  static constexpr bool only_keeps_result = false;

  template <class I, class H>
  composed_op(I&& implementation, H&& handler, const any_io_executor (&places)[Places],
              const initiating_call& call)
      : implementation_(static_cast<I&&>(implementation)),
        handler_(static_cast<H&&>(handler)),
        io_executor_(places[0]),
        call_(&call) {
    for (const any_io_executor& place : places) work_.add(place);
    work_.add(get_executor());
  }
  composed_op(composed_op&&) = default;
  composed_op& operator=(composed_op&&) = delete;

  /// Returns the executor of the steps: the final handler's, or that of the first I/O object.
  executor_type get_executor() const noexcept {
    return beck::get_associated_executor(handler_, io_executor_);
  }
  any_io_executor get_io_executor() const noexcept { return io_executor_; }
  /// Returns the final handler, whose allocator and immediate executor are used.
  const Handler& wrapped_handler() const noexcept { return handler_; }

  /// Runs the next step.
  template <class... T>
  void operator()(T&&... results) {
    implementation_(*this, static_cast<T&&>(results)...);
  }

  /// Calls the final handler, or queues the call: see complete().
  template <class... A>
  void complete_with(A&&... results) {
    if constexpr (!only_keeps_handlers_result) {
      if (initiating_call::encloses(call_)) [[unlikely]] {
        complete_inside(static_cast<A&&>(results)...);
        return;
      }
    }
    Handler handler(static_cast<Handler&&>(handler_));
    work_.reset();
    static_cast<Handler&&>(handler)(static_cast<A&&>(results)...);
  }

 protected:
  Implementation& implementation() noexcept { return implementation_; }
  Handler& handler() noexcept { return handler_; }

 private:
  static constexpr bool only_keeps_handlers_result = detail::only_keeps_result<Handler>;

  /// The final handler and its results, for a queue.
  template <class Call>
  class final_call {
   public:
    final_call(Handler&& handler, Call&& call)
        : handler_(static_cast<Handler&&>(handler)), call_(static_cast<Call&&>(call)) {}
    const Handler& wrapped_handler() const noexcept { return handler_; }
    void operator()() { call_(handler_); }

   private:
    Handler handler_;
    Call call_;
  };

  template <class... A>
  void complete_inside(A&&... results) {
    any_io_executor target = get_executor();
    if (!target) target = system_executor();
    auto call = [... results =
                     std::decay_t<A>(static_cast<A&&>(results))](Handler& handler) mutable {
      static_cast<Handler&&>(handler)(static_cast<std::decay_t<A>&&>(results)...);
    };
    if constexpr (has_immediate_executor<Handler>) {
      if (const immediate_level level; level) {
        level.charge(runner::memory_weight);
        const any_io_executor immediate(beck::get_associated_immediate_executor(handler_, target));
        const composed_work<Places + 1> ending(static_cast<composed_work<Places + 1>&&>(work_));
        immediate.execute(
            [handler = static_cast<Handler&&>(handler_),
             call = static_cast<decltype(call)&&>(call)]() mutable { call(handler); });
        return;
      }
    }
    detail::post_function(target, final_call<decltype(call)>(static_cast<Handler&&>(handler_),
                                                             static_cast<decltype(call)&&>(call)));
    work_.reset();
  }

  Implementation implementation_;
  Handler handler_;
  any_io_executor io_executor_;
  composed_work<Places + 1> work_;
  const initiating_call* call_;
};

template <class Signature, std::size_t Places>
class composed_initiation {
 public:
  using executor_type = any_io_executor;

  template <class... P>
  explicit composed_initiation(P&&... places) : places_{detail::executor_at(places)...} {}

  executor_type get_executor() const noexcept { return places_[0]; }

  /// Calls `implementation` with the `self` of the operation and with `args`.
  template <class Handler, class Implementation, class... Args>
  void operator()(Handler&& handler, Implementation&& implementation, Args&&... args) {
    using op_type =
        composed_op<Signature, std::decay_t<Implementation>, std::decay_t<Handler>, Places>;
    if (!places_[0] && runner::current() != nullptr) places_[0] = current_executor();
    const initiating_call call;
    op_type self(static_cast<Implementation&&>(implementation), static_cast<Handler&&>(handler),
                 places_, call);
    self(static_cast<Args&&>(args)...);
  }

 private:
  any_io_executor places_[Places];
};

}  // namespace detail

/// Starts an operation whose steps are calls of `implementation(self, results of the last
/// step...)`, the first one without results. `self` is the handler for the next step and has
/// complete(results of the operation). `places` are the I/O objects or executors that the operation
/// uses: outstanding work is counted on them until the operation completes, and it completes on the
/// first one if the token names no executor. Without a place that is the executor of the calling
/// handler; outside of every context the steps run where their operations complete, and an
/// operation that ends in its first step completes on the system_executor. Throws the exceptions of
/// the first step. Cancellation: that of its steps. Not guaranteed: that `implementation` stays at
/// one address; own objects that must not move through a pointer.
template <class Token, class Signature, class Implementation, class... Places>
auto async_compose(Implementation&& implementation, std::type_identity_t<Token>& token,
                   Places&&... places) {
  constexpr std::size_t count = sizeof...(Places) == 0 ? 1 : sizeof...(Places);
  return beck::async_initiate<Token, Signature>(
      detail::composed_initiation<Signature, count>(places...), token,
      static_cast<Implementation&&>(implementation));
}

}  // namespace beck
