// SPDX-License-Identifier: BSL-1.0
// require and prefer: the part of Asio's executor properties that programs use. Blocking and
// outstanding work change an executor. The relationship is a hint without effect here, because post
// and defer are the same. A property that is not offered cannot be required, and has no effect if
// it is only preferred.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <beck/detail/functions.hpp>
#include <beck/run/post.hpp>

namespace beck {
namespace execution {

/// Whether execute() may run a callable inside the call. It may, unless `never` was required. No
/// executor offers `always`.
struct blocking_t {
  /// The type of `possibly`.
  struct possibly_t {};
  /// The type of `never`.
  struct never_t {};
  /// The type of `always`.
  struct always_t {};
  /// execute() may run the callable inside the call.
  static constexpr possibly_t possibly{};
  /// execute() always queues the callable.
  static constexpr never_t never{};
  /// execute() returns when the callable has run; not offered.
  static constexpr always_t always{};
};
/// The property: `require(executor, execution::blocking.never)`.
inline constexpr blocking_t blocking{};

/// Whether a callable continues the present one. A hint without effect here.
struct relationship_t {
  /// The type of `fork`.
  struct fork_t {};
  /// The type of `continuation`.
  struct continuation_t {};
  /// The callable is independent.
  static constexpr fork_t fork{};
  /// The callable continues the present one.
  static constexpr continuation_t continuation{};
};
/// The property.
inline constexpr relationship_t relationship{};

/// Whether the executor keeps its context's run() from returning while it or a copy exists.
struct outstanding_work_t {
  /// The type of `untracked`.
  struct untracked_t {};
  /// The type of `tracked`.
  struct tracked_t {};
  /// The executor does not count as outstanding work.
  static constexpr untracked_t untracked{};
  /// The executor counts as outstanding work.
  static constexpr tracked_t tracked{};
};
/// The property.
inline constexpr outstanding_work_t outstanding_work{};

/// The property for query() that names the executor's execution_context.
struct context_t {};
/// The property: `query(executor, execution::context)`.
inline constexpr context_t context{};

}  // namespace execution

namespace detail {

/// An executor with other properties than the usual ones. Copyable, comparable; converts to
/// any_io_executor (one block), which keeps them. Thread: any.
template <bool NeverBlocks, bool Tracked>
class configured_executor {
 public:
  template <std::same_as<any_io_executor> E>  // exactly this type: the check must convert nothing
  explicit configured_executor(const E& inner) noexcept : inner_(inner) {
    start();
  }
  configured_executor(const configured_executor& other) noexcept : inner_(other.inner_) { start(); }
  configured_executor(configured_executor&& other) noexcept
      : inner_(static_cast<any_io_executor&&>(other.inner_)) {}
  configured_executor& operator=(configured_executor other) noexcept {
    std::swap(inner_, other.inner_);
    return *this;
  }
  ~configured_executor() {
    if constexpr (Tracked) {
      if (inner_) inner_.on_work_finished();
    }
  }

  template <class F>
  void execute(F&& function) const {
    detail::start_callback(schedule_operation(inner_, !NeverBlocks), static_cast<F&&>(function));
  }

  void on_work_started() const noexcept { inner_.on_work_started(); }
  void on_work_finished() const noexcept { inner_.on_work_finished(); }
  execution_context& context() const noexcept { return inner_.context(); }
  /// Returns the executor below, with the usual properties.
  const any_io_executor& get_inner_executor() const noexcept { return inner_; }

  friend bool operator==(const configured_executor& a, const configured_executor& b) noexcept {
    return a.inner_ == b.inner_;
  }

 private:
  void start() const noexcept {
    if constexpr (Tracked) {
      if (inner_) inner_.on_work_started();
    }
  }

  any_io_executor inner_;
};

namespace functions {

template <bool NeverBlocks, bool Tracked>
auto configure(const any_io_executor& inner) {
  if constexpr (NeverBlocks || Tracked) {
    return configured_executor<NeverBlocks, Tracked>(inner);
  } else {
    return inner;
  }
}

}  // namespace functions

/// The properties of an executor.
template <class E>
inline constexpr bool never_blocks = false;
template <bool T>
inline constexpr bool never_blocks<configured_executor<true, T>> = true;
template <class E>
inline constexpr bool tracks_work = false;
template <bool N>
inline constexpr bool tracks_work<configured_executor<N, true>> = true;

namespace functions {

template <class E>
const E& plain_executor(const E& executor) noexcept {
  return executor;
}
template <bool N, bool T>
const any_io_executor& plain_executor(const configured_executor<N, T>& executor) noexcept {
  return executor.get_inner_executor();
}

template <executor_like E>
auto with_property(const E& executor, execution::blocking_t::never_t) {
  return detail::configure<true, tracks_work<E>>(functions::plain_executor(executor));
}
template <executor_like E>
auto with_property(const E& executor, execution::blocking_t::possibly_t) {
  return detail::configure<false, tracks_work<E>>(functions::plain_executor(executor));
}
template <executor_like E>
auto with_property(const E& executor, execution::outstanding_work_t::tracked_t) {
  return detail::configure<never_blocks<E>, true>(functions::plain_executor(executor));
}
template <executor_like E>
auto with_property(const E& executor, execution::outstanding_work_t::untracked_t) {
  return detail::configure<never_blocks<E>, false>(functions::plain_executor(executor));
}
template <executor_like E>
E with_property(const E& executor, execution::relationship_t::fork_t) {
  return executor;
}
template <executor_like E>
E with_property(const E& executor, execution::relationship_t::continuation_t) {
  return executor;
}

}  // namespace functions

}  // namespace detail

/// Whether require() takes the property for executors of type E.
template <class E, class Property>
inline constexpr bool can_require_v =
    requires(const E& executor, Property property) { detail::with_property(executor, property); };

/// Returns the executor with this property; one that is not offered does not compile.
template <detail::executor_like E, class Property>
auto require(const E& executor, Property property) {
  static_assert(can_require_v<E, Property>, "this executor does not offer the required property");
  return detail::with_property(executor, property);
}
/// As above, with several properties.
template <detail::executor_like E, class First, class Second, class... More>
auto require(const E& executor, First first, Second second, More... more) {
  return beck::require(beck::require(executor, first), second, more...);
}

/// Returns the executor with this property if it offers it, else unchanged.
template <detail::executor_like E, class Property>
auto prefer(const E& executor, Property property) {
  if constexpr (can_require_v<E, Property>) {
    return detail::with_property(executor, property);
  } else {
    return executor;
  }
}
/// As above, with several properties.
template <detail::executor_like E, class First, class Second, class... More>
auto prefer(const E& executor, First first, Second second, More... more) {
  return beck::prefer(beck::prefer(executor, first), second, more...);
}

/// Returns the execution_context of an executor. Requires that it has one.
template <detail::executor_like E>
execution_context& query(const E& executor, execution::context_t) noexcept {
  return any_io_executor(detail::plain_executor(executor)).context();
}

}  // namespace beck
