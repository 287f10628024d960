// SPDX-License-Identifier: BSL-1.0
// Calls and subscriptions: how names get subscribers and lose them.
#include <utility>

#include <beck/base/assert.hpp>

#include "redis/push/push_router.hpp"

namespace beck::redis::detail {
namespace {

membership* find_member(topic& in, const subscriber& of) noexcept {
  for (membership& one : in.members)
    if (one.of == &of) return &one;
  return nullptr;
}

}  // namespace

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

void add_call::end_wait(add_wait& one) noexcept {
  BECK_ASSERT(left != 0, "a call of add() waits for no name");
  one.in_topic.unlink();
  if (--left == 0) complete(error_code());
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
  topic& to = topics_.get(kind, name);
  if (to.state == topic_state::off) due_.add(to);
  membership* member = find_member(to, *call.of);
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

// --- subscriptions

/// Ends a membership, and with it the waits of calls for its name.
void push_router::leave(membership& one) noexcept {
  BECK_ASSERT(member_count_ != 0 && one.of->topics != 0,
              "a name has lost more subscribers than it had");
  one.of->find_again(one);
  while (add_wait* const wait = one.waits.pop_front()) {
    wait->of = nullptr;
    if (wait->in_topic.is_linked()) wait->call->end_wait(*wait);
  }
  if (one.in->state != topic_state::to_be_on) due_.add(*one.in);
  --one.of->topics;
  --member_count_;
  delete &one;
}

void push_router::remove(subscriber& from, const topic_names& names) noexcept {
  std::string_view rest = names.all();
  while (!rest.empty()) {
    topic_kind kind{};
    const std::string_view name = topic_names::next(rest, kind);
    topic* const in = topics_.find(kind, name);
    membership* const member = in != nullptr ? find_member(*in, from) : nullptr;
    if (member != nullptr) leave(*member);
  }
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

}  // namespace beck::redis::detail
