// SPDX-License-Identifier: BSL-1.0
// Each (un)subscribe command has one name and one answer: a push with this name, or an error. So a
// refusal concerns one name, and the answers can be counted. PING with a token is the last command:
// if its answer is not that token, a reply was taken for the answer to another command.
#include "redis/push/push_router.hpp"

#include <utility>

#include <beck/base/assert.hpp>
#include <beck/redis/request.hpp>

#include "redis/session/repeat_rules.hpp"

namespace beck::redis::detail {
namespace {

constexpr std::uint8_t attempts_max = 16;            // at one name, 10 s in all
constexpr std::size_t exchange_commands_max = 1024;  // of one exchange

void end_waits(topic& of) noexcept {
  while (add_wait* const each = of.waits.front()) each->call->end_wait(*each);
}

/// Marks the gap of a name that was confirmed, and is not any more.
void miss_topic(topic& one) noexcept {
  const bool was_on = one.state == topic_state::on;
  one.change(topic_event::lose);
  if (!was_on) return;
  for (membership& each : one.members) each.of->miss(each);
}

}  // namespace

// --- commands

/// Commands under way, and the places of their answers.
class push_router::commands final : public exchange, private push_answers {
 public:
  commands(push_router& owner, std::uint64_t fence)
      : owner_(owner), token_("beck-fence-" + std::to_string(fence)) {}

  std::size_t size() const noexcept { return topics_.size(); }
  void add(topic& one, bool is_on) {
    topics_.push_back(&one);
    const topic_words& of = words_of(one.kind);
    request_.push(is_on ? of.subscribe : of.unsubscribe, one.name);
    one.change(is_on ? topic_event::subscribe : topic_event::unsubscribe);
  }
  void finish() {
    request_.push("PING", token_);
    replies_ = std::make_unique<reply<void>[]>(topics_.size());
    part_ = {request_.bytes(), static_cast<std::uint32_t>(request_.size())};
    set_commands(&part_, 1);
    set_watch({.pushes = this});
  }

  reply_place place_of(std::uint32_t i) noexcept override {
    return i < topics_.size() ? detail::place_of(replies_[i]) : detail::place_of(fence_);
  }
  void done(const error_code&) noexcept override {
    for (std::size_t i = 0; i < size() && i < answered(); ++i)
      if (replies_[i].error()) owner_.refuse(*topics_[i], replies_[i].error());
  }

 private:
  bool is_answer(std::uint32_t i, const value& push) noexcept override {
    topic& one = *topics_[i];
    const bool is_on = one.state == topic_state::to_be_on;
    const value_item root = push.root();
    if (root.size() != 3) return false;
    auto at = root.begin();
    const std::string_view word = (*at).text();
    if (word != (is_on ? words_of(one.kind).subscribe : words_of(one.kind).unsubscribe))
      return false;
    if ((*++at).text() != one.name) return false;
    owner_.confirm(one);
    return true;
  }
  bool is_in_step(std::uint32_t i) noexcept override {
    if (i < topics_.size()) return !!replies_[i].error();
    // A server that loads its data refuses PING. MOVED can only be meant for a command before it.
    return fence_.error() ? fence_.error() != error::moved : *fence_ == token_;
  }

