// SPDX-License-Identifier: BSL-1.0
// channel: a queue of values from producers to consumers, in order. It holds up to a number of
// them, or none (then sender and receiver meet). Without room or values, an operation waits.
#pragma once

#include <beck/detail/channel_buffer.hpp>
#include <beck/detail/waiter.hpp>
#include <cstddef>

namespace beck {

namespace detail {

/// The tag of channels that hold any number of values, up to a cap.
class unbounded_t {
 public:
  explicit constexpr unbounded_t() noexcept {}
};

}  // namespace detail

/// Selects the constructors of channels whose memory grows.
inline constexpr detail::unbounded_t unbounded{};

namespace detail {

/// The part of a channel that does not depend on its values.
class channel_base {
 public:
  channel_base(const channel_base&) = delete;
  channel_base& operator=(const channel_base&) = delete;

  /// Closes the channel: values in it can still be received, then receivers get
  /// error::channel_closed. Senders get it at once, also waiting ones; their values are dropped
  /// with their operations. Idempotent.
  void close() noexcept;
  /// Ends all waiting sends and receives with operation_aborted; the channel and its values stay.
  void cancel() noexcept;
  /// Returns whether close() was not called yet.
  bool is_open() noexcept;

  /// For the library's operations: as waiter_list::leave().
  bool leave_receivers(waiter& one) noexcept;

 protected:
  channel_base() noexcept = default;
  explicit channel_base(concurrent_t tag) noexcept : state_(tag) {}
  ~channel_base() = default;

  state_lock state_;
  bool open_ = true;
  waiter_list senders_;    // only while there is no room
  waiter_list receivers_;  // only while there is nothing to receive
};

template <class... T>
class channel_send;
template <class... T>
class channel_receive;

}  // namespace detail

/// A queue of values (of no, one or two types) between coroutines or handlers, for any number of
/// senders and receivers. Both sides are served in the order of their requests.
///   beck::channel<std::string> lines(16);
///   auto r = co_await lines.async_send(std::move(line));    lines.async_send(text, token);
///   auto line = co_await lines.async_receive();             -> (error_code, std::string)
/// Requires: values that are movable without throwing, and default-constructible (put a socket into
/// a std::optional). Errors: channel_closed; operation_aborted. Cancellation: a send that ends with
/// an error was not sent, and its value is destroyed with the operation (keep a copy, or use
/// try_send, which leaves its arguments alone); a receive that ends with an error has taken
/// nothing. Thread: one at a time; with beck::concurrent any, values are then moved under its spin
/// lock. Memory: none but the ring of values, which grows up to the capacity. Lifetime: as
/// beck::mutex; values that are still in it are destroyed with it.
template <class... T>
class channel : public detail::channel_base {
  static_assert(sizeof...(T) <= 2, "a channel carries at most two values: put more into a class");
  static_assert((std::is_default_constructible_v<T> && ...),
                "a failed receive returns default-constructed values: put others, such as sockets, "
                "into a std::optional");

 public:
  /// A function that returns the bytes that one set of values counts in a channel with a byte cap;
  /// it must return the same for the same values.
  using size_function = std::size_t (*)(const T&... values);

  /// Holds up to `capacity` sets of values, for which memory is allocated now. 0: a send ends when
  /// its value is received. Throws std::bad_alloc.
  explicit channel(std::size_t capacity) : items_max_(capacity) { items_.reserve(capacity); }
  /// As above, for any thread.
  channel(detail::concurrent_t tag, std::size_t capacity)
      : detail::channel_base(tag), items_max_(capacity) {
    items_.reserve(capacity);
  }
  /// Holds up to `items_max` sets of values; memory grows with them.
  channel(detail::unbounded_t, std::size_t items_max) noexcept : items_max_(items_max) {}
  /// As above, for any thread.
  channel(detail::concurrent_t tag, detail::unbounded_t, std::size_t items_max) noexcept
      : detail::channel_base(tag), items_max_(items_max) {}
  /// Holds up to `bytes_max` bytes, as counted by `bytes_of_one`. A set of values larger than that
  /// is held alone.
  channel(detail::unbounded_t, std::size_t bytes_max, size_function bytes_of_one) noexcept
      : items_max_(static_cast<std::size_t>(-1)), bytes_max_(bytes_max), size_(bytes_of_one) {}
  /// As above, for any thread.
  channel(detail::concurrent_t tag, detail::unbounded_t, std::size_t bytes_max,
          size_function bytes_of_one) noexcept
      : detail::channel_base(tag),
        items_max_(static_cast<std::size_t>(-1)),
        bytes_max_(bytes_max),
        size_(bytes_of_one) {}

