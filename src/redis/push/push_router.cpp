// SPDX-License-Identifier: BSL-1.0
// Each (un)subscribe command has one name and one answer: a push with this name, or an error. So a
// refusal concerns one name, and the answers can be counted. PING with a token is the last command:
// if its answer is not that token, a reply was taken for the answer to another command.
#include "redis/push/push_router.hpp"

#include <utility>

#include <beck/redis/request.hpp>

namespace beck::redis::detail {
namespace {

constexpr std::int64_t again_first = 10'000'000;  // nanoseconds, doubling
constexpr std::int64_t again_most = 1'000'000'000;
constexpr std::uint8_t attempts_max = 16;   // at one name, 10 s in all
constexpr std::size_t commands_max = 1024;  // of one exchange

/// The words of a kind of names.
struct topic_words {
  std::string_view message;
  std::string_view subscribe;
  std::string_view unsubscribe;
};
constexpr topic_words words[topic_kinds] = {
    {"message", "subscribe", "unsubscribe"},
    {"pmessage", "psubscribe", "punsubscribe"},
    {"smessage", "ssubscribe", "sunsubscribe"},
};

const topic_words& words_of(const topic& one) noexcept {
  return words[static_cast<std::size_t>(one.kind)];
}

}  // namespace

// --- commands

/// Commands under way, and the places of their answers.
class push_router::commands final : public exchange {
 public:
  commands(push_router& owner, std::uint64_t fence)
      : owner_(owner), token_("beck-fence-" + std::to_string(fence)) {}

  std::size_t size() const noexcept { return topics_.size(); }
  void add(topic& one, bool is_on) {
    topics_.push_back(&one);
    const topic_words& of = words_of(one);
    request_.push(is_on ? of.subscribe : of.unsubscribe, one.name);
    one.state = is_on ? topic_state::to_be_on : topic_state::to_be_off;
  }
  void finish() {
    request_.push("PING", token_);
    replies_ = std::make_unique<reply<void>[]>(topics_.size());
    part_ = {request_.bytes(), static_cast<std::uint32_t>(request_.size())};
    set_commands(&part_, 1);
    set_watch(reply_watch::pushes);
  }

  reply_place place_of(std::uint32_t i) noexcept override {
    return i < topics_.size() ? detail::place_of(replies_[i]) : detail::place_of(fence_);
  }
  bool is_answer(std::uint32_t i, const value& push) noexcept override {
    topic& one = *topics_[i];
    const bool is_on = one.state == topic_state::to_be_on;
    const value_item root = push.root();
    if (root.size() != 3) return false;
    auto at = root.begin();
    const std::string_view word = (*at).text();
    if (word != (is_on ? words_of(one).subscribe : words_of(one).unsubscribe)) return false;
    if ((*++at).text() != one.name) return false;
    owner_.confirm(one);
    return true;
  }
  bool is_in_step(std::uint32_t i) noexcept override {
    if (i < topics_.size()) return !!replies_[i].error();
    // A server that loads its data refuses PING. MOVED can only be meant for a command before it.
    return fence_.error() ? fence_.error() != error::moved : *fence_ == token_;
  }
  void done(const error_code&) noexcept override {
    for (std::size_t i = 0; i < size() && i < answered(); ++i)
      if (replies_[i].error()) owner_.refuse(*topics_[i], replies_[i].error());
  }

