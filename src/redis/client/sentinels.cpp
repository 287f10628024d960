// SPDX-License-Identifier: BSL-1.0
// One coroutine for each sentinel: it asks, subscribes to the announcements, and asks again with
// each announcement, after a loss, and now and then.
#include "redis/client/sentinels.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <tuple>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/coro/co_spawn.hpp>
#include <beck/coro/timeout.hpp>
#include <beck/coro/within.hpp>
#include <beck/io/steady_timer.hpp>

#include "redis/client/link.hpp"

namespace beck::redis::detail {
namespace {

constexpr std::string_view switch_channel = "+switch-master";
constexpr duration sentinel_answers_within(1'000'000'000);  // also connected
constexpr duration sentinels_asked_after(10'000'000'000);   // a sentinel that announces changes
constexpr duration sentinels_tried_after(1'000'000'000);    // one that does not, or fails
constexpr int sentinel_refusals_max = 3;
constexpr std::uint32_t sentinel_reply_bytes = 65'536;  // most of a reply
constexpr std::uint32_t sentinel_reply_elements = 1'024;

/// The limits of the connections to sentinels: each failure is known at once, and asked again.
client_options options_for_sentinels(const client_options& how) {
  const duration most =
      std::min(sentinel_answers_within, duration(how.connect_timeout.nanoseconds() / 2));
  return {
      .connect_timeout = most,
      .hold_timeout = most,
      .fails_fast = true,
      .ping_interval = how.ping_interval,
      .silence_timeout = how.silence_timeout,
      .attempts = 1,
      .parsing = {.reply_bytes = sentinel_reply_bytes,
                  .elements = sentinel_reply_elements,
                  .push_bytes = sentinel_reply_bytes},
  };
}

/// The part of a reply to SENTINEL MASTER that counts.
struct primary_facts {
  std::int64_t epoch = 0;
};
void redis_fields(auto& f, primary_facts& facts) { f("config-epoch", facts.epoch); }

using named_place = std::pair<std::string, std::uint16_t>;

/// Returns the answer of a sentinel that has named this place.
sentinel_answer answer_of(const std::optional<named_place>& named) {
  sentinel_answer answer;
  if (!named) {
    answer.word = sentinel_word::unknown;
  } else if (named->first.empty() || named->second == 0) {
    answer.word = sentinel_word::failed;
    answer.error = error::wrong_reply;
  } else {
    answer.word = sentinel_word::known;
    answer.at = {named->first, named->second};
  }
  return answer;
}

std::size_t votes_for(const std::vector<const sentinel_answer*>& all,
                      const sentinel_answer& one) noexcept {
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](const sentinel_answer* each) {
        return each->word == sentinel_word::known && each->epoch == one.epoch && each->at == one.at;
      }));
}

}  // namespace

const sentinel_answer* choose_primary(const std::vector<const sentinel_answer*>& all,
                                      const sentinel_answer* now) noexcept {
  const sentinel_answer* best = nullptr;
  std::tuple<std::int64_t, std::size_t, bool> best_rank;
  std::size_t known = 0;
  bool are_complete = true;
  for (const sentinel_answer* const one : all) {
    if (one->word == sentinel_word::none) are_complete = false;
    if (one->word != sentinel_word::known) continue;
    ++known;
    const std::tuple rank(one->epoch, votes_for(all, *one), now != nullptr && now->at == one->at);
    if (best != nullptr && rank <= best_rank) continue;
    best = one;
    best_rank = rank;
  }
  if (best == nullptr || 2 * known > all.size()) return best;
  if (now != nullptr) return best->epoch > now->epoch ? best : now;
  return are_complete ? best : nullptr;
}

sentinels::sentinels(const any_io_executor& executor, sentinel_url to, const client_options& how)
    : executor_(executor), how_(options_for_sentinels(how)), name_(std::move(to.name)) {
  BECK_ASSERT(!to.sentinels.empty() && to.sentinels.size() <= sentinel_url::sentinels_max,
              "the number of sentinels is not in its bounds");
  nodes_.resize(to.sentinels.size());
  for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i].to = std::move(to.sentinels[i]);
  for (const node& one : nodes_) answers_.push_back(&one.answer);
}

