// SPDX-License-Identifier: BSL-1.0
// Channels: subscribing, which is answered by one push for each name, and publishing.
#include <string>
#include <vector>

#include "redis/memory/memory_call.hpp"

namespace beck::redis::detail {
namespace {

/// Returns how many subscriptions are in a reply: shards are counted by themselves.
long long counted(memory_peer& peer, memory_topic kind) {
  std::size_t number = peer.subscribed(kind).size();
  if (kind == memory_topic::channel) number += peer.subscribed(memory_topic::pattern).size();
  if (kind == memory_topic::pattern) number += peer.subscribed(memory_topic::channel).size();
  return static_cast<long long>(number);
}

/// Returns where confirmations go: pushes are sent even if replies are off.
reply_writer& confirmations(memory_call& call) noexcept {
  return call.peer.out.version() == protocol::resp3 ? call.peer.out : call.reply;
}

template <memory_topic Kind>
void subscribe(memory_call& call, std::string_view word) {
  for (std::size_t i = 1; i < call.size(); ++i) {
    call.engine.channels().subscribe(call.peer, Kind, call[i]);
    confirmations(call).push(3).bulk(word).bulk(call[i]).integer(counted(call.peer, Kind));
  }
}

template <memory_topic Kind>
void unsubscribe(memory_call& call, std::string_view word) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i < call.size(); ++i) names.emplace_back(call[i]);
  if (names.empty())
    names.assign(call.peer.subscribed(Kind).begin(), call.peer.subscribed(Kind).end());
  if (names.empty())
    confirmations(call).push(3).bulk(word).null().integer(counted(call.peer, Kind));
  for (const std::string& name : names) {
    call.engine.channels().unsubscribe(call.peer, Kind, name);
    confirmations(call).push(3).bulk(word).bulk(name).integer(counted(call.peer, Kind));
  }
}

void run_subscribe(memory_call& call) { subscribe<memory_topic::channel>(call, "subscribe"); }
void run_psubscribe(memory_call& call) { subscribe<memory_topic::pattern>(call, "psubscribe"); }
void run_ssubscribe(memory_call& call) { subscribe<memory_topic::shard>(call, "ssubscribe"); }
void run_unsubscribe(memory_call& call) { unsubscribe<memory_topic::channel>(call, "unsubscribe"); }
void run_punsubscribe(memory_call& call) {
  unsubscribe<memory_topic::pattern>(call, "punsubscribe");
}
void run_sunsubscribe(memory_call& call) { unsubscribe<memory_topic::shard>(call, "sunsubscribe"); }

void run_publish(memory_call& call) {
  call.reply.integer(static_cast<long long>(call.engine.channels().publish(call[1], call[2])));
}

void run_spublish(memory_call& call) {
  call.reply.integer(
      static_cast<long long>(call.engine.channels().publish_sharded(call[1], call[2])));
}

void write_subscribers(memory_call& call, memory_topic kind) {
  call.reply.array((call.size() - 2) * 2);
  for (std::size_t i = 2; i < call.size(); ++i) {
    const std::size_t number = call.engine.channels().subscribers(kind, call[i]);
    call.reply.bulk(call[i]).integer(static_cast<long long>(number));
  }
}

void run_numsub(memory_call& call) { write_subscribers(call, memory_topic::channel); }
void run_shardnumsub(memory_call& call) { write_subscribers(call, memory_topic::shard); }

constexpr memory_row channel_rows[] = {
    {"subscribe", run_subscribe, memory_while_listening},
    {"psubscribe", run_psubscribe, memory_while_listening},
    {"ssubscribe", run_ssubscribe, memory_while_listening},
    {"unsubscribe", run_unsubscribe, memory_while_listening},
    {"punsubscribe", run_punsubscribe, memory_while_listening},
    {"sunsubscribe", run_sunsubscribe, memory_while_listening},
    {"publish", run_publish},
    {"spublish", run_spublish},
    {"pubsub|numsub", run_numsub},
    {"pubsub|shardnumsub", run_shardnumsub},
};

}  // namespace

memory_rows memory_channel_rows() noexcept { return channel_rows; }

}  // namespace beck::redis::detail
