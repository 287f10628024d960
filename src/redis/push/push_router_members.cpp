// SPDX-License-Identifier: BSL-1.0
// Calls and subscriptions: how names get subscribers and lose them.
#include <utility>

#include "redis/push/push_router.hpp"

namespace beck::redis::detail {

// --- calls of add()

add_op::handler add_call::release() noexcept {
  op->call_ = nullptr;
  return std::move(op->done_);
}

void add_call::complete(const error_code& ec) noexcept {
  add_op::handler done = release();
  delete this;
  done(ec);
}

void add_call::drop() noexcept {
  const add_op::handler gone = release();
  delete this;
}

void push_router::add(std::unique_ptr<add_call>& call, const topic_names& names, std::int64_t now) {
  call->begun_at = now;
  call->waits = std::vector<add_wait>(names.count());
  call->left = 1;  // not complete inside the loop
  try {
    std::string_view rest = names.all();
    for (add_wait& one : call->waits) {
      topic_kind kind{};
      const std::string_view name = topic_names::next(rest, kind);
      add_one(*call, one, kind, name);
    }
  } catch (...) {
    undo(*call);
    throw;
  }
  adds_.push_back(*call);
  add_call* const begun = call.release();
  if (--begun->left == 0) begun->complete(error_code());
}

void push_router::add_one(add_call& call, add_wait& wait, topic_kind kind, std::string_view name) {
  topic& to = make(kind, name);
  if (to.state == topic_state::off) note_due(to);
  membership* member = find(to, *call.of);
  if (member == nullptr) {
    member = new membership;
    member->of = call.of;
    member->in = &to;
    to.members.push_back(*member);
    call.of->memberships.push_back(*member);
    ++call.of->topics;
    ++member_count_;
  }
  ++member->claims;
  wait.call = &call;
  wait.of = member;
  member->waits.push_back(wait);
  if (to.state == topic_state::on) return;
  to.waits.push_back(wait);
  ++call.left;
}

membership* push_router::find(topic& in, const subscriber& of) noexcept {
  for (membership& one : in.members)
    if (one.of == &of) return &one;
  return nullptr;
}

/// Removes the names that no other call has added.
void push_router::undo(add_call& call) noexcept {
  for (add_wait& one : call.waits) {
    one.in_topic.unlink();
    one.in_membership.unlink();
    if (one.of != nullptr && --one.of->claims == 0) leave(*one.of);
  }
}

void push_router::end(add_call& call, const error_code& why) noexcept {
  undo(call);
  call.complete(why);
}

void push_router::forget(add_call& call) noexcept {
  undo(call);
  call.drop();
}

std::int64_t push_router::adding_since() noexcept {
  if (adds_.empty()) return INT64_MAX;
  const std::int64_t since = adds_.front()->begun_at;
  return since > down_since_ ? since : down_since_;
}

void push_router::end_adds(const error_code& why, std::int64_t before) noexcept {
  while (adding_since() < before) end(*adds_.front(), why);
}

void push_router::end_lost_adds(const error_code& why, std::uint32_t attempts) noexcept {
  for (add_call* call = adds_.front(); call != nullptr;) {
    add_call* const next = adds_.after(*call);
    if (call->losses >= attempts) end(*call, why);
    call = next;
  }
}

// --- subscriptions

/// Ends a membership, and with it the waits of calls for its name.
void push_router::leave(membership& one) noexcept {
  find_again(one);
  while (add_wait* const wait = one.waits.pop_front()) {
    wait->of = nullptr;
    if (wait->in_topic.is_linked()) stop_waiting(*wait);
  }
  if (one.in->state != topic_state::to_be_on) note_due(*one.in);
  --one.of->topics;
  --member_count_;
  delete &one;
}

void push_router::remove(subscriber& from, const topic_names& names) noexcept {
  std::string_view rest = names.all();
  while (!rest.empty()) {
    topic_kind kind{};
    const std::string_view name = topic_names::next(rest, kind);
    topic* const in = find(kind, name);
    membership* const member = in != nullptr ? find(*in, from) : nullptr;
    if (member != nullptr) leave(*member);
  }
}

/// Ends the wait of a call for one name. With the last one it completes.
void push_router::stop_waiting(add_wait& one) noexcept {
  one.in_topic.unlink();
  if (--one.call->left == 0) one.call->complete(error_code());
}

void push_router::end(subscriber& one, const error_code& why) noexcept {
  for (add_call* call = adds_.front(); call != nullptr;) {
    add_call* const next = adds_.after(*call);
    if (call->of == &one) end(*call, why);
    call = next;
  }
  one.end(why);
  while (membership* const each = one.memberships.front()) leave(*each);
}

void push_router::end_all(const error_code& why) noexcept {
  for (subscriber& one : subscribers_) end(one, why);
}

void push_router::drop_all() noexcept {
  while (add_call* const one = adds_.front()) forget(*one);
  beck::detail::waiter_chain waiting;  // a handler that is dropped may own a subscription
  for (subscriber& one : subscribers_) one.take_waiters(waiting);
  waiting.wake_all(beck::detail::waiter::dropped);
}

// --- names

topic* push_router::find(topic_kind kind, std::string_view name) noexcept {
  topic_map& map = topics_[static_cast<std::size_t>(kind)];
  const auto at = map.find(name);
  return at == map.end() ? nullptr : at->second.get();
}

topic& push_router::make(topic_kind kind, std::string_view name) {
  if (topic* const known = find(kind, name)) return *known;
  auto made = std::make_unique<topic>();
  topic& one = *made;
  one.kind = kind;
  one.name = name;
  topics_[static_cast<std::size_t>(kind)].emplace(one.name, std::move(made));
  all_.push_back(one);
  return one;
}

void push_router::erase(topic& one) noexcept {
  one.in_all.unlink();
  one.in_due.unlink();
  topic_map& map = topics_[static_cast<std::size_t>(one.kind)];
  map.erase(map.find(one.name));
}

}  // namespace beck::redis::detail
