// SPDX-License-Identifier: BSL-1.0
// strand: an executor on top of another one that never runs two handlers at once, so objects that
// are used only on it need no lock. It has no thread and no lock of its own.
#pragma once

#include <beck/run/post.hpp>

namespace beck {

namespace detail {

/// Returns a new strand, the state behind every strand<E>, as an executor. Throws std::bad_alloc.
any_io_executor make_strand_executor(any_io_executor inner);

}  // namespace detail

/// Serialises handlers, on the threads of the inner executor. Copies are the same strand; two
/// strands made separately share nothing.
///
/// Guaranteed: handlers run in the order of their posts, in the sense of happens-before; one ends
/// before the next begins, which sees its effects. An exception that leaves a handler passes
/// through the inner executor's run(); queued handlers run afterwards. Handlers that are left when
/// the inner executor's queue is destroyed are destroyed without being run.
/// Cost: one recycled block for the strand, none for a post beyond that of the posted function. One
/// scheduling is one entry of the inner executor: it runs at most 64 handlers, which share that
/// entry's budget, and then queues again after the other entries there.
/// Thread: any. Not guaranteed: which thread of the inner executor runs a handler; and inside a
/// strand current_executor() is the inner context's.
template <class Executor>
class strand : public detail::queueing_members<strand<Executor>> {
 public:
  /// The type of the inner executor.
  using inner_executor_type = Executor;
  /// For any_io_executor: copies are counted.
  static constexpr bool is_counted = true;

  /// Makes a new strand on `inner`. Throws std::bad_alloc.
  explicit strand(const Executor& inner)
      : inner_(inner), self_(detail::make_strand_executor(any_io_executor(inner))) {}

  /// Makes a copy of a strand whose inner executor has another type: the same strand.
  template <class Other>
    requires(!std::is_same_v<Other, Executor> && std::is_convertible_v<const Other&, Executor>)
  strand(const strand<Other>& other) noexcept : inner_(other.get_inner_executor()), self_(other) {}
  /// Returns the inner executor.
  inner_executor_type get_inner_executor() const noexcept { return inner_; }
  /// Returns whether the caller is inside a handler of this strand.
  bool running_in_this_thread() const noexcept { return self_.running_in_this_thread(); }
  /// Returns the context of the inner executor.
  decltype(auto) context() const noexcept {
    if constexpr (requires(const Executor& e) { e.context(); }) {
      return inner_.context();
    } else {
      return self_.context();
    }
  }
  /// Adds one unit of outstanding work to the inner executor's context.
  void on_work_started() const noexcept { self_.on_work_started(); }
  /// Removes one unit of outstanding work.
  void on_work_finished() const noexcept { self_.on_work_finished(); }
  /// Runs `function` as dispatch(): inside this call if the caller is inside the strand, or if the
  /// strand is idle and the caller inside the inner executor; else queues it.
  template <class F>
  void execute(F&& function) const {
    self_.execute(static_cast<F&&>(function));
  }

  /// Returns the functions of the executor, for any_io_executor.
  const detail::executor_table* table() const noexcept { return self_.table(); }
  /// Returns the object of table()'s functions.
  void* target() const noexcept { return self_.target(); }
  friend bool operator==(const strand& a, const strand& b) noexcept { return a.self_ == b.self_; }

 private:
  Executor inner_;
  any_io_executor self_;
};

/// Returns a new strand on an executor. Throws std::bad_alloc.
template <detail::executor_like E>
strand<E> make_strand(const E& executor) {
  return strand<E>(executor);
}
/// Returns a new strand on the executor of a context. Throws std::bad_alloc.
template <detail::has_executor C>
auto make_strand(C& context) {
  return strand<decltype(context.get_executor())>(context.get_executor());
}

}  // namespace beck
