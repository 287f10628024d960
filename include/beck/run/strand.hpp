// SPDX-License-Identifier: BSL-1.0
// strand: an executor on top of another one that never runs two things at once, so what runs on it
// needs no lock. It has no thread and no lock of its own.
#pragma once

#include <beck/run/post.hpp>

namespace beck {

namespace detail {

/// The strand behind every strand<E>, as its executor. Throws std::bad_alloc.
any_io_executor make_strand_executor(any_io_executor inner);

}  // namespace detail

/// Serialises what is given to it, on whatever threads the inner executor has. Copies are the same
/// strand; two strands that were made apart never share anything.
///
/// Guaranteed: what was posted first, in the sense of happens-before, runs first; one thing ends
/// before the next begins and is seen by it. An exception that leaves a handler passes through the
/// inner executor's run(); what is queued goes on afterwards. Handlers that are left when the inner
/// executor's queue dies are destroyed un-run.
/// Cost: one recycled block for the strand, none for a post beyond that of the posted function. One
/// scheduling is one entry of the inner executor: it runs at most 64 handlers, which share that
/// entry's budget, and then goes behind what else is queued there.
/// Thread: any. Not guaranteed: on which of the inner executor's threads something runs; and inside
/// a strand current_executor() is the inner context's.
template <class Executor>
class strand {
 public:
  using inner_executor_type = Executor;
  static constexpr bool is_counted = true;

  /// Throws std::bad_alloc.
  explicit strand(const Executor& inner)
      : inner_(inner), self_(detail::make_strand_executor(any_io_executor(inner))) {}

  inner_executor_type get_inner_executor() const noexcept { return inner_; }
  /// True inside of what runs on this strand.
  bool running_in_this_thread() const noexcept { return self_.running_in_this_thread(); }
  decltype(auto) context() const noexcept {
    if constexpr (requires(const Executor& e) { e.context(); }) {
      return inner_.context();
    } else {
      return self_.context();
    }
  }
  void on_work_started() const noexcept { self_.on_work_started(); }
  void on_work_finished() const noexcept { self_.on_work_finished(); }
  /// As dispatch().
  template <class F>
  void execute(F&& function) const {
    self_.execute(static_cast<F&&>(function));
  }

  const detail::executor_table* table() const noexcept { return self_.table(); }
  void* target() const noexcept { return self_.target(); }
  friend bool operator==(const strand& a, const strand& b) noexcept { return a.self_ == b.self_; }

 private:
  Executor inner_;
  any_io_executor self_;
};

/// A new strand on an executor, or on a context's. Throws std::bad_alloc.
template <detail::executor_like E>
strand<E> make_strand(const E& executor) {
  return strand<E>(executor);
}
template <detail::has_executor C>
auto make_strand(C& context) {
  return strand<decltype(context.get_executor())>(context.get_executor());
}

}  // namespace beck
