// SPDX-License-Identifier: BSL-1.0
// A user's own executor: a queue that the test runs by hand, and a count of the outstanding work
// that the library has reported to it.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <type_traits>
#include <utility>

namespace beck::test {

/// A queue of functions that run() runs. Thread: one.
class manual_queue {
  struct item {
    virtual ~item() = default;
    virtual void call() = 0;
  };
  template <class F>
  struct item_of final : item {
    explicit item_of(F&& f) : function(std::move(f)) {}
    void call() override { function(); }
    F function;
  };

 public:
  class executor_type {
   public:
    explicit executor_type(manual_queue& queue) noexcept : queue_(&queue) {}
    template <class F>
    void execute(F&& function) const {
      using kept = std::decay_t<F>;
      queue_->items_.push_back(std::make_unique<item_of<kept>>(kept(std::forward<F>(function))));
    }
    void on_work_started() const noexcept { ++queue_->work_; }
    void on_work_finished() const noexcept { --queue_->work_; }
    friend bool operator==(const executor_type&, const executor_type&) = default;

   private:
    manual_queue* queue_;
  };

  executor_type executor() noexcept { return executor_type(*this); }

  /// Runs all functions that are queued; returns their number.
  std::size_t run() {
    std::size_t count = 0;
    for (; !items_.empty(); ++count) {
      const std::unique_ptr<item> next = std::move(items_.front());
      items_.pop_front();
      next->call();
    }
    return count;
  }
  std::size_t queued() const { return items_.size(); }
  long work() const { return work_; }

 private:
  std::deque<std::unique_ptr<item>> items_;
  long work_ = 0;
};

}  // namespace beck::test
