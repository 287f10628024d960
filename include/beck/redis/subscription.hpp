// SPDX-License-Identifier: BSL-1.0
//
// Subscriptions: the messages of channels, as events that a coroutine awaits one by one. They come
// over the connection of the client, beside the replies, and go on over the next one.
#pragma once

#include <beck/base/io_result.hpp>
#include <beck/detail/waiter.hpp>
#include <beck/redis/byte_store.hpp>
#include <beck/redis/request.hpp>
#include <beck/run/op.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace beck::redis {

class client;

/// Names all channels that fit a pattern, as PSUBSCRIBE does: `sub.add(redis::pattern("log.*"))`.
class pattern {
 public:
  /// Refers to `text`, which must outlive the call that it is passed to.
  explicit constexpr pattern(std::string_view text) noexcept : text_(text) {}
  constexpr std::string_view text() const noexcept { return text_; }

 private:
  std::string_view text_;
};

/// Names a channel of a slot, as SSUBSCRIBE and SPUBLISH do: `sub.add(redis::sharded("{a}x"))`.
class sharded {
 public:
  /// Refers to `text`, which must outlive the call that it is passed to.
  explicit constexpr sharded(std::string_view text) noexcept : text_(text) {}
  constexpr std::string_view text() const noexcept { return text_; }

 private:
  std::string_view text_;
};

/// Which messages are lost when the queue of a subscription is full.
enum class overflow_policy : std::uint8_t {
  drop_oldest,    ///< those that have waited for longest; a gap event stands for them
  drop_newest,    ///< those that come; a gap event stands for them
  end_when_full,  ///< all: the subscription ends with error::queue_full behind the queued messages
};
using enum overflow_policy;

/// The limits of a subscription.
struct subscription_options {
  /// Which messages are lost when the queue is full. The connection is read on in any case, since
  /// it carries the replies of others.
  overflow_policy overflow = overflow_policy::drop_oldest;
  /// The greatest number of messages in the queue. 0 counts as 1.
  std::size_t events = 4'096;
  /// The greatest number of bytes of the messages in the queue, 8 MiB: names, payloads, and 32
  /// bytes for each. A larger message is held alone.
  std::size_t queue_bytes = 8'388'608;
  /// The greatest number of channels and patterns; a call that adds more ends with
  /// error::request_too_large.
  std::size_t channels = 65'536;
};
static_assert(std::is_trivially_destructible_v<subscription_options>);

namespace detail {

class subscriber;
struct add_call;

/// The kinds of names. Each has commands and pushes of its own.
enum class topic_kind : std::uint8_t { channel, pattern, shard };
inline constexpr std::size_t topic_kinds = 3;

/// The texts of a push, which all its subscribers share; they lie behind the object.
struct push_message {
  std::uint32_t shares;
  std::uint32_t pattern_bytes;
  std::uint32_t channel_bytes;
  std::uint32_t payload_bytes;

  const char* text() const noexcept { return reinterpret_cast<const char*>(this + 1); }
  std::size_t bytes() const noexcept {
    return sizeof *this + pattern_bytes + channel_bytes + std::size_t{payload_bytes};
  }
};

/// Releases a share of a message.
void drop_share(push_message& of) noexcept;

/// Copies of the names that a call has.
class topic_names {
 public:
  template <class... Name>
  explicit topic_names(const Name&... names) {
    (add(names), ...);
  }

  static constexpr std::size_t name_bytes_max = 65'536;

  std::size_t count() const noexcept { return count_; }
  /// Returns whether a name was left out, since it is longer than name_bytes_max.
  bool has_long_name() const noexcept { return has_long_name_; }
  /// Takes the first name off `rest`, which began as all().
  static std::string_view next(std::string_view& rest, topic_kind& kind) noexcept;
  std::string_view all() const noexcept { return bytes_.view(); }

 private:
  void add(std::string_view channel) { add(topic_kind::channel, channel); }
  void add(const pattern& all) { add(topic_kind::pattern, all.text()); }
  void add(const sharded& one) { add(topic_kind::shard, one.text()); }
  template <class Range>
  void add(const spread_range<Range>& all) {
    for (const auto& one : all.range) add(one);
  }
  void add(topic_kind kind, std::string_view name);

  small_store<96> bytes_;
  std::size_t count_ = 0;
  bool has_long_name_ = false;
};

}  // namespace detail

/// An event of a subscription: a message, or a gap between messages. Move-only. Thread:
/// that of the client's context. It may outlive subscription and client.
class push_event {
 public:
  /// Makes a gap.
  push_event() noexcept = default;
  /// For the library: takes over a share.
  explicit push_event(detail::push_message& message) noexcept : message_(&message) {}
  /// For the library: makes the gap of a full queue.
  explicit push_event(std::uint64_t dropped) noexcept : dropped_(dropped) {}
  push_event(push_event&& other) noexcept
      : message_(std::exchange(other.message_, nullptr)), dropped_(other.dropped_) {}
  push_event& operator=(push_event&& other) noexcept {
    std::swap(message_, other.message_);
    std::swap(dropped_, other.dropped_);
    return *this;
  }
  ~push_event() {
    if (message_ != nullptr) detail::drop_share(*message_);
  }

  /// Returns whether messages may be lost at this place: the connection was lost, and all channels
  /// are subscribed again; or the queue was full, or a message too large. Then there is no message.
  bool is_gap() const noexcept { return message_ == nullptr; }
  /// Returns how many messages were lost because the queue was full, or because they were larger
  /// than parse_limits::push_bytes of client_options::parsing. 0 of a message, and of a
  /// connection that was lost, where the number is not known.
  std::uint64_t dropped() const noexcept { return dropped_; }

