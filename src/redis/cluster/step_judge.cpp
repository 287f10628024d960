// SPDX-License-Identifier: BSL-1.0
// The rules for commands that have no final reply.
#include "redis/cluster/step_judge.hpp"

#include <algorithm>
#include <bitset>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <beck/base/assert.hpp>
#include <beck/redis/command_table.hpp>
#include <beck/redis/error.hpp>

#include "redis/session/repeat_rules.hpp"

namespace beck::redis::detail {

namespace {

/// Returns whether a server that answers so has not run the command, and it may be sent again.
bool is_not_run(const error_code& why) noexcept {
  return why && (why == error::moved || why == error::ask || why == error::readonly ||
                 is_refused_for_now(why));
}

bool may_have_run(const cluster_step& one) noexcept {
  return one.state == step_state::sent || one.state == step_state::ended;
}

}  // namespace

/// The commands of a call that may have run, behind the one that judge() looks at. Its costs are in
/// proportion to the number of commands, however many ask for their keys.
class steps_behind {
 public:
  explicit steps_behind(const std::vector<cluster_step>& steps) noexcept
      : steps_(steps), keys_from_(steps.size()) {}

  /// Adds a command, in front of those that were added.
  void add(const cluster_step& one) noexcept {
    if (may_have_run(one) && one.slot != cluster_step::no_slot) slots_.set(one.slot);
  }
  /// Returns whether one of them has the slot of the command.
  bool have_slot_of(const cluster_step& one) const noexcept {
    return one.slot != cluster_step::no_slot && slots_.test(one.slot);
  }
  /// Returns whether one of them has a key of the command `i`, or keys that the table of commands
  /// does not find.
  bool have_key_of(std::size_t i) noexcept {
    try {
      for (; keys_from_ > i + 1; --keys_from_) add_keys(steps_[keys_from_ - 1]);
      key_cursor at{arguments(steps_[i].wire)};
      bool has = are_unknown_ || !at.next();
      for (bool more = !has; more && !has; more = at.next()) has = keys_.contains(at.key());
      return has;
    } catch (const std::bad_alloc&) {
      return true;
    }
  }

 private:
  void add_keys(const cluster_step& one) {
    if (!may_have_run(one) || one.slot == cluster_step::no_slot) return;
    key_cursor at{arguments(one.wire)};
    bool has_key = at.next();
    if (!has_key) are_unknown_ = true;
    for (; has_key && !are_unknown_; has_key = at.next()) keys_.insert(at.key());
  }

