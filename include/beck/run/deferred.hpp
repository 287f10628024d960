// SPDX-License-Identifier: BSL-1.0
// Awaiting what async_initiate starts: the deferred and use_awaitable tokens for operations that users
// write. The result waits in the awaiting frame; nothing is allocated for it.
#pragma once

#include <coroutine>
#include <exception>
#include <new>

#include <beck/base/io_result.hpp>
#include <beck/run/async_result.hpp>
#include <beck/run/scope.hpp>

namespace beck {

/// The value of an awaited operation whose signature carries no error.
template <class T>
struct bare_result {
  explicit bare_result(T v) : value_(static_cast<T&&>(v)) {}
  T value() && { return static_cast<T&&>(value_); }
  T value_;
};
struct empty_result {
  empty_result() noexcept {}
  void value() && noexcept {}
};
/// The outcome of an awaited operation whose signature starts with an exception.
template <class... T>
struct exception_result;
template <>
struct exception_result<> {
  explicit exception_result(std::exception_ptr e) noexcept : exception_(static_cast<std::exception_ptr&&>(e)) {}
  void value() && {
    if (exception_) std::rethrow_exception(exception_);
  }
  std::exception_ptr exception_;
};
template <class T>
struct exception_result<T> {
  exception_result(std::exception_ptr e, T v)
      : exception_(static_cast<std::exception_ptr&&>(e)), value_(static_cast<T&&>(v)) {}
  T value() && {
    if (exception_) std::rethrow_exception(exception_);
    return static_cast<T&&>(value_);
  }
  std::exception_ptr exception_;
  T value_;
};

/// How a signature's arguments are kept, and what co_await makes of them (`thrown`: by value or throw).
template <class... A>
struct awaited_result;
template <>
struct awaited_result<> {
  using type = empty_result;
};
template <class T>
struct awaited_result<T> {
  using type = bare_result<T>;
};
template <class... T>
struct awaited_result<error_code, T...> {
  using type = io_result<T...>;
};
template <class... T>
struct awaited_result<std::exception_ptr, T...> {
  using type = exception_result<T...>;
};
template <>
struct awaited_result<error_code> {
  using type = io_result<>;
};
template <>
struct awaited_result<std::exception_ptr> {
  using type = exception_result<>;
};

/// True for results that co_await hands out as they are: an error is a value there.
template <class R>
inline constexpr bool is_io_result = false;
template <class... T>
inline constexpr bool is_io_result<io_result<T...>> = true;

/// The place in a frame where a handler leaves its result, and the way back into the coroutine.
class awaiting_slot : public queue_entry {
 public:
  awaiting_slot() noexcept { run = &resume_entry; }
  awaiting_slot(const awaiting_slot&) = delete;
  awaiting_slot& operator=(const awaiting_slot&) = delete;

  const any_io_executor& executor() const noexcept { return scope_->executor(); }

 protected:
  /// Before the initiation runs.
  void begin(std::coroutine_handle<> coroutine, scope& environment) noexcept {
    coroutine_ = coroutine;
    scope_ = &environment;
    initiating_ = true;
    filled_ = false;
    scope_->executor().on_work_started();
  }
  /// After the initiation has returned; true: the coroutine stays suspended.
  bool suspended() noexcept {
    initiating_ = false;
    return !filled_;
  }
  /// The result is in place: continue, unless the initiation is still on the stack.
  void filled();
  /// The handler was destroyed un-run: the coroutine stays suspended, but is no outstanding work any more.
  void abandoned() noexcept { scope_->executor().on_work_finished(); }

 private:
  static void resume_entry(queue_entry* entry, runner* where);

  std::coroutine_handle<> coroutine_;
  scope* scope_ = nullptr;
  bool initiating_ = false;
  bool filled_ = false;
};

template <class... A>
class coroutine_handler;

template <class... A>
class result_slot : public awaiting_slot {
 public:
  using result = typename awaited_result<A...>::type;

  result_slot() noexcept : empty_() {}
  ~result_slot() {
    if (handler_ != nullptr) handler_->slot_ = nullptr;  // the frame dies first: the handler may follow
    if (full_) result_.~result();
  }
  template <class Promise>
  void prepare(std::coroutine_handle<Promise> coroutine) {
    begin(coroutine, scope_of(coroutine));
  }
  bool finish_initiation() noexcept { return suspended(); }
  void set(A... a) {
    ::new (static_cast<void*>(&result_)) result(static_cast<A&&>(a)...);
    full_ = true;
    filled();
  }
  result take() { return static_cast<result&&>(result_); }

