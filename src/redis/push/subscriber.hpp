// SPDX-License-Identifier: BSL-1.0
// The queue of a subscription: messages, the gaps between them, and the operations that wait for
// both. Without I/O.
#pragma once

#include <cstdint>

#include <beck/detail/channel_buffer.hpp>
#include <beck/detail/intrusive_list.hpp>
#include <beck/detail/waiter.hpp>
#include <beck/redis/exec.hpp>
#include <beck/redis/subscription.hpp>

namespace beck::redis::detail {

struct topic;
struct add_call;
struct membership;
class subscriber;

/// A name of a call of add() under way.
struct add_wait {
  beck::detail::list_hook in_topic;  ///< while it is not confirmed
  beck::detail::list_hook in_membership;
  add_call* call = nullptr;
  membership* of = nullptr;  ///< nullptr: not begun, or removed since
};

/// A subscriber of a topic.
struct membership {
  beck::detail::list_hook in_topic;
  beck::detail::list_hook in_subscriber;
  beck::detail::intrusive_list<add_wait, &add_wait::in_membership> waits;
  subscriber* of;
  topic* in;
  std::uint32_t claims = 0;  ///< calls of add() that have named it
  bool is_missing = false;   ///< the topic was confirmed, then lost, and is not confirmed again
};

/// Makes a message of one share. Throws std::bad_alloc.
push_message* make_message(std::string_view pattern, std::string_view channel,
                           std::string_view payload);

/// The queue of a subscription. Thread: that of the context.
class subscriber {
 public:
  subscriber(link_ref of, const subscription_options& how) noexcept;
  ~subscriber();
  subscriber(const subscriber&) = delete;
  subscriber& operator=(const subscriber&) = delete;

  link& owner() const noexcept { return *link_; }
  const subscription_options& bounds() const noexcept { return bounds_; }
  /// Returns why it has ended; none if it has not.
  const error_code& end_reason() const noexcept { return end_reason_; }

  // events

  /// Adds a share of a message, or counts it as dropped. Returns false if the queue is full, and
  /// the subscription is to end then. Throws std::bad_alloc; then nothing has changed.
  bool offer(push_message& message);
  /// Counts a message that was not read as dropped, behind all that has come.
  void drop_next() noexcept;
  /// Marks a gap behind all that has come, because the server does not have a name any more. It and
  /// the events behind it stay in the queue until all such names are found again.
  void miss(membership& one) noexcept;
  /// Ends the gap with the last name that was missed.
  void find_again(membership& one) noexcept;
  /// Ends the subscription behind the events that have come.
  void end(const error_code& why) noexcept;
  /// Drops the events: the subscription is being destroyed.
  void clear() noexcept;
  /// Takes the operations that wait.
  void take_waiters(beck::detail::waiter_chain& into) noexcept { waiters_.take_all(into); }

  /// Takes the next event, or the reason of the end. Returns false if there is neither.
  bool take(error_code& ec, push_event& event) noexcept;
  void wait(next_op& one) noexcept { waiters_.join(one); }
  /// Returns false if the operation was completed before.
  bool leave(next_op& one) noexcept { return waiters_.leave(one); }

  // of the router

  beck::detail::list_hook in_router;
  beck::detail::intrusive_list<membership, &membership::in_subscriber> memberships;
  std::size_t topics = 0;  ///< memberships

 private:
  /// The loss before a message.
  struct hole {
    std::uint64_t dropped = 0;
    bool is_gap = false;
  };
  struct item {
    push_message* message;
    hole before;
  };

  bool is_held() const noexcept { return missing_ != 0 && !end_reason_; }
  bool is_full(std::size_t bytes) const noexcept;
  void drop_oldest() noexcept;
  void pop() noexcept;
  void serve() noexcept;

  link_ref link_;
  const subscription_options bounds_;
  beck::detail::item_ring<item> queue_;
  hole behind_;                // the loss behind the last message
  std::size_t bytes_ = 0;      // of the messages in the queue
  std::uint64_t popped_ = 0;   // the number of the message at the front, from 0
  std::uint64_t held_at_ = 0;  // while is_held(): the first message behind the gap
  std::size_t missing_ = 0;    // memberships that are missing
  error_code end_reason_;
  beck::detail::waiter_list waiters_;
};

}  // namespace beck::redis::detail
