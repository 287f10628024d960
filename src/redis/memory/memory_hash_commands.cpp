// SPDX-License-Identifier: BSL-1.0
// Hashes. Fields are listed in the order of their bytes.
#include <string>

#include "redis/memory/memory_call.hpp"
#include "redis/protocol/number_text.hpp"

namespace beck::redis::detail {
namespace {

bool put(memory_hash& hash, std::string_view field, std::string_view text) {
  const auto at = hash.find(field);
  if (at != hash.end()) at->second = text;
  return at == hash.end() && hash.emplace(field, text).second;
}

long long set_fields(memory_call& call, memory_hash& hash) {
  long long added = 0;
  for (std::size_t i = 2; i < call.size(); i += 2) added += put(hash, call[i], call[i + 1]) ? 1 : 0;
  call.changed(call[1]);
  return added;
}

void run_hset(memory_call& call) {
  if (call.size() % 2 != 0) return call.wrong_number("hset");
  memory_hash* const hash = call.make<memory_hash>(call[1]);
  if (hash != nullptr) call.reply.integer(set_fields(call, *hash));
}

void run_hmset(memory_call& call) {
  if (call.size() % 2 != 0) return call.wrong_number("hmset");
  memory_hash* const hash = call.make<memory_hash>(call[1]);
  if (hash == nullptr) return;
  set_fields(call, *hash);
  call.ok();
}

void write_field(memory_call& call, const memory_hash* hash, std::string_view field) {
  const bool has_it = hash != nullptr && hash->contains(field);
  if (has_it) {
    call.reply.bulk(hash->find(field)->second);
  } else {
    call.reply.null();
  }
}

void run_hget(memory_call& call) {
  memory_hash* hash = nullptr;
  if (call.find_as(call[1], hash)) write_field(call, hash, call[2]);
}

void run_hmget(memory_call& call) {
  memory_hash* hash = nullptr;
  if (!call.find_as(call[1], hash)) return;
  call.reply.array(call.size() - 2);
  for (std::size_t i = 2; i < call.size(); ++i) write_field(call, hash, call[i]);
}

void run_hgetall(memory_call& call) {
  memory_hash* hash = nullptr;
  if (!call.find_as(call[1], hash)) return;
  call.reply.map(hash != nullptr ? hash->size() : 0);
  if (hash == nullptr) return;
  for (const auto& [field, text] : *hash) call.reply.bulk(field).bulk(text);
}

void run_hkeys(memory_call& call) {
  memory_hash* hash = nullptr;
  if (!call.find_as(call[1], hash)) return;
  call.reply.array(hash != nullptr ? hash->size() : 0);
  if (hash == nullptr) return;
  for (const auto& [field, text] : *hash) call.reply.bulk(field);
}

void run_hvals(memory_call& call) {
  memory_hash* hash = nullptr;
  if (!call.find_as(call[1], hash)) return;
  call.reply.array(hash != nullptr ? hash->size() : 0);
  if (hash == nullptr) return;
  for (const auto& [field, text] : *hash) call.reply.bulk(text);
}

void run_hdel(memory_call& call) {
  memory_hash* hash = nullptr;
  if (!call.find_as(call[1], hash)) return;
  long long removed = 0;
  for (std::size_t i = 2; hash != nullptr && i < call.size(); ++i)
    removed += static_cast<long long>(hash->erase(std::string(call[i])));
  if (removed != 0) call.changed(call[1]);
  call.erase_if_empty(call[1]);
  call.reply.integer(removed);
}

void run_hexists(memory_call& call) {
  memory_hash* hash = nullptr;
  if (!call.find_as(call[1], hash)) return;
  call.reply.integer(hash != nullptr && hash->contains(call[2]) ? 1 : 0);
}

void run_hlen(memory_call& call) {
  memory_hash* hash = nullptr;
  if (!call.find_as(call[1], hash)) return;
  call.reply.integer(hash != nullptr ? static_cast<long long>(hash->size()) : 0);
}

void run_hincrby(memory_call& call) {
  std::int64_t by = 0;
  if (!call.integer(3, by)) return;
  memory_hash* hash = nullptr;
  if (!call.find_as(call[1], hash)) return;
  std::int64_t number = 0;
  const bool has_it = hash != nullptr && hash->contains(call[2]);
  if (has_it && read_integer(hash->find(call[2])->second, number).is_bad)
    return call.error("ERR hash value is not an integer");
  if (__builtin_add_overflow(number, by, &number))
    return call.error("ERR increment or decrement would overflow");
  put(*call.make<memory_hash>(call[1]), call[2], std::to_string(number));
  call.changed(call[1]);
  call.reply.integer(number);
}

constexpr memory_row hash_rows[] = {
    {"hset", run_hset},       {"hmset", run_hmset}, {"hget", run_hget},       {"hmget", run_hmget},
    {"hgetall", run_hgetall}, {"hkeys", run_hkeys}, {"hvals", run_hvals},     {"hdel", run_hdel},
    {"hexists", run_hexists}, {"hlen", run_hlen},   {"hincrby", run_hincrby},
};

}  // namespace

memory_rows memory_hash_rows() noexcept { return hash_rows; }

}  // namespace beck::redis::detail
