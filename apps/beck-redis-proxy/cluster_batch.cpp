// SPDX-License-Identifier: BSL-1.0
//
// Replies of the cluster are passed on as they came; those that did not come become errors.
#include "cluster_batch.hpp"

#include <fmt/format.h>

#include <beck/redis/reply_writer.hpp>

#include "cluster_dialogue.hpp"
#include "words.hpp"

namespace beck_redis_proxy {
namespace {

namespace redis = beck::redis;
using raw = redis::reply<redis::raw_reply>;

std::string_view reason_of(const raw& one, std::string& room) {
  if (!one.error_text().empty()) return one.error_text();
  return room = one.error().message();
}

/// Returns whether the reply says that another node is to be asked, which the library has not done:
/// the slot moves. A client of one server does not expect that.
bool is_redirect(const raw& one) noexcept {
  return one.error() == redis::error::moved || one.error() == redis::error::ask;
}

/// Adds the reply to a command that has run, or was refused by its node.
void add_reply(const redis::arguments& command, const raw& one, redis::reply_writer& to) {
  std::string room;
  const bool is_unfinished =
      one.error() == redis::error::reply_too_large || one.error() == std::errc::not_enough_memory;
  if (is_redirect(one)) {
    to.error(fmt::format("TRYAGAIN beck-redis-proxy: the slot of {} moves: {}", shown_name(command),
                         reason_of(one, room)));
  } else if (is_unfinished) {
    to.error(fmt::format("ERR beck-redis-proxy: the reply to {} cannot be passed on: {}",
                         shown_name(command), reason_of(one, room)));
  } else if ((*one).bytes().empty()) {
    to.error(reason_of(one, room));  // of a part of a divided command
  } else {
    to.raw((*one).bytes());
  }
}

}  // namespace

void cluster_batch::clear() noexcept {
  request_.clear();
  answers_.clear();
  places_.clear();
}

void cluster_batch::release() noexcept {
  request_ = redis::request();
  answers_ = std::string();
  places_ = std::vector<std::size_t>();
  texts_ = std::vector<std::string_view>();
}

void cluster_batch::add_command(const redis::arguments& command) {
  texts_.clear();
  for (std::size_t i = 1; i < command.size(); ++i) texts_.push_back(command[i]);
  add(command[0]);
}

void cluster_batch::add_script(const redis::arguments& command, std::string_view text) {
  texts_.assign(1, text);
  for (std::size_t i = 2; i < command.size(); ++i) texts_.push_back(command[i]);
  add(is_word(command[0], "evalsha") ? "EVAL" : "EVAL_RO");
}

/// Adds a command with the arguments in texts_.
void cluster_batch::add(std::string_view name) {
  places_.push_back(at_cluster);
  last_begin_ = request_.bytes().size();
  try {
    request_.push_range(name, texts_);
  } catch (...) {  // a place without a command would shift all replies behind it
    places_.pop_back();
    throw;
  }
}

void cluster_batch::add_answer(std::string_view bytes) {
  places_.push_back(bytes.size());
  answers_.append(bytes);
}

batch_end cluster_batch::compose(replies& got, std::string& out, cluster_counters& counts) const {
  batch_end end;
  redis::reply_writer one;
  std::string_view answers = answers_;
  auto command = request_.begin();
  std::size_t number = 0;
  for (const std::size_t place : places_) {
    if (place != at_cluster) {
      out.append(answers.substr(0, place));
      answers.remove_prefix(place);
      continue;
    }
    raw& reply = got[number++];
    const redis::arguments sent = *command;
    ++command;
    one.clear();
    if (reply.outcome() == redis::outcome::maybe_executed) {
      end.is_lost = true;
      break;
    }
    if (reply.outcome() == redis::outcome::executed) {
      end.has_reached = true;
      add_reply(sent, reply, one);
    } else {
      ++counts.not_sent;
      std::string room;
      end.unreached = reason_of(reply, room);
      one.error(fmt::format("ERR beck-redis-proxy: {} was not sent: {}", shown_name(sent),
                            end.unreached));
    }
    out.append(one.bytes());
    (*reply).clear();
  }
  return end;
}

}  // namespace beck_redis_proxy
