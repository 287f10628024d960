// SPDX-License-Identifier: BSL-1.0
// The synchronisation primitives behind one interface: a wait that ends for one waiter at a time or
// for all, so that cases about their common guarantees run once for each.
#pragma once

#include <beck/coro/channel.hpp>
#include <beck/coro/event.hpp>
#include <beck/coro/latch.hpp>
#include <beck/coro/mutex.hpp>
#include <beck/coro/semaphore.hpp>
#include <beck/coro/shared_mutex.hpp>

namespace beck::test {
using namespace detail;

// In each class wait() returns an operation that must wait. give() ends one wait, or all waits if
// `gives_to_all`. left() takes a signal that give() has left without a waiter, and returns whether
// there was one; after it the next wait() must wait again, unless `gives_to_all`: such primitives
// stay open.
template <class... Tag>
struct mutex_room {
  static constexpr bool gives_to_all = false;
  beck::mutex primitive{Tag()...};
  mutex_room() { primitive.try_lock(); }
  auto wait() { return primitive.lock(); }
  void give() { primitive.unlock(); }
  bool left() { return primitive.try_lock(); }
};

template <class... Tag>
struct semaphore_room {
  static constexpr bool gives_to_all = false;
  beck::semaphore primitive{Tag()..., 0};
  auto wait() { return primitive.acquire(); }
  void give() { primitive.release(); }
  bool left() { return primitive.try_acquire(); }
};

template <class... Tag>
struct latch_room {
  static constexpr bool gives_to_all = true;
  beck::latch primitive{Tag()..., 1};
  auto wait() { return primitive.wait(); }
  void give() {
    if (!primitive.try_wait()) primitive.count_down();
  }
  bool left() { return primitive.try_wait(); }
};

template <class... Tag>
struct manual_event_room {
  static constexpr bool gives_to_all = true;
  beck::manual_reset_event primitive{Tag()...};
  auto wait() { return primitive.wait(); }
  void give() { primitive.set(); }
  bool left() { return primitive.is_set(); }
};

template <class... Tag>
struct auto_event_room {
  static constexpr bool gives_to_all = false;
  beck::auto_reset_event primitive{Tag()...};
  auto wait() { return primitive.wait(); }
  void give() { primitive.set(); }
  bool left() { return primitive.try_wait(); }
};

template <class... Tag>
struct writer_room {
  static constexpr bool gives_to_all = false;
  beck::shared_mutex primitive{Tag()...};
  writer_room() { primitive.try_lock(); }
  auto wait() { return primitive.lock(); }
  void give() { primitive.unlock(); }
  bool left() { return primitive.try_lock(); }
};

template <class... Tag>
struct receiver_room {
  static constexpr bool gives_to_all = false;
  beck::channel<> primitive{Tag()..., 100000};
  auto wait() { return primitive.async_receive(); }
  void give() { primitive.try_send(); }
  bool left() { return !primitive.try_receive().error(); }
};

template <class... Tag>
struct sender_room {
  static constexpr bool gives_to_all = false;
  beck::channel<> primitive{Tag()..., 1};
  sender_room() { primitive.try_send(); }
  auto wait() { return primitive.async_send(); }
  void give() { beck::ignore(primitive.try_receive()); }
  bool left() { return primitive.try_send(); }
};

}  // namespace beck::test

#define EVERY_PRIMITIVE                                                                           \
  beck::test::mutex_room<>, beck::test::mutex_room<beck::detail::concurrent_t>,                   \
      beck::test::semaphore_room<>, beck::test::semaphore_room<beck::detail::concurrent_t>,       \
      beck::test::latch_room<>, beck::test::latch_room<beck::detail::concurrent_t>,               \
      beck::test::manual_event_room<>, beck::test::manual_event_room<beck::detail::concurrent_t>, \
      beck::test::auto_event_room<>, beck::test::auto_event_room<beck::detail::concurrent_t>,     \
      beck::test::writer_room<>, beck::test::writer_room<beck::detail::concurrent_t>,             \
      beck::test::receiver_room<>, beck::test::receiver_room<beck::detail::concurrent_t>,         \
      beck::test::sender_room<>, beck::test::sender_room<beck::detail::concurrent_t>
