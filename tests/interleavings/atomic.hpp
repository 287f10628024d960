// SPDX-License-Identifier: BSL-1.0
// What takes the place of std::atomic, of ordinary members, of mutexes, futexes and eventfds when
// the library's lock-free classes are made of parts for the checker.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "interleavings/world.hpp"

namespace beck::interleavings {

template <class T>
std::uint64_t to_bits(T value) noexcept {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T from_bits(std::uint64_t bits) noexcept {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// std::atomic<T>, as far as the library uses it.
template <class T>
class atomic {
 public:
  using order = std::memory_order;

  atomic(T initial = T{}) : id_(world::now().add_location(to_bits(initial))) {}
  ~atomic() { world::now().remove_location(id_); }
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;

  T load(order o = order::seq_cst, const place& where = place::current()) const noexcept {
    return from_bits<T>(world::now().load(id_, o, where));
  }
  void store(T value, order o = order::seq_cst, const place& where = place::current()) noexcept {
    world::now().store(id_, to_bits(value), o, where);
  }
  T exchange(T value, order o = order::seq_cst, const place& where = place::current()) noexcept {
    const auto change = [](std::uint64_t, std::uint64_t to) { return to; };
    return modify(change, value, "exchange", o, where);
  }
  bool compare_exchange_weak(T& expected, T desired, order success, order failure,
                             const place& where = place::current()) noexcept {
    return compare_exchange(expected, desired, success, failure, true, where);
  }
  bool compare_exchange_strong(T& expected, T desired, order success, order failure,
                               const place& where = place::current()) noexcept {
    return compare_exchange(expected, desired, success, failure, false, where);
  }
  bool compare_exchange_strong(T& expected, T desired, order success,
                               const place& where = place::current()) noexcept {
    return compare_exchange(expected, desired, success, without_release(success), false, where);
  }
  bool compare_exchange_weak(T& expected, T desired, order success,
                             const place& where = place::current()) noexcept {
    return compare_exchange(expected, desired, success, without_release(success), true, where);
  }
  T fetch_add(T value, order o = order::seq_cst, const place& where = place::current()) noexcept
    requires std::integral<T>
  {
    return modify(arithmetic<[](T a, T b) { return static_cast<T>(a + b); }>, value, "fetch_add", o,
                  where);
  }
  T fetch_sub(T value, order o = order::seq_cst, const place& where = place::current()) noexcept
    requires std::integral<T>
  {
    return modify(arithmetic<[](T a, T b) { return static_cast<T>(a - b); }>, value, "fetch_sub", o,
                  where);
  }
  T fetch_or(T value, order o = order::seq_cst, const place& where = place::current()) noexcept
    requires std::integral<T>
  {
    return modify(arithmetic<[](T a, T b) { return static_cast<T>(a | b); }>, value, "fetch_or", o,
                  where);
  }
  T fetch_and(T value, order o = order::seq_cst, const place& where = place::current()) noexcept
    requires std::integral<T>
  {
    return modify(arithmetic<[](T a, T b) { return static_cast<T>(a & b); }>, value, "fetch_and", o,
                  where);
  }

  /// For futexes and for checks at the end: what the memory holds.
  T newest() const noexcept { return from_bits<T>(world::now().newest(id_)); }

 private:
  static constexpr order without_release(order o) noexcept {
    return o == order::acq_rel ? order::acquire : o == order::release ? order::relaxed : o;
  }
  template <auto Operation>
  static std::uint64_t arithmetic(std::uint64_t value, std::uint64_t operand) {
    return to_bits(Operation(from_bits<T>(value), from_bits<T>(operand)));
  }
  T modify(world::change how, T operand, const char* name, order o, const place& where) noexcept {
    return from_bits<T>(world::now().modify(id_, how, to_bits(operand), name, o, where));
  }
  bool compare_exchange(T& expected, T desired, order success, order failure, bool weak,
                        const place& where) noexcept {
    std::uint64_t bits = to_bits(expected);
    const bool done =
        world::now().compare_exchange(id_, bits, to_bits(desired), success, failure, weak, where);
    expected = from_bits<T>(bits);
    return done;
  }

  unsigned id_;
};

/// A member that is not atomic: threads must use it in an order that happens-before gives.
template <class T>
class plain {
 public:
  plain(T initial = T{}) : value_(initial) {}
  ~plain() { world::now().write_plain(record_, name_); }
  plain(const plain& other) : value_(other) {}
  plain& operator=(const plain& other) { return *this = static_cast<T>(other); }

  operator T() const noexcept {
    world::now().read_plain(record_, name_);
    return value_;
  }
  plain& operator=(T value) noexcept {
    world::now().write_plain(record_, name_);
    value_ = value;
    return *this;
  }
  T operator->() const noexcept { return *this; }
  plain& operator++() noexcept { return *this = static_cast<T>(static_cast<T>(*this) + T{1}); }
  plain& operator+=(T more) noexcept {
    return *this = static_cast<T>(static_cast<T>(*this) + more);
  }

  plain& called(const char* name) noexcept {
    name_ = name;
    return *this;
  }

 private:
  T value_;
  mutable plain_record record_;
  const char* name_ = "a member that is not atomic";
};

/// A mutex.
class mutex {
 public:
  void lock(const place& where = place::current()) {
    world& w = world::now();
    w.wait_until([this] { return !held_; }, "a mutex", where);
    held_ = true;
    w.acquire(released_);
    w.note("lock", where);
  }
  void unlock(const place& where = place::current()) {
    world& w = world::now();
    held_ = false;
    w.release(released_);
    w.note("unlock", where);
  }

 private:
  bool held_ = false;
  view released_;
};

/// An eventfd that is watched edge-triggered, and the wait for it. A wake-up orders nothing: only
/// reading the counter does.
class wake_counter {
 public:
  void write(const place& where = place::current()) {
    world& w = world::now();
    w.point();
    w.check(!closed_, "the wake descriptor was written to after its close");
    ++count_;
    edge_ = true;
    w.release(released_);
    w.note("writes to the wake descriptor", where);
  }
  void wait(const place& where = place::current()) {
    world& w = world::now();
    w.wait_until([this] { return edge_ || events_ != 0; }, "the wake descriptor", where);
    edge_ = false;
    w.note("wakes up", where);
  }
  /// Another descriptor becomes ready, which ends a wait as well.
  void raise_event(const place& where = place::current()) {
    world::now().point();
    ++events_;
    world::now().note("an event", where);
  }
  /// How many there were, for whoever returned from a wait.
  int take_events() noexcept { return std::exchange(events_, 0); }
  /// Waits until it was written to `total` times.
  void drain(std::uint64_t total, const place& where = place::current()) {
    world& w = world::now();
    w.wait_until([this, total] { return count_ >= total; }, "wake-ups that are owed", where);
    w.acquire(released_);
    w.note("has drained the wake descriptor", where);
  }
  void close(const place& where = place::current()) {
    world::now().note("closes the wake descriptor", where);
    closed_ = true;
  }
  std::uint64_t count() const noexcept { return count_; }

 private:
  std::uint64_t count_ = 0;
  bool edge_ = false;
  int events_ = 0;
  bool closed_ = false;
  view released_;
};

/// Those who wait at a futex. Which of them a wake-up reaches is a choice.
class futex_queue {
 public:
  /// False: the time is up, which is a choice too.
  bool wait(const atomic<std::uint32_t>& word, std::uint32_t expected, bool limited,
            const place& where = place::current()) {
    world& w = world::now();
    w.point();
    if (word.newest() != expected) return true;
    if (limited && w.choose(2) == 1) {
      w.note("its time is up", where);
      return false;
    }
    bool woken = false;
    waiting_.push_back(&woken);
    const auto ready = [](void* flag) { return *static_cast<bool*>(flag); };
    w.block(ready, &woken, "the futex", where);
    return true;
  }
  void wake(unsigned count, const place& where = place::current()) {
    world& w = world::now();
    w.point();
    w.note("wakes at the futex", where);
    for (; count != 0 && !waiting_.empty(); --count) {
      const auto which = waiting_.begin() + w.choose(static_cast<unsigned>(waiting_.size()));
      **which = true;
      waiting_.erase(which);
    }
  }

 private:
  std::vector<bool*> waiting_;
};

/// What real_atomics is to the library (src/base/spin_lock.hpp).
struct modelled_atomics {
  template <class T>
  using atomic = interleavings::atomic<T>;
  template <class T>
  using plain = interleavings::plain<T>;
  static void yield(const place& where = place::current()) { world::now().yield(where); }
  static constexpr unsigned spins_max = 0;
  static void fence(std::memory_order order, const place& where = place::current()) {
    world::now().fence(order, where);
  }
};

}  // namespace beck::interleavings