  /// Sends; waits for room, or for a receiver. Completes with (error_code). Throws std::bad_alloc
  /// if the ring has to grow; nothing was sent then.
  detail::channel_send<T...> async_send(T... values) {
    return detail::channel_send<T...>(*this, static_cast<T&&>(values)...);
  }
  /// As above. `token` takes (error_code).
  template <class Token>
  auto async_send(T... values, Token&& token) {
    return detail::channel_send<T...>(*this,
                                      static_cast<T&&>(values)...)(static_cast<Token&&>(token));
  }
  /// Waits for values. Completes with (error_code, values...), default-constructed values with an
  /// error.
  detail::channel_receive<T...> async_receive() { return detail::channel_receive<T...>(*this); }
  /// As above. `token` takes (error_code, values...).
  template <class Token>
  auto async_receive(Token&& token) {
    return detail::channel_receive<T...>(*this)(static_cast<Token&&>(token));
  }

  /// Sends if there is room, or a waiting receiver, which continues later, on its own executor.
  /// Returns false if there is neither or the channel is closed; the arguments are unchanged then.
  /// Throws as async_send().
  template <class... U>
    requires(sizeof...(U) == sizeof...(T))
  bool try_send(U&&... values) {
    return send_now(nullptr, static_cast<U&&>(values)...) == 0;
  }
  /// As try_send(). Asio's name for a send that may run the receiver inside the call; here it never
  /// does, because chains of them would need stack.
  template <class... U>
    requires(sizeof...(U) == sizeof...(T))
  bool try_send_via_dispatch(U&&... values) {
    return send_now(nullptr, static_cast<U&&>(values)...) == 0;
  }
  /// Calls `handler(error_code, values...)` inside the call if there are values, or the channel is
  /// closed. Returns whether it was called.
  template <class Handler>
  bool try_receive(Handler&& handler) {
    detail::kept_item<item> kept;
    const int result =
        receive_now(nullptr, [&](item& from) { kept.keep(static_cast<item&&>(from)); });
    if (result == would_block) return false;
    if (item* const received = kept.get()) {
      received->give([&](T&&... values) {
        static_cast<Handler&&>(handler)(error_code(), static_cast<T&&>(values)...);
      });
    } else {
      static_cast<Handler&&>(handler)(detail::make_error(result), T()...);
    }
    return true;
  }
  /// Returns an io_result of the values, with error::would_block if there are none, or
  /// channel_closed.
  auto try_receive() {
    detail::kept_item<item> kept;
    const int result =
        receive_now(nullptr, [&](item& from) { kept.keep(static_cast<item&&>(from)); });
    using result_type = detail::awaited_result_t<error_code, T...>;
    if (item* const received = kept.get()) {
      return received->give(
          [](T&&... values) { return result_type(error_code(), static_cast<T&&>(values)...); });
    }
    return result_type(detail::make_error(result), T()...);
  }

  /// Returns the most sets of values that it holds; with a byte cap there is no such number.
  std::size_t capacity() const noexcept { return items_max_; }
  /// Returns the number of sets of values that it holds.
  std::size_t size() noexcept {
    detail::state_guard guard(state_);
    return items_.size();
  }

 private:
  friend class detail::channel_send<T...>;
  friend class detail::channel_receive<T...>;
  using item = detail::value_pack<T...>;

  static constexpr int would_block = -error::would_block;

