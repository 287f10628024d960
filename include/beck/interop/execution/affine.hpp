// SPDX-License-Identifier: BSL-1.0
// affine_sender: a sender that completes on the scheduler where it was started. Coroutines of the
// program's library ask senders for it by the member affine() (P3941), and send all others through
// the queue of their scheduler. This one does so only if the completion is elsewhere.
#pragma once

#include <beck/detail/initiating_call.hpp>
#include <beck/interop/execution/vocabulary.hpp>
#include <beck/run/any_io_executor.hpp>
#include <exception>
#include <optional>
#include <tuple>
#include <variant>

namespace beck::execution {
inline namespace BECK_EXECUTION_VOCABULARY {

namespace detail {

namespace functions {
template <class Env>
any_io_executor start_executor(const Env& env);  // in scheduler.hpp
}  // namespace functions
using namespace functions;

/// A completion that is kept until it can be sent.
template <class Tag, class... Values>
struct kept_completion {
  std::tuple<Values...> values;

  /// The values leave this object first: the receiver may end its life.
  template <class Receiver>
  void send(Receiver&& receiver) noexcept {
    std::apply(
        [&](auto&&... each) { Tag()(static_cast<Receiver&&>(receiver), std::move(each)...); },
        std::tuple<Values...>(std::move(values)));
  }
};
template <class Signature>
struct kept;
template <class Tag, class... A>
struct kept<Tag(A...)> {
  using type = kept_completion<Tag, std::decay_t<A>...>;
  static constexpr bool is_nothrow = ((std::is_nothrow_constructible_v<std::decay_t<A>, A> &&
                                       std::is_nothrow_move_constructible_v<std::decay_t<A>>) &&
                                      ...);
};

/// A place for a completion of one of the signatures.
template <class Signatures>
struct completion_place;
template <class... S>
struct completion_place<completion_signatures<S...>>
    : append_new<std::variant<std::monostate>, typename kept<S>::type...> {};

/// The signatures of a sender that may keep its completions.
template <class Signatures>
struct affine_completions;
template <class... S>
struct affine_completions<completion_signatures<S...>> {
  static constexpr bool is_nothrow = (kept<S>::is_nothrow && ...);
  using signatures = std::conditional_t<
      is_nothrow, completion_signatures<S...>,
      typename append_new<completion_signatures<S...>, set_error_t(std::exception_ptr)>::type>;
  using place = typename completion_place<signatures>::type;
};

template <class Child, class Receiver>
class affine_state {
  using env = env_of_t<Receiver>;
  using completions = affine_completions<signatures_of<Child, env>>;

  struct child_receiver {
    using receiver_concept = receiver_tag;
    affine_state* self;
    template <class... T>
    void set_value(T&&... values) noexcept {
      self->template complete<set_value_t>(static_cast<T&&>(values)...);
    }
    template <class Error>
    void set_error(Error&& error) noexcept {
      self->template complete<set_error_t>(static_cast<Error&&>(error));
    }
    void set_stopped() noexcept { self->template complete<set_stopped_t>(); }
    env get_env() const noexcept { return execution::get_env(self->receiver_); }
  };
  /// Has no stop token: a result that is kept must not be lost.
  struct arrival_receiver {
    using receiver_concept = receiver_tag;
    affine_state* self;
    void set_value() noexcept { self->send_kept(); }
  };
  using start_scheduler = decltype(std::declval<const env&>().query(get_start_scheduler_t()));
  using way_back = decltype(execution::schedule(std::declval<start_scheduler>()));

 public:
  using operation_state_concept = operation_state_tag;

  affine_state(Child&& child, Receiver&& receiver)
      : receiver_(static_cast<Receiver&&>(receiver)),
        child_(execution::connect(static_cast<Child&&>(child), child_receiver{this})) {}
  affine_state(affine_state&&) = delete;

  void start() & noexcept {
    const beck::detail::initiating_call call(this);
    execution::start(child_);  // afterwards the state may be gone
  }

 private:
  /// Returns whether the calling thread is where the sender was started.
  bool is_back() const noexcept {
    if (beck::detail::initiating_call::of(this) != nullptr) return true;
    const any_io_executor start = detail::start_executor(execution::get_env(receiver_));
    return start && start.running_in_this_thread();
  }

  template <class Tag, class... A>
  void complete(A&&... arguments) noexcept {
    if (is_back()) return Tag()(static_cast<Receiver&&>(receiver_), static_cast<A&&>(arguments)...);
    if constexpr (completions::is_nothrow) {
      keep<Tag>(static_cast<A&&>(arguments)...);
    } else {
      try {
        keep<Tag>(static_cast<A&&>(arguments)...);
      } catch (...) {
        keep<set_error_t>(std::current_exception());
      }
    }
    way_back_.emplace(in_place{[this] {
      return execution::connect(
          execution::schedule(execution::get_env(receiver_).query(get_start_scheduler_t())),
          arrival_receiver{this});
    }});
    execution::start(*way_back_);
  }
  template <class Tag, class... A>
  void keep(A&&... arguments) {
    using completion = kept_completion<Tag, std::decay_t<A>...>;
    kept_.template emplace<completion>(
        completion{std::tuple<std::decay_t<A>...>(static_cast<A&&>(arguments)...)});
  }
  void send_kept() noexcept {
    std::visit(
        [this]<class Kept>(Kept& completion) {
          if constexpr (!std::is_same_v<Kept, std::monostate>) {
            completion.send(static_cast<Receiver&&>(receiver_));
          }
        },
        kept_);
  }

  Receiver receiver_;
  connect_result_t<Child, child_receiver> child_;
  std::optional<connect_result_t<way_back, arrival_receiver>> way_back_;
  typename completions::place kept_;
};

}  // namespace detail

/// A sender with the completions of `Child`, on the start scheduler of its receiver: inside the
/// completion of `Child` if that is there already, else after a turn of the scheduler's queue that
/// no stop ends. The member affine() of senders returns it.
/// Requires: the receiver has a start scheduler, whose schedule() cannot fail.
/// Errors: those of `Child`, and an exception if a value cannot be moved.
/// Memory: a place for the values in the operation state.
template <class Child>
class [[nodiscard]] affine_sender {
 public:
  using sender_concept = sender_tag;

  /// Takes over a sender.
  explicit affine_sender(Child child) : child_(static_cast<Child&&>(child)) {}

  template <class Self, class... Env>
  static consteval auto get_completion_signatures() noexcept {
    return typename detail::affine_completions<detail::signatures_of<Child, Env...>>::signatures();
  }
  template <class Receiver>
  detail::affine_state<Child, std::decay_t<Receiver>> connect(Receiver&& receiver) && {
    return {static_cast<Child&&>(child_),
            std::decay_t<Receiver>(static_cast<Receiver&&>(receiver))};
  }

 private:
  Child child_;
};

}  // namespace BECK_EXECUTION_VOCABULARY
}  // namespace beck::execution