  const std::vector<cluster_step>& steps_;
  std::bitset<key_slots> slots_;
  std::size_t keys_from_;  // the first command whose keys were added
  std::set<std::string_view> keys_;
  bool are_unknown_ = false;
};

bool step_judge::take_end(cluster_unit& one, const error_code& ec, bool is_over,
                          std::int64_t now) noexcept {
  cluster_call& call = one.call();
  const bool repeats = ec && !is_over && may_repeat(one, ec, now);
  bool has_open_steps = false;
  for (const std::uint32_t i : one.steps()) {
    cluster_step& step = call.steps()[i];
    BECK_ASSERT(step.state == step_state::sent, "a command has ended twice, or before it was sent");
    const reply_status& status = call.status_of(step);
    const bool is_answered = status.outcome() == outcome::executed && !is_not_run(status.error());
    step.state = is_over || is_answered ? step_state::ended : step_state::judged;
    if (step.state == step_state::ended) continue;
    step.sent_to = one.node().id;
    step.was_asked = one.asks();
    step.may_repeat = repeats;
    has_open_steps = true;
  }
  return has_open_steps;
}

bool step_judge::judge(cluster_call& call, std::int64_t now) noexcept {
  if (begin_again(call, now)) return true;
  std::vector<cluster_step>& steps = call.steps();
  steps_behind behind(steps);
  for (std::size_t i = steps.size(); i-- != 0;) {
    cluster_step& step = steps[i];
    if (step.state == step_state::judged) step.state = next_state(call, i, behind, now);
    behind.add(step);
  }
  std::bitset<key_slots> resting;
  for (cluster_step& step : steps) {
    if (step.slot == cluster_step::no_slot) continue;
    if (step.state == step_state::ready && resting.test(step.slot))
      step.state = step_state::resting;
    if (step.state == step_state::resting) resting.set(step.slot);
  }
  return resting.any();
}

/// Lets a transaction begin again whose EXEC says that none of it has run: at the new place because
/// of a redirect, or behind a pause because of a refusal for now. Returns false if it is another
/// call, or may have run before.
bool step_judge::begin_again(cluster_call& call, std::int64_t now) noexcept {
  std::vector<cluster_step>& steps = call.steps();
  const error_code& last = call.status_of(steps.back()).error();
  if (!call.terms().is_whole || (last != error::exec_abort && !is_not_run(last))) return false;
  if (call.status_of(steps.front()).error()) return false;  // without MULTI they ran one by one
  cluster_step* refused = nullptr;
  for (cluster_step& one : steps) {
    const reply_status& status = call.status_of(one);
    if (one.losses != 0 || status.outcome() != outcome::executed) return false;
    if (refused == nullptr && is_not_run(status.error())) refused = &one;
  }
  if (refused == nullptr) return false;
  const error_code why = call.status_of(*refused).error();
  const bool is_redirect = why == error::moved || why == error::ask;
  if (why == error::moved || !is_redirect) refresh_.want(refused->sent_to);
  if (is_redirect ? !follow(*refused, call.status_of(*refused).text()) : now >= end_of(call))
    return false;
  if (!is_redirect) ++refused_;
  for (cluster_step& one : steps) {
    one.slot = refused->slot;
    one.asked = refused->asked;
    one.redirects = is_redirect ? refused->redirects : 0;
    one.is_again = true;
    one.state = is_redirect ? step_state::ready : step_state::resting;
  }
  return true;
}

/// Returns the next state of a command that has no final reply: whether and when it is sent again.
step_state step_judge::next_state(cluster_call& call, std::size_t i, steps_behind& behind,
                                  std::int64_t now) noexcept {
  cluster_step& step = call.steps()[i];
  const reply_status& status = call.status_of(step);
  const error_code& why = status.error();
  const bool is_lost = status.outcome() != outcome::executed;
  const bool is_last = !behind.have_slot_of(step);
  // While a slot moves, only commands on the same key keep their order.
  const bool may_overtake = why == error::ask || (is_lost && step.was_asked);
  const bool may_follow = is_last || (may_overtake && !behind.have_key_of(i));
  step.is_again = true;
  if (is_lost) {
    if (!step.may_repeat || !may_follow) return step_state::ended;
    if (status.outcome() == outcome::maybe_executed && step.losses != UINT8_MAX) ++step.losses;
    ++resent_;
    return step_state::resting;
  }
  if (call.terms().is_whole) {  // see begin_again()
    refresh_.want(step.sent_to);
    return step_state::ended;
  }
  if (why == error::moved || why == error::ask) {
    if (why == error::moved || !may_follow) refresh_.want(step.sent_to);
    const bool follows = may_follow && follow(step, status.text());
    return follows ? step_state::ready : step_state::ended;
  }
  if (why != error::tryagain && why != error::busy) refresh_.want(0);
  if (!is_last || now >= end_of(call)) return step_state::ended;
  step.redirects = 0;  // it may be redirected again each time
  ++refused_;
  return step_state::resting;
}

/// Notes where a redirect leads. Returns false if it cannot be followed: it is the reply then.
bool step_judge::follow(cluster_step& step, std::string_view text) noexcept {
  const std::optional<redirect> to = parse_redirect(text);
  const cluster_node* const from = nodes_.find(step.sent_to);
  if (!to || from == nullptr || step.redirects == how_.redirects) return false;
  try {
    const node_address at{to->host.empty() ? from->at.host : std::string(to->host), to->port};
    if (!nodes_.is_permitted(at)) return false;
    if (to->is_ask) {
      if (nodes_.find(at) == nullptr && !nodes_.has_room()) return false;
      step.asked = nodes_.get(at).id;
      ++asked_;
    } else {
      if (!map_.patch(to->slot, at)) return false;
      step.slot = to->slot;
      ++moved_;
    }
  } catch (const std::bad_alloc&) {
    return false;
  }
  ++step.redirects;
  return true;
}

void step_judge::count(cluster_stats& to) const noexcept {
  to.moved = moved_;
  to.asked = asked_;
  to.refused = refused_;
  to.resent = resent_;
}

std::int64_t step_judge::end_of(const cluster_call& call) const noexcept {
  return (duration(call.begun_at()) + how_.connections.hold_timeout).nanoseconds();
}

/// Returns whether the commands of a unit that were not answered may be sent again: those that were
/// not sent, and those that only read. All or none, so that none runs behind one that has failed.
bool step_judge::may_repeat(const cluster_unit& one, const error_code& why,
                            std::int64_t now) const noexcept {
  cluster_call& call = one.call();
  if (one.node().connection->plan().was_refused() || now >= end_of(call)) return false;
  const auto may = [&](std::uint32_t i) {
    const cluster_step& step = call.steps()[i];
    if (call.status_of(step).outcome() != outcome::maybe_executed) return true;
    if (why.category() == protocol_category()) return false;  // it may provoke the error again
    if (step.losses + 1U >= how_.connections.attempts) return false;
    if (call.terms().is_retryable) return true;
    return !call.terms().is_whole && facts_of(arguments(step.wire)).is_read_only();
  };
  return std::all_of(one.steps().begin(), one.steps().end(), may);
}

}  // namespace beck::redis::detail
