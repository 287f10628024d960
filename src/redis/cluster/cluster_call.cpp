// SPDX-License-Identifier: BSL-1.0
// A command whose keys have several slots becomes one command for each of them; the replies are put
// together when all have come.
#include "redis/cluster/cluster_call.hpp"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/base/error.hpp>
#include <beck/redis/error.hpp>
#include <beck/redis/key_slot.hpp>

#include "redis/session/repeat_rules.hpp"

namespace beck::redis::detail {
namespace {

/// Returns whether each key of an MSET has a value.
bool has_values(const arguments& command) noexcept { return command.size() % 2 == 1; }

}  // namespace

// --- divided commands

divided_command::divided_command(const arguments& command, split_kind kind) : kind_(kind) {
  BECK_ASSERT(kind != split_kind::none, "a command was divided whose replies cannot be combined");
  for (key_cursor at(command); at.next();)
    keys_.push_back({key_slot(at.key()), static_cast<std::uint32_t>(at.index())});
  std::vector<std::size_t> order(keys_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return keys_[a].slot != keys_[b].slot ? keys_[a].slot < keys_[b].slot : a < b;
  });
  std::vector<std::string_view> texts;
  for (std::size_t i = 0; i < order.size();) {
    const std::uint16_t slot = keys_[order[i]].slot;
    texts.clear();
    std::uint32_t place = 0;
    for (; i < order.size() && keys_[order[i]].slot == slot; ++i) {
      key_place& key = keys_[order[i]];
      key.part = static_cast<std::uint32_t>(sizes_.size());
      key.place = place++;
      texts.push_back(command[key.argument]);
      if (kind == split_kind::all) texts.push_back(command[key.argument + 1]);
    }
    parts_.push_range(command[0], texts);
    sizes_.push_back({slot, place});
  }
  replies_.resize(sizes_.size());
}

/// Returns whether the reply to a part is one that the server may send for its keys.
bool divided_command::fits(std::size_t part) const noexcept {
  const value_item reply = (*replies_[part]).root();
  const std::uint32_t keys = sizes_[part].keys;
  if (kind_ == split_kind::all) return reply.text() == "OK";
  if (kind_ == split_kind::sum) {
    return reply.type() == data_type::integer && reply.integer() >= 0 &&
           reply.integer() <= std::int64_t{keys};
  }
  if (reply.type() != data_type::array || reply.size() != keys) return false;
  for (const value_item& one : reply) {
    if (!one.is_null() && one.type() != data_type::bulk_string) return false;
  }
  return true;
}

/// Takes the first error of the parts, and their common outcome. Returns whether there is an error.
bool divided_command::combine_errors(reply_status& to) noexcept {
  std::size_t executed = 0;
  std::size_t unsent = 0;
  reply<value>* failed = nullptr;
  for (reply<value>& part : replies_) {
    if (part.outcome() == outcome::executed) ++executed;
    if (part.outcome() == outcome::not_sent) ++unsent;
    if (failed == nullptr && part.error()) failed = &part;
  }
  if (failed != nullptr) to.set(failed->error(), failed->error_text());
  to.set(executed == replies_.size() ? outcome::executed
         : unsent == replies_.size() ? outcome::not_sent
                                     : outcome::maybe_executed);
  for (std::size_t i = 0; failed == nullptr && i < replies_.size(); ++i) {
    if (fits(i)) continue;
    failed = &replies_[i];
    to.set(error::wrong_reply, "the reply to a part of a divided command does not fit its keys");
  }
  return failed != nullptr;
}

/// Reads an array of the values, each at the place of its key.
void divided_command::feed_values(reply_reader& to, protocol version) {
  std::vector<std::vector<value_item>> values(replies_.size());
  for (std::size_t i = 0; i < replies_.size(); ++i) {
    const value_item root = (*replies_[i]).root();
    values[i].assign(root.begin(), root.end());
  }
  token head;
  head.type = data_type::array;
  head.number = static_cast<std::int64_t>(keys_.size());
  to.feed(head);
  for (const key_place& key : keys_) {
    const value_item item = values[key.part][key.place];
    token next;
    next.depth = 1;
    next.is_last = &key == &keys_.back();
    next.type = item.is_null() ? data_type::null : data_type::bulk_string;
    if (item.is_null() && version == protocol::resp2) next.format[0] = '$';
    next.text = item.text();
    next.number = static_cast<std::int64_t>(next.text.size());
    to.feed(next);
  }
}

void divided_command::combine(reply_place to, const reply_limits& most, protocol version) noexcept {
  reply_reader reader;
  reader.begin(to, most);
  reply_status& status = to.status();
  if (!combine_errors(status)) {
    try {
      feed(reader, version);
    } catch (const std::bad_alloc&) {
      status.set(make_error_code(std::errc::not_enough_memory), {});
    }
  }
  reader.leave();
}

void divided_command::feed(reply_reader& to, protocol version) {
  if (kind_ == split_kind::values) return feed_values(to, version);
  token all;
  all.is_last = true;
  if (kind_ == split_kind::sum) {
    all.type = data_type::integer;
    for (const reply<value>& part : replies_) all.number += (*part).root().integer();
  } else {
    all.type = data_type::simple_string;
    all.text = "OK";
  }
  to.feed(all);
}