 private:
  friend class coroutine_handler<A...>;

  union {
    char empty_;
    result result_;
  };
  coroutine_handler<A...>* handler_ = nullptr;
  bool full_ = false;
};

/// The handler that resumes a coroutine. Move-only; called once, on the coroutine's executor, or dropped
/// (then the coroutine is destroyed with its root when the context goes).
template <class... A>
class coroutine_handler {
 public:
  using executor_type = any_io_executor;

  explicit coroutine_handler(result_slot<A...>& slot) noexcept : slot_(&slot) { slot_->handler_ = this; }
  coroutine_handler(coroutine_handler&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {
    if (slot_ != nullptr) slot_->handler_ = this;
  }
  ~coroutine_handler() {
    if (slot_ == nullptr) return;
    slot_->handler_ = nullptr;
    slot_->abandoned();
  }
  coroutine_handler(const coroutine_handler&) = delete;
  coroutine_handler& operator=(const coroutine_handler&) = delete;

  executor_type get_executor() const noexcept {
    return slot_ != nullptr ? slot_->executor() : executor_type();
  }

  void operator()(A... a) {
    result_slot<A...>* slot = std::exchange(slot_, nullptr);
    if (slot == nullptr) return;  // the coroutine was destroyed meanwhile
    slot->handler_ = nullptr;
    slot->set(static_cast<A&&>(a)...);
  }

 private:
  friend class result_slot<A...>;

  result_slot<A...>* slot_;
};

/// What the deferred and use_awaitable tokens return for a generic operation: inert until awaited or
/// called with a token. Move-only in effect; awaited or called once.
template <class Signature, bool Throwing, class Launch>
class deferred_operation;

template <class... A, bool Throwing, class Launch>
class [[nodiscard]] deferred_operation<void(A...), Throwing, Launch> {
 public:
  using signature = void(A...);

  explicit deferred_operation(Launch launch) : launch_(static_cast<Launch&&>(launch)) {}

  /// Starts it with another token.
  template <class Token>
  auto operator()(Token&& token) && {
    return async_initiate<Token, signature>(static_cast<Launch&&>(launch_), token);
  }

  class awaiter {
   public:
    explicit awaiter(Launch&& launch) : launch_(static_cast<Launch&&>(launch)) {}
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) {
      slot_.prepare(coroutine);
      static_cast<Launch&&>(launch_)(coroutine_handler<A...>(slot_));
      return slot_.finish_initiation();
    }
    auto await_resume() {
      using result = typename result_slot<A...>::result;
      if constexpr (!Throwing && is_io_result<result>) {
        return slot_.take();
      } else {
        return slot_.take().value();
      }
    }

   private:
    Launch launch_;
    result_slot<A...> slot_;
  };
  awaiter operator co_await() && { return awaiter(static_cast<Launch&&>(launch_)); }
  awaiter operator co_await() & { return awaiter(static_cast<Launch&&>(launch_)); }

 private:
  Launch launch_;
};

template <class Signature, bool Throwing, class Initiation, class... Args>
auto make_deferred(Initiation&& initiation, Args&&... args) {
  auto launch = [start = std::decay_t<Initiation>(static_cast<Initiation&&>(initiation)),
                 ... kept = std::decay_t<Args>(static_cast<Args&&>(args))](auto&& handler) mutable {
    return static_cast<std::decay_t<Initiation>&&>(start)(static_cast<decltype(handler)&&>(handler),
                                                          static_cast<std::decay_t<Args>&&>(kept)...);
  };
  return deferred_operation<Signature, Throwing, decltype(launch)>(
      static_cast<decltype(launch)&&>(launch));
}

template <class Signature>
class async_result<deferred_t, Signature> {
 public:
  template <class Initiation, class Tok, class... Args>
  static auto initiate(Initiation&& initiation, Tok&&, Args&&... args) {
    return make_deferred<Signature, false>(static_cast<Initiation&&>(initiation),
                                           static_cast<Args&&>(args)...);
  }
};
template <class Executor, class Signature>
class async_result<use_awaitable_t<Executor>, Signature> {
 public:
  template <class Initiation, class Tok, class... Args>
  static auto initiate(Initiation&& initiation, Tok&&, Args&&... args) {
    return make_deferred<Signature, true>(static_cast<Initiation&&>(initiation),
                                          static_cast<Args&&>(args)...);
  }
};

}  // namespace beck