  /// Returns the channel that the message was sent to; empty of a gap. The texts are valid as long
  /// as the event.
  std::string_view channel() const noexcept {
    return is_gap() ? std::string_view()
                    : std::string_view(message_->text() + message_->pattern_bytes,
                                       message_->channel_bytes);
  }
  /// Returns the pattern that the channel fits; empty if the message came for its channel. A client
  /// that has subscribed to both gets both.
  std::string_view pattern() const noexcept {
    return is_gap() ? std::string_view()
                    : std::string_view(message_->text(), message_->pattern_bytes);
  }
  /// Returns the text of the message; empty of a gap.
  std::string_view payload() const noexcept {
    return is_gap() ? std::string_view()
                    : std::string_view(
                          message_->text() + message_->pattern_bytes + message_->channel_bytes,
                          message_->payload_bytes);
  }

 private:
  detail::push_message* message_ = nullptr;
  std::uint64_t dropped_ = 0;
};

namespace detail {

/// The operation of subscription::next().
class [[nodiscard]] next_op : public op<next_op, void(error_code, push_event)>,
                              private beck::detail::waiter {
 public:
  static constexpr const char* waits_for = "redis next";

  explicit next_op(subscriber& from) noexcept : from_(&from) {}
  next_op(next_op&& inert) noexcept
      : op(static_cast<op&&>(inert)), waiter(static_cast<waiter&&>(inert)), from_(inert.from_) {}
  ~next_op();

  bool ready() noexcept;
  void initiate(handler done);
  void cancel() noexcept;
  any_io_executor get_executor() const noexcept;

 private:
  friend class subscriber;

  void complete(error_code ec, push_event&& event) noexcept;
  static void drop(waiter& self, int result) noexcept;

  subscriber* from_;
  handler done_;
};

/// The operation of subscription::add().
class [[nodiscard]] add_op : public op<add_op, void(error_code)> {
 public:
  static constexpr const char* waits_for = "redis subscribe";

  add_op(subscriber& to, topic_names&& names) noexcept
      : to_(&to), names_(static_cast<topic_names&&>(names)) {}
  add_op(add_op&& inert) noexcept
      : op(static_cast<op&&>(inert)),
        to_(inert.to_),
        names_(static_cast<topic_names&&>(inert.names_)) {}
  ~add_op();

  void initiate(handler done);
  void cancel() noexcept;
  any_io_executor get_executor() const noexcept;

 private:
  friend struct add_call;

  subscriber* to_;
  topic_names names_;
  handler done_;
  add_call* call_ = nullptr;  // under way
};

}  // namespace detail

/// Any number of channels and patterns of a client, whose messages wait in one queue. A client may
/// have any number of subscriptions, also for the same channels: the server is asked once, and each
/// gets each message.
///
///   redis::subscription sub(db, {.overflow = redis::drop_oldest});
///   auto on = co_await sub.add("news", redis::pattern("log.*"), redis::sharded("{a}x"));
///   for (;;) {
///     auto e = co_await sub.next();      // commands may run in this loop
///     if (!e) co_return;                 // ended
///     if (!e->is_gap()) use(e->channel(), e->payload());
///   }
///
/// Messages of one connection come in the server's order. A loss between two of them is
/// announced by a gap event at its place. When the connection is lost the client makes the next one
/// by itself, and subscribes before it sends any command. The gap comes when the server has
/// confirmed all channels, before the first message of the new connection.
/// It ends, behind the events that have come: with operation_aborted when the client is closed;
/// with the server's error (noperm) if a channel is refused on a new connection; with noproto if
/// that speaks RESP2; with queue_full under end_when_full. Later calls end in the same way.
/// Thread: that of the client's context. Lifetime: subscription and client may end in any order,
/// both before the context. The destructor unsubscribes from channels that no other subscription
/// of the client has, without waiting, and ends the calls under way with operation_aborted.
class subscription {
 public:
  /// Makes a subscription without channels. Throws std::bad_alloc.
  explicit subscription(client& of, const subscription_options& how = subscription_options());
  ~subscription();
  subscription(const subscription&) = delete;
  subscription& operator=(const subscription&) = delete;

  /// Subscribes to channels (texts), pattern(), sharded(), and each() of a range of them; the names
  /// are copied. Completes with (error_code) when the server has confirmed all. Messages are queued
  /// from its confirmation on, also before the completion. Waits for a connection as commands do.
  /// Errors: the server's, such as noperm; noproto: the server does not speak RESP3;
  /// request_too_large: subscription_options::channels, or a name of more than 64 KiB; those of a
  /// connection that is not made, and of the last of client_options::attempts that are lost.
  /// Cancellation, and each error: the channels that this call has added are removed again.
  template <class... Name>
  detail::add_op add(const Name&... names) {
    return detail::add_op(*self_, detail::topic_names(names...));
  }
  /// Removes channels; others are ignored. Their messages that have come already stay in the queue.
  /// Does not wait for the server. Throws std::bad_alloc; then nothing has changed.
  template <class... Name>
  void remove(const Name&... names) {
    remove_all(detail::topic_names(names...));
  }

  /// Waits for the next event; with one in the queue, completes at once. Completes with
  /// (error_code, push_event). Several calls are served in their order.
  /// Cancellation: operation_aborted; no event is lost.
  detail::next_op next() noexcept { return detail::next_op(*self_); }
  /// Returns the next event; an error: error::would_block if there is none, or how it has ended.
  io_result<push_event> try_next() noexcept;

 private:
  void remove_all(const detail::topic_names& names) noexcept;

  detail::subscriber* self_;
};

}  // namespace beck::redis
