// SPDX-License-Identifier: BSL-1.0
// Answers to CLUSTER SLOTS, and failures.
#include "redis/cluster/map_refresh.hpp"

#include <utility>

namespace beck::redis::detail {
namespace {

constexpr std::int64_t question_pause = 100'000'000;  // nanoseconds
constexpr std::int64_t map_lifetime = 60'000'000'000;

}  // namespace

void map_refresh::want(std::uint32_t from) noexcept {
  is_wanted_ = true;
  if (from != 0) source_ = from;
}

cluster_node& map_refresh::next_to_ask(std::int64_t now) noexcept {
  from_at_ = now + question_pause;
  cluster_node* const source = nodes_.find(std::exchange(source_, 0U));
  return source != nullptr ? *source : nodes_.next_by_turns();
}

void map_refresh::begin(cluster_node& node) noexcept {
  ++node.units;
  is_asking_ = true;
  is_wanted_ = false;
}

void map_refresh::end(cluster_node& node) noexcept {
  --node.units;
  is_asking_ = false;
}

map_answer map_refresh::take(reply<value>& got, cluster_node& from, std::int64_t now) {
  const bool is_answered = got.outcome() == outcome::executed;
  from.is_doubtful = !is_answered;
  if (got.error()) {
    const bool is_lasting =
        is_answered ? !is_refused_for_now(got.error()) : from.connection->plan().was_refused();
    std::string text(got.message());
    if (!is_answered && !text.empty()) text = got.error().message() + ": " + text;  // of the login
    return fail(got.error(), text, is_lasting);
  }
  slot_map made(how_.nodes);
  const std::string wrong = made.read(got->root(), from.at.host);
  if (!wrong.empty()) return fail(error::wrong_reply, wrong, true);
  if (!made.is_known())
    return fail(error::clusterdown, "no slot is assigned to a node with an address", false);
  map_.use(std::move(made));
  failures_ = 0;
  until_ = now + map_lifetime;
  return map_answer::taken;
}

map_answer map_refresh::fail(const error_code& ec, std::string_view text, bool is_lasting) {
  ++failures_;
  error_ = ec;
  text_ = text;
  if (map_.is_known()) return map_answer::failed;
  const bool is_over = how_.connections.fails_fast && failures_ >= nodes_.seeds();
  if (!is_over && !is_lasting) return map_answer::failed;
  failures_ = 0;
  return map_answer::hopeless;
}

}  // namespace beck::redis::detail
