// SPDX-License-Identifier: BSL-1.0
// repeat_until: a loop of senders that keeps the stack bounded and lets other handlers run. Its
// child may complete inside start() any number of times, because each round returns to the loop. A
// round without an operation of beck costs budget, too, as those of senders of other libraries.
#pragma once

#include <beck/detail/initiating_call.hpp>
#include <beck/interop/execution/scheduler.hpp>
#include <beck/run/post.hpp>
#include <exception>
#include <optional>
#include <variant>

namespace beck::execution {
inline namespace BECK_EXECUTION_VOCABULARY {

namespace detail {

/// The error in a signature; std::monostate if that has none.
template <class Signature>
struct error_of {
  using type = std::monostate;
};
template <class Error>
struct error_of<set_error_t(Error)> {
  using type = std::decay_t<Error>;
};
template <class Signature>
using error_in = typename error_of<Signature>::type;

/// A signature whose values are dropped.
template <class Signature>
struct dropped_values {
  using type = Signature;
};
template <class... T>
struct dropped_values<set_value_t(T...)> {
  using type = set_value_t();
};
template <class Signature>
using without_values = typename dropped_values<Signature>::type;

template <class Child, class Receiver>
class repeat_state : beck::detail::queue_entry {
  using initiating_call = beck::detail::initiating_call;
  enum class outcome : unsigned char { again, ended, failed, stopped };

  struct child_receiver {
    using receiver_concept = receiver_tag;
    repeat_state* self;
    void set_value() noexcept { self->completed(outcome::again); }
    void set_value(bool is_last) noexcept {
      self->completed(is_last ? outcome::ended : outcome::again);
    }
    template <class Error>
    void set_error(Error&& error) noexcept {
      self->error_.template emplace<std::decay_t<Error>>(static_cast<Error&&>(error));
      self->completed(outcome::failed);
    }
    void set_stopped() noexcept { self->completed(outcome::stopped); }
    env_of_t<Receiver> get_env() const noexcept { return execution::get_env(self->receiver_); }
  };

  using child_state = connect_result_t<const Child&, child_receiver>;

 public:
  using operation_state_concept = operation_state_tag;

  repeat_state(Child child, Receiver&& receiver)
      : queue_entry{nullptr, &go_on},
        child_(static_cast<Child&&>(child)),
        receiver_(static_cast<Receiver&&>(receiver)) {}
  repeat_state(repeat_state&&) = delete;

  void start() & noexcept { loop(); }

 private:
  void loop() noexcept {
    for (;;) {
      beck::detail::runner* const where = beck::detail::runner::current();
      const unsigned before = where != nullptr ? where->budget() : 0;
      try {
        state_.emplace(in_place{
            [this] { return execution::connect(std::as_const(child_), child_receiver{this}); }});
      } catch (...) {
        error_.template emplace<std::exception_ptr>(std::current_exception());
        outcome_ = outcome::failed;
        return finish();
      }
      const bool inside =
          beck::detail::completes_inside(this, [this] { execution::start(*state_); });
      if (!inside) return;  // another thread may have ended this object
      if (outcome_ != outcome::again) return finish();
      if (where == nullptr || where != beck::detail::runner::current()) continue;
      if (where->budget() == before && where->spend(beck::detail::runner::memory_weight)) continue;
      if (where->budget() != 0) continue;
      if (const any_io_executor here = executor_here(*where)) return here.post(this);
    }
  }
  /// Returns the executor on which the loop goes on: that of the receiver's scheduler, if it is one
  /// of beck and this thread is inside it, else that of the context.
  any_io_executor executor_here(const beck::detail::runner& where) const noexcept {
    any_io_executor start = detail::start_executor(get_env(receiver_));
    if (start && start.running_in_this_thread()) return start;
    return where.ambient != nullptr ? where.ambient->executor() : any_io_executor();
  }
  static void go_on(beck::detail::queue_entry* entry, beck::detail::runner* where) {
    auto& self = *static_cast<repeat_state*>(entry);
    if (where != nullptr) return self.loop();
    self.outcome_ = outcome::stopped;
    self.finish();
  }

  void completed(outcome how) noexcept {
    outcome_ = how;
    if (auto* const call = initiating_call::of(this); call != nullptr) {
      return call->end_with(initiating_call::outcome::completed);  // loop() goes on
    }
    how == outcome::again ? loop() : finish();
  }
  void finish() noexcept {
    state_.reset();
    switch (outcome_) {
      case outcome::again:
        return;  // never
      case outcome::ended:
        return execution::set_value(static_cast<Receiver&&>(receiver_));
      case outcome::stopped:
        return execution::set_stopped(static_cast<Receiver&&>(receiver_));
      case outcome::failed:
        break;
    }
    auto error = static_cast<errors&&>(error_);
    std::visit(
        [this]<class Error>(Error& held) noexcept {
          if constexpr (!std::is_same_v<Error, std::monostate>) {
            execution::set_error(static_cast<Receiver&&>(receiver_), static_cast<Error&&>(held));
          }
        },
        error);
  }

  template <class Signatures>
  struct errors_of;
  template <class... S>
  struct errors_of<completion_signatures<S...>>
      : append_new<std::variant<std::monostate, std::exception_ptr>, error_in<S>...> {};
  using errors = typename errors_of<signatures_of<const Child&, env_of_t<child_receiver>>>::type;

  Child child_;
  Receiver receiver_;
  std::optional<child_state> state_;
  errors error_;
  outcome outcome_ = outcome::again;
};

/// The signatures of the loop: those of the child, with set_value() for its values, and an
/// exception of the child's connect.
template <class List>
struct repeat_signatures;
template <class... S>
struct repeat_signatures<completion_signatures<S...>>
    : append_new<
          completion_signatures<set_value_t(), set_error_t(std::exception_ptr), set_stopped_t()>,
          without_values<S>...> {};

template <class Child>
class [[nodiscard]] repeat_sender {
 public:
  using sender_concept = sender_tag;

  explicit repeat_sender(Child child) : child_(static_cast<Child&&>(child)) {}

  template <class Self, class... Env>
  static consteval auto get_completion_signatures() {
    return typename repeat_signatures<signatures_of<const Child&, Env...>>::type();
  }
  template <class Receiver>
  repeat_state<Child, std::decay_t<Receiver>> connect(Receiver&& receiver) && {
    return {static_cast<Child&&>(child_),
            std::decay_t<Receiver>(static_cast<Receiver&&>(receiver))};
  }
  template <class Receiver>
  repeat_state<Child, std::decay_t<Receiver>> connect(Receiver&& receiver) const&
    requires std::copy_constructible<Child>
  {
    return {child_, std::decay_t<Receiver>(static_cast<Receiver&&>(receiver))};
  }

 private:
  Child child_;
};

}  // namespace detail

namespace functions {

/// Returns a sender that starts `child` again and again, until it sends true; if it sends nothing,
/// for ever. `child` is connected as a const lvalue, so that an operation of beck takes the form
/// as_sender([...] { return operation; }). An error or a stop of the child ends the loop.
/// Stack: bounded, also if the child always completes inside start(). Fairness: inside an executor
/// of beck the rounds cost budget; without budget the loop goes through the queue of the receiver's
/// start scheduler, if that is of beck and runs it, else of the context (of the context, not the
/// strand, that runs it). On other threads it does not give way.
template <detail::any_sender Child>
auto repeat_until(Child child) {
  return detail::repeat_sender<Child>(static_cast<Child&&>(child));
}

}  // namespace functions
using namespace functions;

}  // namespace BECK_EXECUTION_VOCABULARY
}  // namespace beck::execution
