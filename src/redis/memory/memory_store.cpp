// SPDX-License-Identifier: BSL-1.0
// Keys expire when they are looked at: no client sees the difference.
#include "redis/memory/memory_store.hpp"

#include <cmath>
#include <iterator>

namespace beck::redis::detail {

void memory_sorted::set(std::string_view member, double score) {
  BECK_ASSERT(!std::isnan(score), "the score of a member of a sorted set is no number");
  remove(member);
  score += 0.0;  // no zero is negative
  ranks_.emplace(score, member);
  scores_.emplace(member, score);
}

bool memory_sorted::remove(std::string_view member) {
  const auto at = scores_.find(member);
  if (at == scores_.end()) return false;
  ranks_.erase({at->second, at->first});
  scores_.erase(at);
  return true;
}

const double* memory_sorted::score(std::string_view member) const noexcept {
  const auto at = scores_.find(member);
  return at == scores_.end() ? nullptr : &at->second;
}

std::size_t memory_sorted::rank(std::string_view member) const {
  const auto at = scores_.find(member);
  BECK_ASSERT(at != scores_.end(), "only a member of a sorted set has a rank");
  const auto place = ranks_.find({at->second, at->first});
  return static_cast<std::size_t>(std::distance(ranks_.begin(), place));
}

std::string_view type_name(const memory_value& value) noexcept {
  constexpr std::string_view names[] = {"string", "list", "set", "zset", "hash"};
  return names[value.index()];
}

memory_entry* memory_store::find(int number, std::string_view key) {
  database& all = keys(number);
  const auto at = all.find(key);
  if (at == all.end()) return nullptr;
  if (at->second.expires_ms > now_ms_) return &at->second;
  note_change(number, key);
  all.erase(at);
  return nullptr;
}

memory_entry& memory_store::put(int number, std::string_view key, memory_value value) {
  memory_entry& entry = keys(number)[std::string(key)];
  entry.value = std::move(value);
  entry.expires_ms = memory_entry::never;
  note_change(number, key);
  return entry;
}

bool memory_store::erase(int number, std::string_view key) {
  if (find(number, key) == nullptr) return false;
  note_change(number, key);
  keys(number).erase(keys(number).find(key));
  return true;
}

void memory_store::erase_if_empty(int number, std::string_view key) {
  const memory_entry* const entry = find(number, key);
  if (entry == nullptr || std::holds_alternative<std::string>(entry->value)) return;
  const bool is_empty = std::visit([](const auto& value) { return value.empty(); }, entry->value);
  if (is_empty) erase(number, key);
}

void memory_store::clear(int number) {
  for (const auto& [key, entry] : live(number)) note_change(number, key);
  keys(number).clear();
}

const memory_store::database& memory_store::live(int number) {
  database& all = keys(number);
  for (auto at = all.begin(); at != all.end();) {
    if (at->second.expires_ms > now_ms_) {
      ++at;
    } else {
      note_change(number, at->first);
      at = all.erase(at);
    }
  }
  return all;
}

void memory_store::note_change(int number, std::string_view key) {
  changes_.push_back({number, std::string(key)});
}

}  // namespace beck::redis::detail
