// SPDX-License-Identifier: BSL-1.0
// The subscriptions of a client: which names are wanted and which ones the server has confirmed on
// the present connection, the commands that make the one the other, and the way of each push to its
// subscribers. Without I/O and without clock.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <beck/detail/intrusive_list.hpp>
#include <beck/redis/exchange.hpp>
#include <beck/redis/subscription.hpp>

#include "redis/push/due_topics.hpp"
#include "redis/push/subscriber.hpp"
#include "redis/push/topic_table.hpp"
#include "redis/session/push_reader.hpp"

namespace beck::redis::detail {

/// A call of subscription::add() under way.
struct add_call {
  /// Ends the operation; the call is destroyed.
  void complete(const error_code& ec) noexcept;
  /// Drops the operation; the call is destroyed.
  void drop() noexcept;
  /// Ends the wait for a name. With the last one the call completes, and is destroyed.
  void end_wait(add_wait& one) noexcept;

  beck::detail::list_hook in_router;
  add_op* op = nullptr;
  subscriber* of = nullptr;
  std::int64_t begun_at = 0;
  std::uint32_t losses = 0;  ///< connections that were ready, and lost before its end
  std::size_t left = 0;      ///< names that are not confirmed
  std::vector<add_wait> waits;

 private:
  add_op::handler release() noexcept;
};

/// The subscriptions of a client. Thread: that of its context.
class push_router final : public push_sink {
 public:
  push_router() noexcept;
  ~push_router();

  // subscribing

  /// Adds the names of a call, which then waits; it completes at once if all are confirmed. Throws
  /// std::bad_alloc; then nothing has changed, and the caller keeps the call.
  void add(std::unique_ptr<add_call>& call, const topic_names& names, std::int64_t now);
  /// Ends a call, and removes the names that it has added.
  void end(add_call& call, const error_code& why) noexcept;
  /// As end(), without calling its handler: the operation is destroyed.
  void forget(add_call& call) noexcept;
  void remove(subscriber& from, const topic_names& names) noexcept;
  /// Ends a subscription, and its calls.
  void end(subscriber& one, const error_code& why) noexcept;
  /// Ends all of them.
  void end_all(const error_code& why) noexcept;
  /// Drops the operations that wait: the context is being destroyed.
  void drop_all() noexcept;
  /// Ends, with `why`, the calls that wait since a time before `before`: since they came, or since
  /// the last connection that was ready was lost. Call it while no connection is ready.
  void end_adds(const error_code& why, std::int64_t before) noexcept;
  /// Returns since when the first of these calls waits; INT64_MAX: there is none.
  std::int64_t adding_since() noexcept;
  /// Returns whether a connection is needed.
  bool is_wanted() noexcept { return member_count_ != 0; }
  void join(subscriber& one) noexcept { subscribers_.push_back(one); }
  void leave(subscriber& one) noexcept { subscribers_.erase(one); }

  // connections

  /// Returns the commands that are due, to be sent before all others; nullptr if there are none, or
  /// the last ones have no answer yet. Call it while a connection is ready. Throws std::bad_alloc;
  /// the connection must be closed then.
  exchange* next_commands();
  /// Returns whether next_commands() may return some.
  bool has_commands() noexcept { return !due_.empty() && !is_asking(); }
  /// Returns whether the server has answered all commands that were due.
  bool is_done() const noexcept { return due_.empty() && !is_asking(); }
  /// Sets that the connection speaks RESP2, up to lost(): nothing can be subscribed.
  void set_resp2() noexcept { is_resp2_ = true; }
  /// Takes the end of a connection, after the session. `was_ready`: commands could be sent. Calls
  /// that were lost with `attempts` connections end with `why`.
  void lost(std::int64_t now, bool was_ready, const error_code& why,
            std::uint32_t attempts) noexcept;
  /// Returns when wake() is due: names that the server has refused for now wait until then.
  std::int64_t wake_at() const noexcept { return due_.wake_at(); }
  void wake(std::int64_t now) noexcept { due_.wake(now); }
  /// Sets the time, for pushes and answers that follow.
  void set_time(std::int64_t now) noexcept { due_.set_time(now); }

  void take_push(const value& message) override;
  void take_cut_push(const value& message) override;

 private:
  class commands;

  void add_one(add_call& call, add_wait& wait, topic_kind kind, std::string_view name);
  void undo(add_call& call) noexcept;
  void leave(membership& one) noexcept;
  bool is_asking() const noexcept;
  void deliver(topic& to, std::string_view pattern, std::string_view channel,
               std::string_view payload);
  void take_away(topic& one) noexcept;
  // answers
  void confirm(topic& one) noexcept;
  void refuse(topic& one, const error_code& why) noexcept;

  due_topics due_;  // outlives the names, which leave it when they are destroyed
  topic_table topics_;
  beck::detail::intrusive_list<add_call, &add_call::in_router> adds_;
  beck::detail::intrusive_list<subscriber, &subscriber::in_router> subscribers_;
  std::unique_ptr<commands> asking_;
  std::uint64_t fences_ = 0;
  std::size_t member_count_ = 0;
  std::int64_t down_since_ = INT64_MIN;
  bool is_resp2_ = false;
};

}  // namespace beck::redis::detail