  /// Returns 0 if it has sent; channel_closed_result; would_block: `joining`, if there is one,
  /// waits from here on.
  template <class... U>
  int send_now(detail::waiter* joining, U&&... values) {
    const std::size_t bytes = bytes_of(values...);
    detail::state_guard guard(state_);
    if (!open_) return detail::channel_closed_result;
    if (!receivers_.empty()) {
      item sent(static_cast<U&&>(values)...);
      auto& receiver = static_cast<detail::channel_receive<T...>&>(*receivers_.pop());
      guard.unlock();
      receiver.deliver(sent);
      return 0;
    }
    if (!senders_.empty() || !has_room(bytes)) {
      if (joining == nullptr) return would_block;
      static_cast<detail::channel_send<T...>&>(*joining).bytes_ = bytes;
      senders_.join(*joining);
      return would_block;
    }
    if (size_ != nullptr) sizes_.reserve(sizes_.size() + 1);
    items_.push_back(static_cast<U&&>(values)...);
    note_held(bytes);
    return 0;
  }

  /// Returns 0 if it has received; channel_closed_result; would_block: `joining`, if there is one,
  /// waits from here on. Calls `take` with the received values, perhaps under the lock.
  template <class Take>
  int receive_now(detail::waiter* joining, Take&& take) {
    detail::state_guard guard(state_);
    if (!items_.empty()) {
      take(items_.front());
      items_.pop_front();
      note_taken();
      if (!senders_.empty()) [[unlikely]]
        admit_senders(guard);
      return 0;
    }
    if (detail::waiter* const first = senders_.pop()) {
      guard.unlock();
      take(static_cast<detail::channel_send<T...>&>(*first).values_);
      first->wake(0);
      return 0;
    }
    if (!open_) return detail::channel_closed_result;
    if (joining != nullptr) receivers_.join(*joining);
    return would_block;
  }

  /// As waiter_list::leave(); behind one with much that leaves there may be room for others.
  bool leave_senders(detail::waiter& one) noexcept {
    detail::state_guard guard(state_);
    if (!senders_.leave(one)) return false;
    if (!senders_.empty()) admit_senders(guard);
    return true;
  }

  /// Takes over values of waiting senders, as far as there is room. If there is no memory for that
  /// they keep waiting: receivers take from them directly when the ring is empty.
  void admit_senders(detail::state_guard& guard) noexcept {
    detail::waiter_chain admitted;
    while (detail::waiter* const next = senders_.front()) {
      auto& sender = static_cast<detail::channel_send<T...>&>(*next);
      if (!has_room(sender.bytes_) || !items_.try_reserve(items_.size() + 1)) break;
      if (size_ != nullptr && !sizes_.try_reserve(sizes_.size() + 1)) break;
      items_.push_back(static_cast<item&&>(sender.values_));
      note_held(sender.bytes_);
      admitted.push(*senders_.pop());
    }
    guard.unlock();
    admitted.wake_all(0);
  }

  /// Returns the bytes that the values count. Called without the lock.
  template <class... U>
  std::size_t bytes_of(const U&... values) const {
    if (size_ == nullptr) return 0;
    detail::about_to_call_out();
    return size_(values...);
  }
  void note_held(std::size_t bytes) noexcept {
    if (size_ == nullptr) return;
    sizes_.push_back(bytes);
    bytes_ += bytes;
  }
  void note_taken() noexcept {
    if (size_ == nullptr) return;
    bytes_ -= sizes_.front();
    sizes_.pop_front();
  }
  bool has_room(std::size_t bytes) const noexcept {
    if (items_.size() >= items_max_) return false;
    return size_ == nullptr || items_.empty() ||
           (bytes <= bytes_max_ && bytes_ <= bytes_max_ - bytes);
  }

  std::size_t items_max_;
  std::size_t bytes_max_ = 0;
  std::size_t bytes_ = 0;
  size_function size_ = nullptr;
  detail::item_ring<item> items_;
  detail::item_ring<std::size_t> sizes_;  // of items_, if there is a size_
};

namespace detail {

/// co_await channel.async_send(values...)
template <class... T>
class [[nodiscard]] channel_send : public op<channel_send<T...>, void(error_code)>, private waiter {
  using base = op<channel_send, void(error_code)>;

 public:
  using typename base::handler;
  static constexpr const char* waits_for = "channel send";

