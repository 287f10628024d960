// SPDX-License-Identifier: BSL-1.0
// generator<T>: a coroutine that computes a sequence, element by element, as a range. It is
// synchronous and independent of executors; it cannot co_await.
#pragma once

#include <beck/base/assert.hpp>
#include <beck/detail/block.hpp>
#include <beck/detail/frame_end.hpp>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>

namespace beck {

template <class T>
class generator;

/// Yields all elements of another generator<T>: `co_yield beck::elements_of(other)`. Nesting costs
/// no stack and, for each element, no more than one resumption.
template <class T>
class elements_of {
 public:
  /// Takes over the generator.
  explicit elements_of(generator<T>&& inner) noexcept
      : inner_(static_cast<generator<T>&&>(inner)) {}

 private:
  friend class generator<T>;
  generator<T> inner_;
};

namespace detail {

/// The part that promises of all generators share. The outermost one drives the innermost one that
/// runs.
class generator_promise_base {
 public:
  static void* operator new(std::size_t bytes) { return allocate_block(bytes); }
  static void operator delete(void* frame) noexcept { free_block(frame); }

  std::suspend_always initial_suspend() const noexcept { return {}; }
  std::suspend_always final_suspend() const noexcept { return {}; }
  void return_void() const noexcept {}
  void unhandled_exception() noexcept { exception_ = std::current_exception(); }

  /// Of the outermost one, before all others.
  void begin() noexcept {
    BECK_ASSERT(outer_ == nullptr, "a generator is walked whose begin() was called before");
    outer_ = this;
  }
  /// Of the outermost one: runs to the next element or to the end. Returns nullptr at the end;
  /// throws the coroutine's exception.
  void* advance() {
    value_ = nullptr;
    for (;;) {
      innermost_->frame_.resume();
      if (value_ != nullptr) return value_;
      generator_promise_base* const at = innermost_;
      if (!at->frame_.done()) continue;  // another one begins inside it
      if (at == this) {
        rethrow_if_failed();
        return nullptr;
      }
      innermost_ = at->outer_;
    }
  }

 protected:
  explicit generator_promise_base(std::coroutine_handle<> frame) noexcept
      : frame_(frame), outermost_(this), innermost_(this) {}

  void found(void* value) noexcept { outermost_->value_ = value; }
  void begin_inside(generator_promise_base& outer) noexcept {
    outer_ = &outer;
    outermost_ = outer.outermost_;
    outermost_->innermost_ = this;
  }
  void rethrow_if_failed() {
    if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
  }

 private:
  std::coroutine_handle<> frame_;
  generator_promise_base* outer_ = nullptr;  // itself if there is none; null: not begun
  generator_promise_base* outermost_;
  generator_promise_base* innermost_;  // of the outermost one
  void* value_ = nullptr;              // of the outermost one
  std::exception_ptr exception_;
};

}  // namespace detail

/// An input range of the values that a coroutine yields. Elements are T&& (T if that is a
/// reference), so they can be moved out; an lvalue that is yielded is copied first. Starts with
/// begin(), which is called once. An exception of the coroutine leaves begin() or ++; then the
/// sequence is over. Move-only. Destroying it destroys the coroutine where it is suspended. Thread:
/// one at a time. Memory: one recycled block.
template <class T>
class [[nodiscard]] generator {
 public:
  /// The type of the elements.
  using value_type = std::remove_cvref_t<T>;
  /// The type of a reference to an element.
  using reference = std::conditional_t<std::is_reference_v<T>, T, T&&>;

  /// The promise of the coroutine, for the compiler.
  class promise_type : public detail::generator_promise_base {
    using pointer = std::add_pointer_t<std::remove_reference_t<T>>;

    class copied {
     public:
      copied(promise_type& promise, const value_type& value) : value_(value) {
        promise.found(&value_);
      }
      copied(const copied&) = delete;
      copied& operator=(const copied&) = delete;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<>) const noexcept {}
      void await_resume() const noexcept {}

     private:
      value_type value_;
    };

    class nested {
     public:
      explicit nested(generator&& inner) noexcept : inner_(static_cast<generator&&>(inner)) {}
      bool await_ready() const noexcept { return !inner_.frame_; }
      void await_suspend(std::coroutine_handle<promise_type> outer) const noexcept {
        inner_.frame_.promise().begin_inside(outer.promise());
      }
      void await_resume() const {
        if (inner_.frame_) inner_.frame_.promise().rethrow_if_failed();
      }

     private:
      generator inner_;
    };

   public:
    promise_type() noexcept
        : detail::generator_promise_base(std::coroutine_handle<promise_type>::from_promise(*this)) {
    }

    generator get_return_object() noexcept {
      return generator(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always yield_value(reference value) noexcept {
      found(const_cast<std::remove_const_t<value_type>*>(&value));
      return {};
    }
    copied yield_value(const value_type& value)
      requires(!std::is_reference_v<T> && std::copy_constructible<value_type>)
    {
      return copied(*this, value);
    }
    nested yield_value(elements_of<T> inner) noexcept {
      return nested(static_cast<generator&&>(inner.inner_));
    }
    void await_transform() = delete;  // it would suspend with nobody to resume it
  };

  /// The end of the range.
  class sentinel {};

  /// An input iterator. Move-only; refers to the generator's coroutine, not to the generator.
  class iterator {
   public:
    /// The type of the elements.
    using value_type = generator::value_type;
    /// Required of iterators.
    using difference_type = std::ptrdiff_t;

    iterator(iterator&& other) noexcept
        : frame_(std::exchange(other.frame_, nullptr)), at_(other.at_) {}
    iterator& operator=(iterator&& other) noexcept {
      frame_ = std::exchange(other.frame_, nullptr);
      at_ = other.at_;
      return *this;
    }

    /// Returns the present element.
    reference operator*() const noexcept {
      return static_cast<reference>(*static_cast<std::remove_reference_t<T>*>(at_));
    }
    /// Runs the coroutine to the next element. Throws the coroutine's exception.
    iterator& operator++() {
      at_ = nullptr;
      at_ = frame_.promise().advance();
      return *this;
    }
    /// As above.
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& at, sentinel) noexcept { return at.at_ == nullptr; }

   private:
    friend class generator;
    explicit iterator(std::coroutine_handle<promise_type> frame) : frame_(frame) { ++*this; }

    std::coroutine_handle<promise_type> frame_;
    void* at_;
  };

  /// Takes over the coroutine; `other` is empty then.
  generator(generator&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  /// Exchanges the coroutines.
  generator& operator=(generator&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  /// Destroys the coroutine where it is suspended.
  ~generator() {
    if (frame_) detail::destroy_frame(frame_);
  }

  /// Runs to the first element. Requires, asserted, that it was not called before, and that the
  /// generator was not moved from. Throws the coroutine's exception.
  iterator begin() {
    BECK_ASSERT(frame_, "an empty generator is walked: it was moved from");
    frame_.promise().begin();
    return iterator(frame_);
  }
  /// Returns the end of the range.
  sentinel end() const noexcept { return {}; }

 private:
  explicit generator(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

  std::coroutine_handle<promise_type> frame_;
};

}  // namespace beck