  push_router& owner_;
  const std::string token_;
  std::vector<topic*> topics_;
  request request_;
  command_bytes part_;
  std::unique_ptr<reply<void>[]> replies_;
  reply<std::string> fence_;
};

push_router::push_router() noexcept = default;

push_router::~push_router() {
  BECK_ASSERT(member_count_ == 0, "a link was destroyed while it had subscriptions");
}

bool push_router::is_asking() const noexcept { return asking_ && asking_->is_under_way(); }

exchange* push_router::next_commands() {
  if (is_asking()) return nullptr;
  if (asking_) asking_.reset();
  if (is_resp2_) {
    due_topics::list refused;
    due_.take_all(refused);
    while (topic* const one = refused.pop_front()) refuse(*one, error::noproto);
  }
  if (due_.empty()) return nullptr;
  auto made = std::make_unique<commands>(*this, ++fences_);
  while (topic* const one = made->size() < exchange_commands_max ? due_.take() : nullptr) {
    const bool is_wanted = !one->members.empty();
    if (one->state == topic_state::off && !is_wanted) {
      topics_.erase(*one);
    } else if (is_wanted == (one->state == topic_state::off)) {
      made->add(*one, is_wanted);
    }
  }
  if (made->size() == 0) return nullptr;
  made->finish();
  asking_ = std::move(made);
  return asking_.get();
}

void push_router::confirm(topic& one) noexcept {
  const bool is_on = one.state == topic_state::to_be_on;
  one.change(is_on ? topic_event::subscribed : topic_event::unsubscribed);
  one.refusals = 0;
  if (!is_on || one.members.empty()) due_.add(one);
  if (!is_on) return;
  end_waits(one);
  for (membership& each : one.members) each.of->find_again(each);
}

void push_router::refuse(topic& one, const error_code& why) noexcept {
  const bool was_leaving = one.state == topic_state::to_be_off;
  const bool is_for_now = is_refused_for_now(why) && ++one.refusals < attempts_max;
  if (was_leaving && is_for_now) {  // the server has it still
    one.change(topic_event::stay);
    end_waits(one);
    return due_.add_later(one);
  }
  one.change(topic_event::refused);
  if (was_leaving || one.members.empty()) return due_.add(one);
  if (is_for_now) return due_.add_later(one);
  while (add_wait* const each = one.waits.front()) end(*each->call, why);
  while (membership* const each = one.members.front()) end(*each->of, why);
  due_.add(one);
}

// --- connections

void push_router::lost(std::int64_t now, bool was_ready, const error_code& why,
                       std::uint32_t attempts) noexcept {
  BECK_ASSERT(!is_asking(), "subscriptions took the end of a connection before the session");
  if (was_ready) down_since_ = now;
  for (add_call& call : adds_) call.losses += was_ready ? 1 : 0;
  due_.set_time(now);
  is_resp2_ = false;
  asking_.reset();
  due_.end_pause();
  for (topic& one : topics_) {
    miss_topic(one);
    due_.add(one);
  }
  topics_.erase_idle();
  for (add_call* call = adds_.front(); call != nullptr;) {
    add_call* const next = adds_.after(*call);
    if (call->losses >= attempts) end(*call, why);
    call = next;
  }
}

// --- pushes

void push_router::take_push(const value& message) {
  const value_item root = message.root();
  if (root.size() < 3) return;
  auto at = root.begin();
  const std::string_view word = (*at).text();
  const std::string_view name = (*++at).text();
  const std::string_view third = (*++at).text();
  for (std::size_t i = 0; i < topic_kinds; ++i) {
    const auto kind = static_cast<topic_kind>(i);
    const bool is_message = word == words_of(kind).message;
    if (!is_message && word != words_of(kind).unsubscribe) continue;
    topic* const one = topics_.find(kind, name);
    if (one == nullptr) return;
    if (!is_message) return take_away(*one);
    if (kind != topic_kind::pattern) return deliver(*one, {}, name, third);
    if (root.size() == 4) deliver(*one, name, third, (*++at).text());
    return;
  }
}

/// Counts a message that was too large as dropped, at its place in the queues.
void push_router::take_cut_push(const value& message) {
  const value_item root = message.root();
  if (root.size() < 3) return;
  auto at = root.begin();
  const std::string_view word = (*at).text();
  const std::string_view name = (*++at).text();
  for (std::size_t i = 0; i < topic_kinds; ++i) {
    const auto kind = static_cast<topic_kind>(i);
    topic* const one = word == words_of(kind).message ? topics_.find(kind, name) : nullptr;
    if (one == nullptr || one->state != topic_state::on) continue;
    one->losses = 0;
    for (membership& each : one->members) each.of->drop_next();
  }
}

void push_router::deliver(topic& to, std::string_view pattern, std::string_view channel,
                          std::string_view payload) {
  if (to.state != topic_state::on) return;  // it was sent before UNSUBSCRIBE was executed
  to.losses = 0;
  if (to.members.empty()) return;
  push_message* const message = make_message(pattern, channel, payload);
  const push_event share(*message);
  for (membership* one = to.members.front(); one != nullptr;) {
    membership* const next = to.members.after(*one);
    if (!one->of->offer(*message)) end(*one->of, error::queue_full);
    one = next;
  }
}

/// Takes the message of a server that has unsubscribed a name by itself, as when a slot moves. The
/// answers to UNSUBSCRIBE find the name in another state.
void push_router::take_away(topic& one) noexcept {
  if (one.state != topic_state::on) return;
  miss_topic(one);
  if (one.members.empty()) return due_.add(one);
  if (++one.losses >= attempts_max) return refuse(one, error::moved);
  due_.add_later(one);
}

}  // namespace beck::redis::detail
