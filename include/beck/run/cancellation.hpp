// SPDX-License-Identifier: BSL-1.0
// Asio's cancellation of single operations: a signal, the slot through which an operation listens
// to it, and the state of a composed operation. Tasks are cancelled through scopes
// (detail/scope.hpp); if a coroutine awaits an operation that is started with a handler, its scope
// uses such a signal.
#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/detail/block.hpp>

namespace beck {

/// The guarantees of a request to cancel. A request names those that the requester accepts; an
/// operation acts on the request if it can keep one of them.
enum class cancellation_type : unsigned {
  none = 0,
  terminal = 1,  ///< the object may only be closed or destroyed afterwards
  partial = 2,   ///< side effects are known: the transferred bytes are reported
  total = 4,     ///< no side effects
  all = 7,
};
/// Returns the union.
constexpr cancellation_type operator|(cancellation_type a, cancellation_type b) noexcept {
  return static_cast<cancellation_type>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
/// Returns the intersection.
constexpr cancellation_type operator&(cancellation_type a, cancellation_type b) noexcept {
  return static_cast<cancellation_type>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
/// Returns whether `a` is cancellation_type::none.
constexpr bool operator!(cancellation_type a) noexcept { return a == cancellation_type::none; }

class cancellation_signal;

namespace detail {

/// The listener of a signal: embedded in an operation, or a block around a user's callable.
class cancellation_hook {
 public:
  using call_function = void (*)(cancellation_hook& self, cancellation_type type);
  using destroy_function = void (*)(cancellation_hook& self) noexcept;

  explicit cancellation_hook(call_function call, destroy_function destroy = nullptr) noexcept
      : call_(call), destroy_(destroy) {}
  cancellation_hook(const cancellation_hook&) = delete;
  cancellation_hook& operator=(const cancellation_hook&) = delete;

 protected:
  ~cancellation_hook() = default;

 private:
  friend class beck::cancellation_signal;

  call_function call_;
  destroy_function destroy_;  // null: its owner destroys it
};

}  // namespace detail

class cancellation_slot;

/// The requester's half. It must outlive the operations that listen to it. Thread: that of the
/// listening operation; emit() inside the executor of its handler.
class cancellation_signal {
 public:
  /// Makes a signal without a listener.
  cancellation_signal() noexcept = default;
  cancellation_signal(const cancellation_signal&) = delete;
  cancellation_signal& operator=(const cancellation_signal&) = delete;
  /// Destroys the handler in the slot.
  ~cancellation_signal() { clear(); }

  /// Requests cancellation from the listener, if there is one. `none` requests nothing.
  void emit(cancellation_type type) {
    if (hook_ != nullptr && !!type) hook_->call_(*hook_, type);
  }
  /// Returns the slot.
  cancellation_slot slot() noexcept;

 private:
  friend class cancellation_slot;

  void clear() noexcept {
    detail::cancellation_hook* const gone = std::exchange(hook_, nullptr);
    if (gone != nullptr && gone->destroy_ != nullptr) gone->destroy_(*gone);
  }

  detail::cancellation_hook* hook_ = nullptr;
};

/// The listener's half: one handler at a time. A copyable handle; disconnected if
/// default-constructed.
class cancellation_slot {
 public:
  /// Makes a disconnected slot.
  constexpr cancellation_slot() noexcept = default;

  /// Returns whether there is a signal.
  bool is_connected() const noexcept { return signal_ != nullptr; }
  /// Returns whether there is a handler.
  bool has_handler() const noexcept { return signal_ != nullptr && signal_->hook_ != nullptr; }

  /// Stores `handler`, which is called as `handler(type)` for each request, in place of an earlier
  /// one. Returns the stored handler. Throws std::bad_alloc. Requires is_connected(),
  /// asserted.
  template <class Handler>
  std::decay_t<Handler>& assign(Handler&& handler) const {
    return emplace<std::decay_t<Handler>>(static_cast<Handler&&>(handler));
  }
  /// As assign(), and constructs the handler in place.
  template <class Handler, class... Args>
  Handler& emplace(Args&&... args) const;

  /// Sets a listener that the operation contains; call clear() before the operation ends. For the
  /// library.
  void connect(detail::cancellation_hook& hook) const noexcept {
    signal_->clear();
    signal_->hook_ = &hook;
  }
  /// Destroys the handler.
  void clear() const noexcept {
    if (signal_ != nullptr) signal_->clear();
  }

  friend bool operator==(const cancellation_slot&, const cancellation_slot&) noexcept = default;

 private:
  friend class cancellation_signal;

  explicit constexpr cancellation_slot(cancellation_signal* signal) noexcept : signal_(signal) {}

  cancellation_signal* signal_ = nullptr;
};

/// Returns the slot.
inline cancellation_slot cancellation_signal::slot() noexcept { return cancellation_slot(this); }

namespace detail {

/// A user's callable behind a slot.
template <class Handler>
class assigned_handler final : public cancellation_hook {
 public:
  template <class... Args>
  explicit assigned_handler(Args&&... args)
      : cancellation_hook(
            [](cancellation_hook& self, cancellation_type type) {
              static_cast<assigned_handler&>(self).handler_(type);
            },
            [](cancellation_hook& self) noexcept {
              auto& gone = static_cast<assigned_handler&>(self);
              gone.~assigned_handler();
              detail::free_block(&gone);
            }),
        handler_(static_cast<Args&&>(args)...) {}
  Handler& handler() noexcept { return handler_; }

 private:
  Handler handler_;
};

}  // namespace detail

/// Constructs a handler in place.
template <class Handler, class... Args>
Handler& cancellation_slot::emplace(Args&&... args) const {
  BECK_ASSERT(is_connected(), "a handler was stored in a cancellation_slot without a signal");
  using stored = detail::assigned_handler<Handler>;
  struct guard {
    void* block;
    ~guard() {
      if (block != nullptr) detail::free_block(block);
    }
  } unwinding{detail::allocate_block(sizeof(stored))};
  auto* made = ::new (unwinding.block) stored(static_cast<Args&&>(args)...);
  unwinding.block = nullptr;
  connect(*made);
  return made->handler();
}

/// The state of a composed operation: it listens to the slot of its handler, remembers the
/// requests, and passes them on to the operation that is under way. Copies share one state; empty
/// if default-constructed or made of a disconnected slot.
class cancellation_state {
 public:
  /// Returns the terminal part of `type`: the filter by default.
  static cancellation_type terminal_only(cancellation_type type) noexcept {
    return type & cancellation_type::terminal;
  }

  /// Makes an empty state.
  cancellation_state() noexcept = default;
  /// Listens to `slot`, with the default filter. Throws std::bad_alloc.
  explicit cancellation_state(cancellation_slot slot) : cancellation_state(slot, &terminal_only) {}
  /// Listens to `slot`. `filter` maps a request to the request that is remembered and passed on.
  template <class Filter>
  cancellation_state(cancellation_slot slot, Filter filter)
      : cancellation_state(slot, filter, filter) {}
  /// As above. `in` returns what is remembered, and `out` the part of it that is passed on.
  template <class In, class Out>
  cancellation_state(cancellation_slot slot, In in, Out out)
      : shared_(slot.is_connected() ? &slot.emplace<filtered<In, Out>>(static_cast<In&&>(in),
                                                                       static_cast<Out&&>(out))
                                    : nullptr) {}

  /// Returns the slot for the operations inside.
  cancellation_slot slot() const noexcept {
    return shared_ != nullptr ? shared_->signal.slot() : cancellation_slot();
  }
  /// Returns the requests so far that passed the first filter.
  cancellation_type cancelled() const noexcept {
    return shared_ != nullptr ? shared_->asked : cancellation_type::none;
  }
  /// Forgets the requests in `mask`.
  void clear(cancellation_type mask = cancellation_type::all) noexcept {
    if (shared_ == nullptr) return;
    const auto kept = ~static_cast<unsigned>(mask) & static_cast<unsigned>(shared_->asked);
    shared_->asked = static_cast<cancellation_type>(kept);
  }

 private:
  /// The state behind the outer slot, which owns it until it is cleared.
  struct shared {
    cancellation_signal signal;
    cancellation_type asked = cancellation_type::none;
  };
  template <class In, class Out>
  class filtered : public shared {
   public:
    filtered(In&& in, Out&& out) : in_(static_cast<In&&>(in)), out_(static_cast<Out&&>(out)) {}
    void operator()(cancellation_type type) {
      const cancellation_type kept = in_(type);
      this->asked = this->asked | kept;
      const cancellation_type passed = out_(kept);
      if (!!passed) this->signal.emit(passed);
    }

   private:
    [[no_unique_address]] In in_;
    [[no_unique_address]] Out out_;
  };

  shared* shared_ = nullptr;
};

}  // namespace beck
