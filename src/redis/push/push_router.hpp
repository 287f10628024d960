// SPDX-License-Identifier: BSL-1.0
// The subscriptions of a client: which names are wanted and which ones the server has confirmed on
// the present connection, the commands that make the one the other, and the way of each push to its
// subscribers. Without I/O and without clock.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <beck/detail/intrusive_list.hpp>
#include <beck/redis/subscription.hpp>

#include "redis/push/subscriber.hpp"
#include "redis/session/session.hpp"

namespace beck::redis::detail {

/// A call of subscription::add() under way.
struct add_call {
  /// Ends the operation; the call is destroyed.
  void complete(const error_code& ec) noexcept;
  /// Drops the operation; the call is destroyed.
  void drop() noexcept;

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

/// Whether the server has a name subscribed, on the present connection.
enum class topic_state : std::uint8_t { off, to_be_on, on, to_be_off };

/// A channel or pattern.
struct topic {
  topic_kind kind;
  std::string name;
  topic_state state = topic_state::off;
  std::uint8_t refusals = 0;  ///< for now, since it was last confirmed
  std::uint8_t losses = 0;    ///< by the server's own will, since the last message
  beck::detail::list_hook in_all;
  beck::detail::list_hook in_due;
  beck::detail::intrusive_list<membership, &membership::in_topic> members;
  beck::detail::intrusive_list<add_wait, &add_wait::in_topic> waits;
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
  /// Ends, with `why`, the calls that were lost with `attempts` connections.
  void end_lost_adds(const error_code& why, std::uint32_t attempts) noexcept;
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
  /// Takes the end of a connection, after the session. `was_ready`: commands could be sent.
  void lost(std::int64_t now, bool was_ready) noexcept;
  /// Returns when wake() is due: names that the server has refused for now wait until then.
  std::int64_t wake_at() const noexcept { return later_.empty() ? INT64_MAX : wake_at_; }
  void wake(std::int64_t now) noexcept;
  /// Sets the time, for pushes and answers that follow.
  void set_time(std::int64_t now) noexcept { now_ = now; }

  void take_push(const value& message) override;
  void take_cut_push(const value& message) override;

 private:
  class commands;
  using topic_map = std::unordered_map<std::string_view, std::unique_ptr<topic>>;

  topic* find(topic_kind kind, std::string_view name) noexcept;
  topic& make(topic_kind kind, std::string_view name);
  void add_one(add_call& call, add_wait& wait, topic_kind kind, std::string_view name);
  static membership* find(topic& in, const subscriber& of) noexcept;
  void undo(add_call& call) noexcept;
  static void stop_waiting(add_wait& one) noexcept;
  void leave(membership& one) noexcept;
  void note_due(topic& one) noexcept;
  void wait(topic& one) noexcept;
  void miss(topic& one) noexcept;
  static void find_again(membership& one) noexcept;
  bool is_asking() const noexcept;
  void deliver(topic& to, std::string_view pattern, std::string_view channel,
               std::string_view payload);
  void take_away(topic& one) noexcept;
  // answers
  void confirm(topic& one) noexcept;
  void refuse(topic& one, const error_code& why) noexcept;
  void refuse_due(const error_code& why) noexcept;
  void erase_idle() noexcept;
  void erase(topic& one) noexcept;

  topic_map topics_[topic_kinds];
  beck::detail::intrusive_list<topic, &topic::in_all> all_;
  beck::detail::intrusive_list<topic, &topic::in_due> due_;
  beck::detail::intrusive_list<topic, &topic::in_due> later_;  // refused for now
  beck::detail::intrusive_list<add_call, &add_call::in_router> adds_;
  beck::detail::intrusive_list<subscriber, &subscriber::in_router> subscribers_;
  std::unique_ptr<commands> asking_;
  std::uint64_t fences_ = 0;
  std::size_t member_count_ = 0;
  std::int64_t now_ = 0;
  std::int64_t down_since_ = INT64_MIN;
  std::int64_t wake_at_ = 0;
  std::int64_t pause_ = 0;  // the last one
  bool is_resp2_ = false;
};

}  // namespace beck::redis::detail
