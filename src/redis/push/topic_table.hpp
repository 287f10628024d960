// SPDX-License-Identifier: BSL-1.0
// Channels and patterns: whether the server has them, and their subscribers. Without I/O.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include <beck/detail/intrusive_list.hpp>
#include <beck/redis/subscription.hpp>

#include "redis/push/subscriber.hpp"

namespace beck::redis::detail {

/// The words of a kind of names, in pushes and commands.
struct topic_words {
  std::string_view message;
  std::string_view subscribe;
  std::string_view unsubscribe;
};
const topic_words& words_of(topic_kind kind) noexcept;

/// Whether the server has a name subscribed, on the present connection.
enum class topic_state : std::uint8_t { off, to_be_on, on, to_be_off };

enum class topic_event : std::uint8_t {
  subscribe,     ///< the command is on its way
  unsubscribe,   ///< the command is on its way
  subscribed,    ///< the server has answered
  unsubscribed,  ///< the server has answered
  refused,       ///< a command, by the server or because it speaks RESP2
  stay,          ///< the server has refused to unsubscribe it for now
  lose,          ///< the connection is lost, or the server has unsubscribed it by itself
};

/// A channel or pattern.
struct topic {
  /// Changes the state, by the table of transitions. Nothing else does.
  void change(topic_event event) noexcept;

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

/// The names of a client, in the order in which they came. Owns them. Thread: that of the context.
class topic_table {
 public:
  using list = beck::detail::intrusive_list<topic, &topic::in_all>;

  topic_table() noexcept = default;
  topic_table(const topic_table&) = delete;
  topic_table& operator=(const topic_table&) = delete;
  /// Requires that no name has subscribers.
  ~topic_table();

  /// Returns a name; nullptr: there is none.
  topic* find(topic_kind kind, std::string_view name) noexcept;
  /// Returns a name, which is made if there is none. Throws std::bad_alloc.
  topic& get(topic_kind kind, std::string_view name);
  /// Destroys a name. Requires that it has no subscribers.
  void erase(topic& one) noexcept;
  /// Destroys the names that have no subscribers. Requires that no connection has them.
  void erase_idle() noexcept;

  list::iterator begin() noexcept { return all_.begin(); }
  list::iterator end() noexcept { return all_.end(); }

 private:
  using topic_map = std::unordered_map<std::string_view, std::unique_ptr<topic>>;

  topic_map maps_[topic_kinds];
  list all_;
};

}  // namespace beck::redis::detail
