// SPDX-License-Identifier: BSL-1.0
// Coroutine-local values: values that a task makes visible to everything that it awaits, without
// passing them as parameters: the name of a request for its log, a user, a budget. They are
// inherited through scopes and live in the frame of the coroutine that sets them; a read walks over
// the values set around it, and nothing is allocated.
#pragma once

#include <beck/coro/within.hpp>

namespace beck {

namespace detail {

/// One value in the chain that a scope knows.
class local_value {
 public:
  local_value() noexcept = default;
  local_value(const void* key, const void* value, const local_value* outer) noexcept
      : key_(key), value_(value), outer_(outer) {}

  /// The innermost value of `key` in the chain that begins with `at`, or nullptr.
  static const void* find(const local_value* at, const void* key) noexcept;

 private:
  const void* key_ = nullptr;
  const void* value_ = nullptr;
  const local_value* outer_ = nullptr;
};

/// A scope in which a value is seen.
class local_scope : public inner_scope {
 public:
  explicit local_scope(scope& outer) noexcept : inner_scope(outer) {}

  void show_value(const void* key, const void* value) noexcept {
    value_ = local_value(key, value, locals());
    show(value_);
  }

 private:
  local_value value_;
};

/// The part of within() for local_key::with().
template <class T>
class local_limit {
 public:
  using scope_type = local_scope;

  local_limit(const void* key, T&& value) : key_(key), value_(static_cast<T&&>(value)) {}

  static void enter(deferred_init<local_scope>& place, scope& outer) noexcept {
    place.emplace(outer);
  }
  void set_on(local_scope& inner) const noexcept { inner.show_value(key_, &value_); }

 private:
  const void* key_;
  T value_;
};

/// co_await key.get()
template <class T>
class [[nodiscard]] local_query {
 public:
  explicit local_query(const void* key) noexcept : key_(key) {}
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    value_ = local_value::find(detail::scope_of(coroutine).locals(), key_);
    return false;
  }
  const T* await_resume() const noexcept { return static_cast<const T*>(value_); }

 private:
  const void* key_;
  const void* value_ = nullptr;
};

}  // namespace detail

/// The key of a value. The object is the key, so it is neither copied nor moved; it outlives its
/// uses, best as a constant of a namespace:
///   constinit const beck::local_key<std::string> request_name;
///   co_await request_name.with("GET /", serve(socket));
///   const std::string* name = co_await request_name.get();     // anywhere below
/// Inherited by tasks that are awaited below, also as branches of when_all, when_any and
/// task_group; not by tasks that co_spawn and spawn start, which may outlive it.
/// Thread: any; each coroutine sees the values of its own scope.
template <class T>
class local_key {
 public:
  /// Makes a key without values.
  constexpr local_key() noexcept = default;
  local_key(const local_key&) = delete;
  local_key& operator=(const local_key&) = delete;

  /// Awaits a task or an operation that sees `value` under this key; returns its result. A value of
  /// the same key inside hides it.
  template <detail::scoped_awaitable A>
  detail::scoped_operation<A, detail::local_limit<T>> with(T value, A awaitable) const {
    return {static_cast<A&&>(awaitable), detail::local_limit<T>(this, static_cast<T&&>(value))};
  }
  /// Returns, awaited, a pointer to the innermost value around the awaiting coroutine, or nullptr
  /// if there is none. The value lives as long as the awaitable passed to with() runs.
  detail::local_query<T> get() const noexcept { return detail::local_query<T>(this); }

 private:
  [[maybe_unused]] char identity_ = 0;  // an empty member could share its address with another key
};

}  // namespace beck
