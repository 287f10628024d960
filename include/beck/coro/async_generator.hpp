// SPDX-License-Identifier: BSL-1.0
// async_generator<T>: a coroutine that yields a sequence and may await in between. Each element is
// a step of a task: it runs inside the coroutine that requests it, in that coroutine's scope.
#pragma once

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/coro/task.hpp>

namespace beck {

namespace detail {

/// The next element of a sequence, or its end (false). Refers to the yielded object: valid until
/// the next element is requested or the generator is destroyed.
template <class T>
class [[nodiscard]] generated {
 public:
  explicit generated(T* element = nullptr) noexcept : element_(element) {}
  explicit operator bool() const noexcept { return element_ != nullptr; }
  T& operator*() const noexcept { return *element_; }
  T* operator->() const noexcept { return element_; }

 private:
  T* element_;
};

}  // namespace detail

/// A sequence whose elements are awaited: `while (auto line = co_await lines.next()) use(*line);`.
/// Lazy, move-only. Thread, executor and cancellation are those of the coroutine that awaits
/// next(): a stop or a limit ends the operations that the generator awaits for that element, and
/// the generator decides how to go on. One next() at a time. An exception of the coroutine leaves
/// next(); then the sequence is over. Destroying it destroys the coroutine where it is suspended,
/// with its objects; not while a next() is awaited, except by the end of the awaiting tree. Memory:
/// the frame.
template <class T>
class [[nodiscard]] async_generator {
  using element_type = std::remove_reference_t<T>;

 public:
  /// The promise of the coroutine, for the compiler.
  class promise_type : public detail::task_promise_base {
    /// An element that was copied, in the frame.
    class copied : public final_awaiter {
     public:
      explicit copied(const element_type& element) : element_(element) {}
      void await_suspend(std::coroutine_handle<promise_type> coroutine) noexcept {
        coroutine.promise().element_ = &element_;
        final_awaiter::await_suspend(coroutine);
      }

     private:
      element_type element_;
    };

   public:
    async_generator get_return_object() noexcept {
      return async_generator(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    void return_void() const noexcept {}

    final_awaiter yield_value(element_type& element) noexcept {
      element_ = &element;
      return {};
    }
    final_awaiter yield_value(element_type&& element) noexcept
      requires(!std::is_reference_v<T> && !std::is_const_v<element_type>)
    {
      element_ = &element;
      return {};
    }
    copied yield_value(const element_type& element)
      requires(!std::is_reference_v<T> && !std::is_const_v<element_type> &&
               std::copy_constructible<element_type>)
    {
      return copied(element);
    }

   private:
    friend class async_generator;
    element_type* element_ = nullptr;
  };

  /// The awaiter of next().
  class [[nodiscard]] next_operation {
   public:
    /// For next().
    explicit next_operation(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

    bool await_ready() const noexcept { return frame_.done(); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
      return suspend_in(coroutine, detail::scope_of(coroutine));
    }
    bool suspend_in(detail::continuation coroutine, detail::scope& environment) {
      promise_type& promise = frame_.promise();
      promise.element_ = nullptr;
      promise.start_again();
      return environment.executor().table()->concurrent
                 ? promise.start_concurrent(frame_, coroutine, environment)
                 : promise.start_inline(frame_, coroutine, environment);
    }
    detail::generated<element_type> await_resume() const {
      promise_type& promise = frame_.promise();
      if (!frame_.done()) return detail::generated<element_type>(promise.element_);
      if (promise.failed()) std::rethrow_exception(promise.take_exception());
      return detail::generated<element_type>();
    }

   private:
    std::coroutine_handle<promise_type> frame_;
  };

  /// Takes over the coroutine; `other` is empty then.
  async_generator(async_generator&& other) noexcept
      : frame_(std::exchange(other.frame_, nullptr)) {}
  /// Exchanges the coroutines.
  async_generator& operator=(async_generator&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  /// Destroys the coroutine where it is suspended.
  ~async_generator() {
    if (!frame_) return;
    frame_.promise().destroy_children();
    detail::destroy_frame(frame_);
  }

  /// Runs, awaited, to the next element. Returns an object that converts to bool, false at the end,
  /// and that * and -> access the element of; valid until the following next(). Requires, asserted,
  /// that the generator was not moved from.
  next_operation next() noexcept {
    BECK_ASSERT(frame_, "an empty generator is asked for an element: it was moved from");
    return next_operation(frame_);
  }

 private:
  explicit async_generator(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

  std::coroutine_handle<promise_type> frame_;
};

}  // namespace beck