// --- the connections that need the primary

void sentinels::join(sentinel_user& user) {
  if (user.hook.is_linked()) return;
  if (users_.empty()) {
    for (node& one : nodes_) one.answer = sentinel_answer();
    primary_ = sentinel_answer();
    is_found_ = false;
  }
  users_.push_back(user);
  try {
    for (node& one : nodes_) {
      if (one.is_watched) continue;
      co_spawn(executor_, watch(shared<sentinels>(*this), one), detached);
      one.is_watched = true;
    }
  } catch (const std::bad_alloc&) {
    leave(user);
    throw;
  }
}

void sentinels::leave(sentinel_user& user) noexcept {
  if (!user.hook.is_linked()) return;
  user.hook.unlink();
  if (users_.empty()) stop();
}

void sentinels::stop() noexcept {
  for (node& one : nodes_) {
    one.is_over = true;
    if (one.connection != nullptr) one.connection->close();
    one.waker.request_stop();
  }
}

task<io_result<node_address>> sentinels::find() {
  BECK_ASSERT(!users_.empty(), "sentinels are asked for the primary before a join()");
  io_result<node_address> result;
  for (node& one : nodes_) one.waker.request_stop();
  for (;;) {
    if (is_found_) {
      result.value_ = primary_.at;
      co_return result;
    }
    const bool is_open = std::any_of(nodes_.begin(), nodes_.end(), [](const node& one) {
      return one.answer.word == sentinel_word::none;
    });
    if (!is_open) {
      result.error_ = failure();
      co_return result;
    }
    auto changing = changed_.wait();
    const auto changed = co_await std::move(changing);
    result.error_ = changed.error();
    if (result.error_) co_return result;
  }
}

/// Returns why no sentinel has named the primary: those that have answered say more than those that
/// were not reached.
error_code sentinels::failure() const noexcept {
  error_code first;
  for (const node& one : nodes_) {
    if (one.answer.word == sentinel_word::unknown) return error::unknown_primary;
    const error_code& ec = one.answer.error;
    if (!first || (ec.category() == error_category() && first.category() != error_category()))
      first = ec;
  }
  return first;
}

std::string sentinels::error_text() const {
  std::string text = "no sentinel names the primary \"" + name_ + "\":";
  for (const node& one : nodes_) {
    const bool is_unknown = one.answer.word == sentinel_word::unknown;
    const bool is_asked = one.answer.word == sentinel_word::failed;
    text += ' ' + one.to.host + ':' + std::to_string(one.to.port) + ": ";
    text += is_unknown ? "it knows none" : is_asked ? one.answer.error.message() : "no answer yet";
    text += ';';
  }
  text.pop_back();
  return text;
}

task<io_result<>> sentinels::wait_for_change(std::uint64_t seen) {
  io_result<> result;
  while (changes_ == seen && !result.error_) {
    auto changing = changed_.wait();
    const auto changed = co_await std::move(changing);
    result.error_ = changed.error();
  }
  co_return result;
}

// --- a sentinel

task<> sentinels::watch(shared<sentinels> self, node& one) {
  sentinels& s = *self;
  while (!s.users_.empty()) {
    one.is_over = false;
    bool has_failed = false;
    try {
      auto talking = s.talk(one);
      co_await std::move(talking);
    } catch (const std::bad_alloc&) {
      has_failed = true;
    }
    one.connection = nullptr;
    if (!has_failed || s.users_.empty()) continue;
    one.answer.word = sentinel_word::failed;
    one.answer.error = no_memory();
    s.changed_.set();
    s.changed_.reset();
    steady_timer pause(s.executor_, sentinels_tried_after);
    beck::ignore(co_await pause.async_wait());
  }
  one.is_watched = false;
}

