// SPDX-License-Identifier: BSL-1.0
// The synchronisation primitives behind one interface: a wait that ends for one waiter at a time or
// for all, so that cases about their common guarantees run once for each.
#pragma once

#include <doctest/doctest.h>
#include <beck/coro/channel.hpp>
#include <beck/coro/event.hpp>
#include <beck/coro/latch.hpp>
#include <beck/coro/mutex.hpp>
#include <beck/coro/semaphore.hpp>
#include <beck/coro/shared_mutex.hpp>

namespace beck::test {
using namespace detail;

/// The callers of a primitive: one context, or contexts on several threads, for which it is made
/// with beck::concurrent.
enum class sharing : unsigned char { one_context, threads };

/// Runs the case that calls it twice, with one result each.
inline sharing each_sharing() {
  sharing with = sharing::one_context;
  SUBCASE("for one context") {}
  SUBCASE("for several threads") { with = sharing::threads; }
  return with;
}

// In each class wait() returns an operation that must wait. give() ends one wait, or all waits if
// `gives_to_all`. left() takes a signal that give() has left without a waiter, and returns whether
// there was one; after it the next wait() must wait again, unless `gives_to_all`: such primitives
// stay open.
struct mutex_room {
  static constexpr bool gives_to_all = false;
  beck::mutex primitive;
  explicit mutex_room(sharing with)
      : primitive(with == sharing::threads ? beck::mutex(concurrent) : beck::mutex()) {
    primitive.try_lock();
  }
  auto wait() { return primitive.lock(); }
  void give() { primitive.unlock(); }
  bool left() { return primitive.try_lock(); }
};

struct semaphore_room {
  static constexpr bool gives_to_all = false;
  beck::semaphore primitive;
  explicit semaphore_room(sharing with)
      : primitive(with == sharing::threads ? beck::semaphore(concurrent, 0) : beck::semaphore(0)) {}
  auto wait() { return primitive.acquire(); }
  void give() { primitive.release(); }
  bool left() { return primitive.try_acquire(); }
};

struct latch_room {
  static constexpr bool gives_to_all = true;
  beck::latch primitive;
  explicit latch_room(sharing with)
      : primitive(with == sharing::threads ? beck::latch(concurrent, 1) : beck::latch(1)) {}
  auto wait() { return primitive.wait(); }
  void give() {
    if (!primitive.try_wait()) primitive.count_down();
  }
  bool left() { return primitive.try_wait(); }
};

struct manual_event_room {
  static constexpr bool gives_to_all = true;
  beck::manual_reset_event primitive;
  explicit manual_event_room(sharing with)
      : primitive(with == sharing::threads ? beck::manual_reset_event(concurrent)
                                           : beck::manual_reset_event()) {}
  auto wait() { return primitive.wait(); }
  void give() { primitive.set(); }
  bool left() { return primitive.is_set(); }
};

struct auto_event_room {
  static constexpr bool gives_to_all = false;
  beck::auto_reset_event primitive;
  explicit auto_event_room(sharing with)
      : primitive(with == sharing::threads ? beck::auto_reset_event(concurrent)
                                           : beck::auto_reset_event()) {}
  auto wait() { return primitive.wait(); }
  void give() { primitive.set(); }
  bool left() { return primitive.try_wait(); }
};

struct writer_room {
  static constexpr bool gives_to_all = false;
  beck::shared_mutex primitive;
  explicit writer_room(sharing with)
      : primitive(with == sharing::threads ? beck::shared_mutex(concurrent)
                                           : beck::shared_mutex()) {
    primitive.try_lock();
  }
  auto wait() { return primitive.lock(); }
  void give() { primitive.unlock(); }
  bool left() { return primitive.try_lock(); }
};

struct receiver_room {
  static constexpr bool gives_to_all = false;
  beck::channel<> primitive;
  explicit receiver_room(sharing with)
      : primitive(with == sharing::threads ? beck::channel<>(concurrent, 100000)
                                           : beck::channel<>(100000)) {}
  auto wait() { return primitive.async_receive(); }
  void give() { primitive.try_send(); }
  bool left() { return !primitive.try_receive().error(); }
};

struct sender_room {
  static constexpr bool gives_to_all = false;
  beck::channel<> primitive;
  explicit sender_room(sharing with)
      : primitive(with == sharing::threads ? beck::channel<>(concurrent, 1) : beck::channel<>(1)) {
    primitive.try_send();
  }
  auto wait() { return primitive.async_send(); }
  void give() { beck::ignore(primitive.try_receive()); }
  bool left() { return primitive.try_send(); }
};

}  // namespace beck::test

#define EVERY_PRIMITIVE                                                                    \
  beck::test::mutex_room, beck::test::semaphore_room, beck::test::latch_room,              \
      beck::test::manual_event_room, beck::test::auto_event_room, beck::test::writer_room, \
      beck::test::receiver_room, beck::test::sender_room
