// SPDX-License-Identifier: BSL-1.0
// Executors of beck as schedulers: schedule(), and points in time on the executor's clock.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/detail/sender_wait.hpp>
#include <beck/interop/execution/affine.hpp>
#include <beck/interop/execution/vocabulary.hpp>
#include <beck/run/post.hpp>

namespace beck::execution {
inline namespace BECK_EXECUTION_VOCABULARY {

class scheduler;

namespace detail {

/// The attributes of a sender that completes on an executor of beck.
class completes_on {
 public:
  explicit completes_on(any_io_executor home) noexcept
      : home_(static_cast<any_io_executor&&>(home)) {}
  template <class Completion>
  scheduler query(get_completion_scheduler_t<Completion>, auto&&...) const noexcept;

 private:
  any_io_executor home_;
};
/// The attributes of a sender that sends values and errors on an executor of beck. Where it sends
/// set_stopped is not said: inside start(), if the stop was requested before.
class results_on : completes_on {
 public:
  using completes_on::completes_on;
  template <class Completion>
    requires(!std::is_same_v<Completion, set_stopped_t>)
  scheduler query(get_completion_scheduler_t<Completion> which, auto&&...) const noexcept;
};
/// The attributes of a sender of which that is not known before it starts.
struct completes_anywhere {};

template <class Receiver>
class schedule_state : beck::detail::queue_entry {
  static constexpr bool stoppable = can_stop<env_of_t<Receiver>>;

 public:
  using operation_state_concept = operation_state_tag;

  schedule_state(any_io_executor home, Receiver&& receiver)
      : queue_entry{nullptr, &arrive},
        home_(static_cast<any_io_executor&&>(home)),
        receiver_(static_cast<Receiver&&>(receiver)) {}
  schedule_state(schedule_state&&) = delete;

  void start() & noexcept {
    const any_io_executor home = home_;
    home.post(this);
  }

 private:
  static void arrive(queue_entry* entry, beck::detail::runner* where) {
    auto& self = *static_cast<schedule_state*>(entry);
    if constexpr (stoppable) {
      if (where == nullptr || detail::stop_token_in(get_env(self.receiver_)).stop_requested()) {
        return execution::set_stopped(static_cast<Receiver&&>(self.receiver_));
      }
    }
    if (where == nullptr) return;  // nothing can be sent to a receiver that knows of no stop
    ++where->counters.delivered;
    execution::set_value(static_cast<Receiver&&>(self.receiver_));
  }

  any_io_executor home_;
  Receiver receiver_;
};

class schedule_sender {
 public:
  using sender_concept = sender_tag;

  explicit schedule_sender(any_io_executor home) noexcept
      : home_(static_cast<any_io_executor&&>(home)) {}
  template <class Self, class... Env>
  static consteval auto get_completion_signatures() noexcept {
    if constexpr (sizeof...(Env) == 1 && (!can_stop<Env> && ...)) {
      return completion_signatures<set_value_t()>();
    } else {
      return completion_signatures<set_value_t(), set_stopped_t()>();
    }
  }
  template <class Receiver>
  schedule_state<std::decay_t<Receiver>> connect(Receiver&& receiver) const {
    return {home_, std::decay_t<Receiver>(static_cast<Receiver&&>(receiver))};
  }
  completes_on get_env() const noexcept { return completes_on(home_); }
  /// Returns the sender for coroutines of other libraries.
  affine_sender<schedule_sender> affine() const { return affine_sender<schedule_sender>(*this); }

 private:
  any_io_executor home_;
};

}  // namespace detail

/// An executor of beck as a scheduler. A value of two words. Equality is the executor's.
/// schedule() completes on the executor, after the entries that are queued there; it sends
/// set_stopped if a stop was requested before that, or the context is destroyed, and has no error.
/// A receiver that cannot be stopped is not completed by a context that is destroyed.
/// schedule_after() and schedule_at() are in interop/execution/schedule_after.hpp.
class scheduler {
 public:
  using scheduler_concept = scheduler_tag;

  explicit scheduler(any_io_executor executor) noexcept
      : executor_(static_cast<any_io_executor&&>(executor)) {}

  detail::schedule_sender schedule() const noexcept { return detail::schedule_sender(executor_); }
  /// Returns a sender that completes when `after` has passed; see schedule_after.hpp.
  auto schedule_after(duration after) const;
  /// Returns a sender that completes at the point in time `at`; see schedule_after.hpp.
  auto schedule_at(time_point at) const;

  /// Returns the executor.
  const any_io_executor& get_executor() const noexcept { return executor_; }

  /// Returns parallel: a context runs on one agent, which a handler may block.
  static constexpr forward_progress_guarantee query(get_forward_progress_guarantee_t) noexcept {
    return forward_progress_guarantee::parallel;
  }
  template <class Completion>
  scheduler query(get_completion_scheduler_t<Completion>, auto&&...) const noexcept {
    return *this;
  }
  friend bool operator==(const scheduler&, const scheduler&) noexcept = default;

 private:
  any_io_executor executor_;
};

template <class Completion>
scheduler detail::completes_on::query(get_completion_scheduler_t<Completion>,
                                      auto&&...) const noexcept {
  return scheduler(home_);
}
template <class Completion>
  requires(!std::is_same_v<Completion, set_stopped_t>)
scheduler detail::results_on::query(get_completion_scheduler_t<Completion> which,
                                    auto&&...) const noexcept {
  return completes_on::query(which);
}

namespace functions {

/// Returns the scheduler of an executor, or of an object that has one: a context, a strand, a pool.
template <beck::detail::execution_place Where>
scheduler scheduler_of(Where&& where) {
  return scheduler(beck::detail::executor_at(where));
}

}  // namespace functions
using namespace functions;

namespace detail {
namespace functions {

/// Returns the executor of an environment's start scheduler; empty unless that is one of beck.
template <class Env>
any_io_executor start_executor(const Env& env) {
  any_io_executor found;
  if constexpr (requires { scheduler(env.query(get_start_scheduler_t())); }) {
    found = scheduler(env.query(get_start_scheduler_t())).get_executor();
  }
  return found;
}

}  // namespace functions
using namespace functions;
}  // namespace detail

}  // namespace BECK_EXECUTION_VOCABULARY
}  // namespace beck::execution