 private:
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
  while (topic* const one = all_.front()) erase(*one);
}

bool push_router::is_asking() const noexcept { return asking_ && asking_->is_under_way(); }

exchange* push_router::next_commands() {
  if (is_asking()) return nullptr;
  if (asking_) asking_.reset();
  if (is_resp2_) refuse_due(error::noproto);
  if (due_.empty()) return nullptr;
  auto made = std::make_unique<commands>(*this, ++fences_);
  while (topic* const one = made->size() < commands_max ? due_.pop_front() : nullptr) {
    const bool is_wanted = !one->members.empty();
    if (one->state == topic_state::off && !is_wanted) {
      erase(*one);
    } else if (is_wanted == (one->state == topic_state::off)) {
      made->add(*one, is_wanted);
    }
  }
  if (made->size() == 0) return nullptr;
  made->finish();
  asking_ = std::move(made);
  return asking_.get();
}

void push_router::refuse_due(const error_code& why) noexcept {
  decltype(due_) due;
  due.splice_back(due_);
  while (topic* const one = due.pop_front()) refuse(*one, why);
}

void push_router::confirm(topic& one) noexcept {
  const bool is_on = one.state == topic_state::to_be_on;
  one.state = is_on ? topic_state::on : topic_state::off;
  one.refusals = 0;
  if (!is_on || one.members.empty()) note_due(one);
  if (!is_on) return;
  while (add_wait* const each = one.waits.front()) stop_waiting(*each);
  for (membership& each : one.members) find_again(each);
}

void push_router::refuse(topic& one, const error_code& why) noexcept {
  const bool was_leaving = std::exchange(one.state, topic_state::off) == topic_state::to_be_off;
  const bool is_for_now = is_refused_for_now(why) && ++one.refusals < attempts_max;
  if (was_leaving && is_for_now) {  // the server has it still
    one.state = topic_state::on;
    while (add_wait* const each = one.waits.front()) stop_waiting(*each);
    return wait(one);
  }
  if (was_leaving || one.members.empty()) return note_due(one);
  if (is_for_now) return wait(one);
  while (add_wait* const each = one.waits.front()) end(*each->call, why);
  while (membership* const each = one.members.front()) end(*each->of, why);
  note_due(one);
}

// --- connections

/// Marks the gap of a name that was confirmed, and is not any more.
void push_router::miss(topic& one) noexcept {
  if (std::exchange(one.state, topic_state::off) != topic_state::on) return;
  for (membership& each : one.members) {
    if (!std::exchange(each.is_missing, true)) ++each.of->missing;
    each.of->begin_gap();
  }
}

/// Ends the gap of a subscription with its last name that is missing.
void push_router::find_again(membership& one) noexcept {
  if (std::exchange(one.is_missing, false) && --one.of->missing == 0) one.of->end_gap();
}

void push_router::lost(std::int64_t now, bool was_ready) noexcept {
  if (was_ready) down_since_ = now;
  for (add_call& call : adds_) call.losses += was_ready ? 1 : 0;
  now_ = now;
  is_resp2_ = false;
  asking_.reset();
  due_.splice_back(later_);
  for (topic& one : all_) {
    miss(one);
    note_due(one);
  }
  erase_idle();
}

/// Erases the names that have no subscribers. Requires that no connection has them.
void push_router::erase_idle() noexcept {
  for (topic* one = all_.front(); one != nullptr;) {
    topic* const next = all_.after(*one);
    if (one->members.empty()) erase(*one);
    one = next;
  }
}

void push_router::note_due(topic& one) noexcept {
  if (!one.in_due.is_linked()) due_.push_back(one);
}

/// Lets a name wait before it is subscribed again.
void push_router::wait(topic& one) noexcept {
  if (later_.empty()) {
    pause_ = one.refusals + one.losses <= 1 ? again_first : 2 * pause_;
    if (pause_ > again_most) pause_ = again_most;
    wake_at_ = now_ + pause_;
  }
  one.in_due.unlink();
  later_.push_back(one);
}

void push_router::wake(std::int64_t now) noexcept {
  now_ = now;
  if (now >= wake_at()) due_.splice_back(later_);
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
    const bool is_message = word == words[i].message;
    if (!is_message && word != words[i].unsubscribe) continue;
    topic* const one = find(kind, name);
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
    topic* const one = word == words[i].message ? find(static_cast<topic_kind>(i), name) : nullptr;
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
  miss(one);
  if (one.members.empty()) return note_due(one);
  if (++one.losses >= attempts_max) return refuse(one, error::moved);
  wait(one);
}

}  // namespace beck::redis::detail
