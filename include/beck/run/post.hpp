// SPDX-License-Identifier: BSL-1.0
// post, dispatch and defer: handing a callable to an executor. The callable and its queue entry share one
// recycled block, which is free again before the callable runs.
#pragma once

#include <type_traits>

#include <beck/run/any_io_executor.hpp>
#include <beck/run/associated.hpp>

namespace beck {

/// Something with an executor: a context, an I/O object, a strand.
template <class C>
concept has_executor = !std::is_convertible_v<const C&, any_io_executor> && requires(C& c) {
  { c.get_executor() } -> std::convertible_to<any_io_executor>;
};
template <class E>
concept executor_like = std::is_convertible_v<const E&, any_io_executor>;

/// A posted callable: one block, moved out and freed before it is called.
template <class F>
class posted_function : public queue_entry {
 public:
  template <class G>
  explicit posted_function(G&& function) : function_(static_cast<G&&>(function)) {
    run = &call;
  }

 private:
  static void call(queue_entry* entry, runner* where) {
    auto* self = static_cast<posted_function*>(entry);
    F function(static_cast<F&&>(self->function_));
    release_for_handler(self, function);
    if (where == nullptr) return;
    ++where->counters.delivered;
    static_cast<F&&>(function)();
  }

  F function_;
};

/// Queues `function` on `executor` without looking at what is associated with it.
template <class F>
void post_function(const any_io_executor& executor, F&& function) {
  using entry = posted_function<std::decay_t<F>>;
  executor.post(make_for_handler<entry>(function, static_cast<F&&>(function)));
}

/// A callable that must in the end run on its associated executor, wherever it was first queued.
template <class F>
class to_associated {
 public:
  explicit to_associated(F function) : function_(static_cast<F&&>(function)) {}
  void operator()() {
    const any_io_executor target = get_associated_executor(function_, any_io_executor());
    if (!target || target.running_in_this_thread()) {
      static_cast<F&&>(function_)();
    } else {
      post_function(target, static_cast<F&&>(function_));
    }
  }
  auto get_allocator() const noexcept
    requires has_associated_allocator<F>
  {
    return get_associated_allocator(function_);
  }

 private:
  F function_;
};

/// Queues `function` on `executor`; it never runs inside this call. Posts from one thread to one context
/// run in order. Throws std::bad_alloc; nothing is queued then. Any thread.
template <executor_like E, class F>
void post(const E& executor, F&& function) {
  if constexpr (has_associated_executor<std::decay_t<F>>) {
    post_function(executor, to_associated<std::decay_t<F>>(static_cast<F&&>(function)));
  } else {
    post_function(executor, static_cast<F&&>(function));
  }
}
template <has_executor C, class F>
void post(C& context, F&& function) {
  beck::post(any_io_executor(context.get_executor()), static_cast<F&&>(function));
}

/// As post(), with the hint that `function` continues what runs now.
template <executor_like E, class F>
void defer(const E& executor, F&& function) {
  beck::post(executor, static_cast<F&&>(function));
}
template <has_executor C, class F>
void defer(C& context, F&& function) {
  beck::post(context, static_cast<F&&>(function));
}

/// Runs `function` inside this call if the caller already is inside `executor`, else as post().
template <executor_like E, class F>
void dispatch(const E& executor, F&& function) {
  const any_io_executor target(executor);
  if (target.running_in_this_thread()) {
    if constexpr (has_associated_executor<std::decay_t<F>>) {
      to_associated<std::decay_t<F>> call(static_cast<F&&>(function));
      call();
    } else {
      static_cast<F&&>(function)();
    }
  } else {
    beck::post(target, static_cast<F&&>(function));
  }
}
template <has_executor C, class F>
void dispatch(C& context, F&& function) {
  beck::dispatch(any_io_executor(context.get_executor()), static_cast<F&&>(function));
}

template <class F>
void any_io_executor::execute(F&& function) const {
  beck::dispatch(*this, static_cast<F&&>(function));
}

}  // namespace beck