  template <class... U>
  explicit channel_send(channel<T...>& to, U&&... values)
      : channel_(&to), values_(static_cast<U&&>(values)...) {}
  /// Moves an inert one.
  channel_send(channel_send&& other) noexcept
      : base(static_cast<base&&>(other)),
        waiter(static_cast<waiter&&>(other)),
        channel_(other.channel_),
        values_(static_cast<value_pack<T...>&&>(other.values_)) {}
  channel_send& operator=(channel_send&&) = delete;
  ~channel_send() {
    if (is_listed()) [[unlikely]]
      channel_->leave_senders(*this);
  }

  bool ready() {
    const int result = send(nullptr);
    return result != channel<T...>::would_block && this->finish(make_error(result));
  }
  void initiate(handler done) {
    on_wake(&end_wait);
    done_ = static_cast<handler&&>(done);
    const int result = send(this);
    if (result != channel<T...>::would_block) end_wait(*this, result);
  }
  void cancel() noexcept {
    channel<T...>* const here = __atomic_load_n(&channel_, __ATOMIC_RELAXED);
    if (here != nullptr && here->leave_senders(*this)) end_wait(*this, cancelled);
  }

 private:
  friend class beck::channel<T...>;

  int send(waiter* joining) {
    return values_.give(
        [&](T&&... values) { return channel_->send_now(joining, static_cast<T&&>(values)...); });
  }
  static void end_wait(waiter& one, int result) noexcept {
    auto& self = static_cast<channel_send&>(one);
    handler done(static_cast<handler&&>(self.done_));
    // The channel may go before the coroutine continues.
    __atomic_store_n(&self.channel_, nullptr, __ATOMIC_RELAXED);
    if (result != dropped) done(make_error(result));
  }

  channel<T...>* channel_;
  handler done_;
  value_pack<T...> values_;
  std::size_t bytes_ = 0;  // while it waits
};

/// co_await channel.async_receive()
template <class... T>
class [[nodiscard]] channel_receive : public op<channel_receive<T...>, void(error_code, T...)>,
                                      private waiter {
  using base = op<channel_receive, void(error_code, T...)>;

 public:
  using typename base::handler;
  static constexpr const char* waits_for = "channel receive";

  explicit channel_receive(channel<T...>& from) noexcept : channel_(&from) {}
  /// Moves an inert one.
  channel_receive(channel_receive&& other) noexcept
      : base(static_cast<base&&>(other)),
        waiter(static_cast<waiter&&>(other)),
        channel_(other.channel_) {}
  channel_receive& operator=(channel_receive&&) = delete;
  ~channel_receive() {
    if (is_listed()) [[unlikely]]
      channel_->leave_receivers(*this);
  }

  bool ready() {
    const int result = channel_->receive_now(nullptr, [this](value_pack<T...>& from) {
      from.give([this](T&&... values) { this->finish(error_code(), static_cast<T&&>(values)...); });
    });
    if (result == 0) return true;
    return result == channel_closed_result && this->finish(make_error(result), T()...);
  }
  void initiate(handler done) {
    on_wake(&end_wait);
    done_ = static_cast<handler&&>(done);
    const int result =
        channel_->receive_now(this, [this](value_pack<T...>& from) { deliver(from); });
    if (result == channel_closed_result) end_wait(*this, result);
  }
  void cancel() noexcept {
    channel<T...>* const here = __atomic_load_n(&channel_, __ATOMIC_RELAXED);
    if (here != nullptr && here->leave_receivers(*this)) end_wait(*this, cancelled);
  }

 private:
  friend class beck::channel<T...>;

  void deliver(value_pack<T...>& received) noexcept {
    handler done(static_cast<handler&&>(done_));
    __atomic_store_n(&channel_, nullptr, __ATOMIC_RELAXED);
    received.give([&](T&&... values) { done(error_code(), static_cast<T&&>(values)...); });
  }
  static void end_wait(waiter& one, int result) noexcept {
    auto& self = static_cast<channel_receive&>(one);
    handler done(static_cast<handler&&>(self.done_));
    __atomic_store_n(&self.channel_, nullptr, __ATOMIC_RELAXED);
    if (result != dropped) done(make_error(result), T()...);
  }

  channel<T...>* channel_;
  handler done_;
};

}  // namespace detail

}  // namespace beck