// --- calls

void cluster_call::begin(exchange& user, std::int64_t now) noexcept {
  BECK_ASSERT(user_ == nullptr && steps_.empty(), "a call of a cluster was begun twice");
  BECK_ASSERT(user.watch().pushes == nullptr && user.watch().tokens == nullptr,
              "a cluster shows no pushes and tokens");
  user_ = &user;
  user_->set_taken_by(this);
  begun_at_ = now;
}

exchange& cluster_call::clear() noexcept {
  BECK_ASSERT(units.empty(), "a call of a cluster ends while a part of it is under way");
  in_calls.unlink();
  in_judged.unlink();
  in_ready.unlink();
  in_resting.unlink();
  steps_.clear();
  divided_.clear();
  is_cancelled = may_use_replicas = false;
  user_->set_taken_by(nullptr);
  return *std::exchange(user_, nullptr);
}

error_code cluster_call::plan() {
  steps_.reserve(user_->commands());
  const command_bytes* part = &user_->progress().first_part();
  for (std::uint32_t number = 0; number < user_->commands(); ++part) {
    if (part->commands == 1) {
      const arguments command(part->wire, part->marks, part->mark_count, 0);
      if (const error_code ec = add(command, part->wire, number++); ec) return ec;
      continue;
    }
    command_iterator at(part->wire, part->marks, part->mark_count);
    for (std::uint32_t i = 0; i < part->commands; ++i, ++at) {
      const arguments command = *at;
      if (const error_code ec = add(command, command.wire(), number++); ec) return ec;
    }
  }
  if (!terms().is_whole) return {};
  std::uint16_t slot = cluster_step::no_slot;
  for (const cluster_step& one : steps_) {
    if (one.slot == cluster_step::no_slot) continue;
    if (slot != cluster_step::no_slot && slot != one.slot) return error::cross_slot;
    slot = one.slot;
  }
  for (cluster_step& one : steps_) one.slot = slot;
  return {};
}

/// Adds a command, or its parts.
error_code cluster_call::add(const arguments& command, std::string_view wire,
                             std::uint32_t number) {
  cluster_step made;
  made.wire = wire;
  made.number = number;
  bool is_one_slot = true;
  for (key_cursor at(command); at.next();) {
    const std::uint16_t slot = key_slot(at.key());
    if (made.slot != cluster_step::no_slot && made.slot != slot) is_one_slot = false;
    made.slot = slot;
  }
  const split_kind kind = is_one_slot ? split_kind::none : facts_of(command).split();
  // The server answers a malformed one with an error.
  if (is_one_slot || (kind == split_kind::all && !has_values(command))) {
    steps_.push_back(made);
    return {};
  }
  if (kind == split_kind::none || terms().is_whole) return error::cross_slot;
  divided_.push_back(std::make_unique<divided_command>(command, kind));
  divided_command& whole = *divided_.back();
  std::uint32_t i = 0;
  for (const arguments& part : whole.parts()) {
    made.wire = part.wire();
    made.whole = &whole;
    made.slot = whole.slot(i);
    made.number = i++;
    steps_.push_back(made);
  }
  return {};
}

bool cluster_call::only_reads() const noexcept {
  return std::all_of(steps_.begin(), steps_.end(), [](const cluster_step& one) {
    return facts_of(arguments(one.wire)).is_read_only();
  });
}

bool cluster_call::has(step_state state) const noexcept {
  return std::any_of(steps_.begin(), steps_.end(),
                     [&](const cluster_step& one) { return one.state == state; });
}

void cluster_call::end_unsent(const error_code& why, std::string_view text) noexcept {
  in_judged.unlink();
  in_ready.unlink();
  in_resting.unlink();
  for (cluster_step& one : steps_) {
    if (one.state == step_state::sent || one.state == step_state::ended) continue;
    one.state = step_state::ended;
    reply_status& status = status_of(one);
    // A command that was redirected or refused has not run.
    if (status.outcome() == outcome::executed) status.set(outcome::not_sent);
    status.set(why, text);
  }
}

error_code cluster_call::conclude(protocol version) noexcept {
  std::uint32_t number = 0;  // of the command behind the last one
  const divided_command* last = nullptr;
  for (const cluster_step& step : steps_) {
    BECK_ASSERT(step.state == step_state::ended, "a call of a cluster ends before its commands");
    reply_status& status = status_of(step);
    const bool has_not_run = status.outcome() == outcome::not_sent || is_refusal(status.error());
    if (step.losses != 0 && has_not_run)
      status.set(outcome::maybe_executed);  // but an earlier attempt may have
    if (step.whole == nullptr) {
      number = step.number + 1;
    } else if (step.whole != last) {
      last = step.whole;
      step.whole->combine(user_->place_of(number++), terms().limits, version);
    }
  }
  std::uint32_t i = 0;
  while (i < user_->commands() && user_->place_of(i).status().outcome() == outcome::executed) ++i;
  user_->progress().set_answered(i);
  return i < user_->commands() ? user_->place_of(i).status().error() : error_code();
}

}  // namespace beck::redis::detail