/// Asks a sentinel over one client, until the connections that need the primary have ended.
task<> sentinels::talk(node& one) {
  BECK_ASSERT(one.connection == nullptr, "two clients ask one sentinel");
  client connection(sender_ref(new link(executor_, one.to, how_, how_.hold_timeout.nanoseconds())));
  if (layer_ != nullptr) connection.secure(*layer_);
  subscription news(connection, {.events = 16});
  one.connection = &connection;
  bool is_subscribed = false;
  int refusals = 0;  // of the subscription; sentinels of Redis 6 refuse a PING of the client's
  while (!one.is_over) {
    auto asking = ask(one);
    const bool has_answered = co_await std::move(asking);
    if (!has_answered) refusals = 0;
    if (has_answered && !is_subscribed && !one.is_over && refusals < sentinel_refusals_max) {
      auto adding = timeout(news.add(switch_channel), how_.connect_timeout);
      const auto added = co_await std::move(adding);
      is_subscribed = !added.error();
      if (!is_subscribed) ++refusals;
      if (is_subscribed) continue;  // the primary may have changed between the two
    }
    const bool is_quiet = has_answered && is_subscribed;
    auto waiting =
        wait_for_news(one, news, is_quiet ? sentinels_asked_after : sentinels_tried_after);
    co_await std::move(waiting);
  }
  one.connection = nullptr;
}

/// Waits until there is a reason to ask again.
task<> sentinels::wait_for_news(node& one, subscription& news, duration most) {
  if (one.waker.stop_requested()) one.waker = stop_source();
  const std::int64_t until = (duration(beck::detail::loop_time()) + most).nanoseconds();
  while (!one.is_over) {
    const duration rest(until - beck::detail::loop_time());
    auto next = timeout(news.next(), rest);
    const auto event = co_await with_stop(one.waker.get_token(), std::move(next));
    if (event.error() && event.error() != beck::error::timeout && !one.waker.stop_requested()) {
      steady_timer pause(executor_, rest);  // nothing is announced any more
      beck::ignore(co_await with_stop(one.waker.get_token(), pause.async_wait()));
      co_return;
    }
    if (event.error() || event.value_.is_gap()) co_return;
    const std::string_view text = event.value_.payload();
    if (text.substr(0, name_.size()) == name_ && text.substr(name_.size(), 1) == " ") co_return;
  }
}

/// Asks a sentinel for the primary. Returns whether it has answered.
task<bool> sentinels::ask(node& one) {
  auto place = cmd<std::optional<named_place>>("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name_);
  auto facts = cmd<primary_facts>("SENTINEL", "MASTER", name_);
  auto questions = one.connection->exec(std::move(place), std::move(facts));
  auto asking = timeout(std::move(questions), how_.connect_timeout);
  const auto got = co_await std::move(asking);
  if (one.is_over) co_return false;
  sentinel_answer answer;
  const auto& named = std::get<0>(*got);
  const auto& known = std::get<1>(*got);
  if (named.error()) {
    answer.word = sentinel_word::failed;
    answer.error = got.error() ? got.error() : named.error();
  } else {
    answer = answer_of(*named);
    answer.epoch = known ? known->epoch : 0;  // refused: the number of sentinels counts
  }
  const bool has_answered = answer.word != sentinel_word::failed;
  take(one, std::move(answer));
  co_return has_answered;
}

/// Keeps an answer. If it changes the choice, leads the connections to the new primary.
void sentinels::take(node& one, sentinel_answer answer) {
  one.answer = std::move(answer);
  const bool was_found = std::exchange(is_found_, false);
  const bool is_first = primary_.word == sentinel_word::none;
  const sentinel_answer* const best = choose_primary(answers_, is_first ? nullptr : &primary_);
  if (best != nullptr) {
    BECK_ASSERT(best->word == sentinel_word::known,
                "a primary is chosen that no sentinel has named");
    is_found_ = true;
    const bool is_new = best->at != primary_.at;
    if (best != &primary_) primary_ = *best;
    if (is_new) ++changes_;
    if (is_new || !was_found) {
      for (sentinel_user& user : users_)
        if (user.of != nullptr) user.of->lead_to(primary_.at);
    }
  }
  changed_.set();
  changed_.reset();
}

}  // namespace beck::redis::detail
