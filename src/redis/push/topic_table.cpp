// SPDX-License-Identifier: BSL-1.0
// Names by their kinds, and the table of their states.
#include "redis/push/topic_table.hpp"

#include <utility>

#include <beck/base/assert.hpp>

#include "base/transitions.hpp"

namespace beck::redis::detail {
namespace {

constexpr topic_words words_of_kinds[topic_kinds] = {
    {"message", "subscribe", "unsubscribe"},
    {"pmessage", "psubscribe", "punsubscribe"},
    {"smessage", "ssubscribe", "sunsubscribe"},
};

/// In the order of topic_event.
constexpr beck::detail::transition_table<topic_state, 7> topic_transitions = [] {
  using beck::detail::any_but;
  using beck::detail::any_of;
  using enum topic_state;
  return beck::detail::transition_table<topic_state, 7>{{
      /* subscribe    */ {to_be_on, any_of({off})},
      /* unsubscribe  */ {to_be_off, any_of({on})},
      /* subscribed   */ {on, any_of({to_be_on})},
      /* unsubscribed */ {off, any_of({to_be_off})},
      /* refused      */ {off, any_but({on})},
      /* stay         */ {on, any_of({to_be_off})},
      /* lose         */ {off, any_of({off, to_be_on, on, to_be_off})},
  }};
}();

}  // namespace

const topic_words& words_of(topic_kind kind) noexcept {
  return words_of_kinds[static_cast<std::size_t>(kind)];
}

void topic::change(topic_event event) noexcept { advance(state, event, topic_transitions); }

topic_table::~topic_table() {
  while (topic* const one = all_.front()) erase(*one);
}

topic* topic_table::find(topic_kind kind, std::string_view name) noexcept {
  topic_map& map = maps_[static_cast<std::size_t>(kind)];
  const auto at = map.find(name);
  return at == map.end() ? nullptr : at->second.get();
}

topic& topic_table::get(topic_kind kind, std::string_view name) {
  if (topic* const known = find(kind, name)) return *known;
  auto made = std::make_unique<topic>();
  topic& one = *made;
  one.kind = kind;
  one.name = name;
  maps_[static_cast<std::size_t>(kind)].emplace(one.name, std::move(made));
  all_.push_back(one);
  return one;
}

void topic_table::erase(topic& one) noexcept {
  BECK_ASSERT(one.members.empty() && one.waits.empty(), "a name was erased that has subscribers");
  one.in_all.unlink();
  one.in_due.unlink();
  topic_map& map = maps_[static_cast<std::size_t>(one.kind)];
  map.erase(map.find(one.name));
}

void topic_table::erase_idle() noexcept {
  for (topic* one = all_.front(); one != nullptr;) {
    topic* const next = all_.after(*one);
    if (one->members.empty()) {
      BECK_ASSERT(one->state == topic_state::off, "a name was erased that the server may have");
      erase(*one);
    }
    one = next;
  }
}

}  // namespace beck::redis::detail
