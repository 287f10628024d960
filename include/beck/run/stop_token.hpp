// SPDX-License-Identifier: BSL-1.0
// stop_source, stop_token, stop_callback: requesting a stop from any thread, with the names and the
// meaning of the standard's types. <stop_token> costs half a second for each file; interop/
// converts in both directions.
#pragma once

#include <type_traits>
#include <utility>

namespace beck {

namespace detail {
struct stop_state;
class stop_registration;
class stop_chain;

}  // namespace detail

/// Tells whether a stop was requested. A value: copies share one state; empty if
/// default-constructed (then no stop can be requested). Thread: any.
class stop_token {
 public:
  /// Makes an empty token.
  stop_token() noexcept = default;
  stop_token(const stop_token& other) noexcept : state_(other.state_) { retain(); }
  stop_token(stop_token&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  /// Takes over `other`.
  stop_token& operator=(stop_token other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~stop_token() { release(); }

  /// Returns whether a stop was requested.
  bool stop_requested() const noexcept;
  /// Returns whether a stop was or can still be requested. False for an empty token, and after the
  /// last source was destroyed without a request.
  bool stop_possible() const noexcept;

  friend bool operator==(const stop_token&, const stop_token&) noexcept = default;

 private:
  friend class stop_source;
  friend class detail::stop_registration;

  explicit stop_token(detail::stop_state* state) noexcept : state_(state) { retain(); }
  void retain() const noexcept;
  void release() const noexcept;

  detail::stop_state* state_ = nullptr;
};

/// The tag of stop_sources without a state.
struct nostopstate_t {
  /// Makes a tag, which has no state.
  explicit constexpr nostopstate_t() noexcept {}
};
/// Selects the constructor of a stop_source without a state.
inline constexpr nostopstate_t nostopstate{};

/// Makes stop requests. Copies share one state. Thread: any.
class stop_source {
 public:
  /// Makes a new state. Throws std::bad_alloc.
  stop_source();
  /// Makes a source without a state: no stop can be requested through it.
  explicit stop_source(nostopstate_t) noexcept : state_(nullptr) {}
  stop_source(const stop_source& other) noexcept;
  stop_source(stop_source&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  /// Takes over `other`.
  stop_source& operator=(stop_source other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~stop_source() {
    if (state_ != nullptr) release();
  }

  /// Returns a token of the state.
  stop_token get_token() const noexcept { return stop_token(state_); }
  /// Returns whether a stop was requested.
  bool stop_requested() const noexcept { return get_token().stop_requested(); }
  /// Returns whether there is a state.
  bool stop_possible() const noexcept { return state_ != nullptr; }

  /// Requests a stop: calls the registered callbacks on this thread; tasks are stopped on their
  /// executors. Returns false, and does nothing, if it was requested before or there is no state.
  bool request_stop() const noexcept;

 private:
  friend class detail::stop_chain;

  void release() noexcept;

  detail::stop_state* state_;
};

namespace detail {

/// Requests that are made later, after the locks held at the decision are released.
class stop_chain {
 public:
  stop_chain() noexcept = default;
  stop_chain(const stop_chain&) = delete;
  stop_chain& operator=(const stop_chain&) = delete;

  /// Adds a source. Requires that it has a state, and is never added to another chain.
  void add(const stop_source& source) noexcept;
  void request_all() noexcept;

 private:
  stop_state* first_ = nullptr;
};

/// A callback of a stop: the base of stop_callback and of the links between scopes and tokens. It
/// is not moved. Thread: one at a time, any.
class stop_registration {
 public:
  stop_registration(const stop_registration&) = delete;
  stop_registration& operator=(const stop_registration&) = delete;

 protected:
  using function = void (*)(stop_registration& self) noexcept;

  stop_registration() noexcept = default;
  ~stop_registration() { remove(); }

  /// Calls `call` once, on the thread that requests the stop, or inside this function if the stop
  /// was requested before.
  void add(const stop_token& token, function call) noexcept;
  /// Unregisters. When it returns `call` neither runs nor will be called, except if this thread is
  /// inside it.
  void remove() noexcept;

 private:
  friend struct stop_state;

  stop_token token_;
  function call_ = nullptr;
  stop_registration* next_ = nullptr;
  stop_registration** link_ = nullptr;  // the pointer to this one; null: not in the list
  bool* gone_ = nullptr;                // set if this is destroyed inside its own call
};

}  // namespace detail

/// Calls `callback()` once when a stop is requested, on the thread that requests it. The callback
/// must not throw. The destructor waits until a call on another thread has returned.
template <class F>
class [[nodiscard]] stop_callback : private detail::stop_registration {
 public:
  /// Registers `callback`; calls it inside this constructor if the stop was requested before.
  template <class G>
  stop_callback(const stop_token& token, G&& callback) : callback_(static_cast<G&&>(callback)) {
    this->add(token, [](detail::stop_registration& self) noexcept {
      static_cast<F&&>(static_cast<stop_callback&>(self).callback_)();
    });
  }
  ~stop_callback() { this->remove(); }  // before the callback is destroyed

 private:
  F callback_;
};
/// Deduces the type of the callback.
template <class F>
stop_callback(const stop_token&, F) -> stop_callback<F>;

}  // namespace beck
