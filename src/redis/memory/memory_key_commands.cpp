// SPDX-License-Identifier: BSL-1.0
// Keys of any type: DEL, EXPIRE, RENAME, KEYS, SCAN and their like.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "redis/memory/memory_call.hpp"
#include "redis/protocol/number_text.hpp"

namespace beck::redis::detail {
namespace {

void run_del(memory_call& call) {
  long long removed = 0;
  for (std::size_t i = 1; i < call.size(); ++i)
    removed += call.store().erase(call.peer.database, call[i]) ? 1 : 0;
  call.reply.integer(removed);
}

void run_exists(memory_call& call) {
  long long found = 0;
  for (std::size_t i = 1; i < call.size(); ++i) found += call.find(call[i]) != nullptr ? 1 : 0;
  call.reply.integer(found);
}

/// Reads NX, XX, GT and LT of EXPIRE. Returns false, with an error as the reply, if they exclude
/// each other.
bool take_conditions(memory_call& call, bool& nx, bool& xx, bool& gt, bool& lt) {
  for (std::size_t i = 3; i < call.size(); ++i) {
    if (call.is(i, "nx")) {
      nx = true;
    } else if (call.is(i, "xx")) {
      xx = true;
    } else if (call.is(i, "gt")) {
      gt = true;
    } else if (call.is(i, "lt")) {
      lt = true;
    } else {
      call.error("ERR Unsupported option " + std::string(call[i]));
      return false;
    }
  }
  if (nx && (xx || gt || lt)) {
    call.error("ERR NX and XX, GT or LT options at the same time are not compatible");
    return false;
  }
  if (!gt || !lt) return true;
  call.error("ERR GT and LT options at the same time are not compatible");
  return false;
}

void expire(memory_call& call, std::int64_t unit_ms, std::string_view name) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  bool nx = false, xx = false, gt = false, lt = false;
  if (!take_conditions(call, nx, xx, gt, lt)) return;
  std::int64_t number = 0;
  if (!call.integer(2, number)) return;
  const std::int64_t date_ms = call.engine.now().date_ns / 1'000'000;
  if (number > (most - date_ms) / unit_ms || number < -most / unit_ms)
    return call.error("ERR invalid expire time in '" + std::string(name) + "' command");
  memory_entry* const entry = call.find(call[1]);
  if (entry == nullptr) {
    call.reply.integer(0);
    return;
  }
  const bool ends = entry->expires_ms != memory_entry::never;
  const std::int64_t at = call.store().time() + number * unit_ms;
  const bool is_excluded = (nx && ends) || (xx && !ends) || (gt && at <= entry->expires_ms) ||
                           (lt && at >= entry->expires_ms);
  if (is_excluded) {
    call.reply.integer(0);
    return;
  }
  entry->expires_ms = at;
  if (number > 0) call.changed(call[1]);
  call.find(call[1]);  // removes it if it has expired already
  call.reply.integer(1);
}

void run_expire(memory_call& call) { expire(call, 1'000, "expire"); }
void run_pexpire(memory_call& call) { expire(call, 1, "pexpire"); }

/// Writes how long a key will exist; -1: for ever, -2: there is none.
void write_time_left(memory_call& call, std::int64_t unit_ms) {
  const memory_entry* const entry = call.find(call[1]);
  long long left = -2;
  if (entry != nullptr && entry->expires_ms == memory_entry::never) left = -1;
  if (entry != nullptr && entry->expires_ms != memory_entry::never)
    left = (entry->expires_ms - call.store().time() + unit_ms / 2) / unit_ms;
  call.reply.integer(left);
}

void run_ttl(memory_call& call) { write_time_left(call, 1'000); }
void run_pttl(memory_call& call) { write_time_left(call, 1); }

void run_persist(memory_call& call) {
  memory_entry* const entry = call.find(call[1]);
  const bool ends = entry != nullptr && entry->expires_ms != memory_entry::never;
  if (ends) {
    entry->expires_ms = memory_entry::never;
    call.changed(call[1]);
  }
  call.reply.integer(ends ? 1 : 0);
}

void run_type(memory_call& call) {
  const memory_entry* const entry = call.find(call[1]);
  call.reply.simple(entry != nullptr ? type_name(entry->value) : "none");
}

void run_keys(memory_call& call) {
  std::vector<std::string_view> found;
  for (const auto& [key, entry] : call.store().live(call.peer.database))
    if (matches_glob(call[1], key)) found.push_back(key);
  call.reply.array(found.size());
  for (const std::string_view key : found) call.reply.bulk(key);
}

/// The options of SCAN.
struct scan_options {
  std::string pattern = "*";
  std::string type;
  std::int64_t count = 10;
};

bool take_scan_options(memory_call& call, scan_options& to) {
  for (std::size_t i = 2; i < call.size(); i += 2) {
    const bool has_value = i + 1 < call.size();
    if (has_value && call.is(i, "count")) {
      if (!call.integer(i + 1, to.count)) return false;
    } else if (has_value && call.is(i, "match")) {
      to.pattern = call[i + 1];
    } else if (has_value && call.is(i, "type")) {
      to.type = small_letters(call[i + 1]);
    } else {
      to.count = 0;
    }
    if (to.count < 1) {
      call.syntax_error();
      return false;
    }
  }
  return true;
}

/// Returns the place of a key in the order of SCAN, which is that of this hash: so a cursor stays
/// right while other keys come and go.
std::uint32_t scan_place(std::string_view key) noexcept {
  std::uint32_t hash = 2166136261U;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

void run_scan(memory_call& call) {
  std::int64_t from = 0;
  if (read_integer(call[1], from).is_bad) return call.error("ERR invalid cursor");
  scan_options how;
  if (!take_scan_options(call, how)) return;
  using placed_key = std::pair<std::uint32_t, const memory_store::database::value_type*>;
  std::vector<placed_key> keys;
  for (const auto& one : call.store().live(call.peer.database))
    if (from >= 0 && scan_place(one.first) >= from) keys.emplace_back(scan_place(one.first), &one);
  std::sort(keys.begin(), keys.end(), [](const placed_key& a, const placed_key& b) {
    return a.first != b.first ? a.first < b.first : a.second->first < b.second->first;
  });
  std::size_t end = std::min(keys.size(), static_cast<std::size_t>(how.count));
  while (end != 0 && end < keys.size() && keys[end].first == keys[end - 1].first) ++end;
  const std::uint32_t next = end < keys.size() ? keys[end].first : 0;
  std::erase_if(keys, [&](const placed_key& one) {
    return one.first >= next && next != 0 ? true : !matches_glob(how.pattern, one.second->first);
  });
  if (!how.type.empty())
    std::erase_if(keys, [&](const placed_key& one) {
      return type_name(one.second->second.value) != how.type;
    });
  call.reply.array(2).bulk(std::to_string(next)).array(keys.size());
  for (const placed_key& one : keys) call.reply.bulk(one.second->first);
}

void run_rename(memory_call& call) {
  memory_entry* const entry = call.find(call[1]);
  if (entry == nullptr) return call.error("ERR no such key");
  if (call[1] != call[2]) {
    memory_entry moved = std::move(*entry);
    call.store().erase(call.peer.database, call[1]);
    call.store().put(call.peer.database, call[2], std::move(moved.value)).expires_ms =
        moved.expires_ms;
  }
  call.ok();
}

bool has_flush_mode(memory_call& call) {
  if (call.size() == 1) return true;
  if (call.size() == 2 && (call.is(1, "sync") || call.is(1, "async"))) return true;
  call.syntax_error();
  return false;
}

void run_flushdb(memory_call& call) {
  if (!has_flush_mode(call)) return;
  call.engine.caches().note_flush(call.engine.peers());
  call.store().clear(call.peer.database);
  call.ok();
}

void run_flushall(memory_call& call) {
  if (!has_flush_mode(call)) return;
  call.engine.caches().note_flush(call.engine.peers());
  for (int number = 0; number < memory_store::databases; ++number) call.store().clear(number);
  call.ok();
}

void run_dbsize(memory_call& call) {
  call.reply.integer(static_cast<long long>(call.store().live(call.peer.database).size()));
}

constexpr memory_row key_rows[] = {
    {"del", run_del},       {"unlink", run_del},      {"exists", run_exists},
    {"touch", run_exists},  {"expire", run_expire},   {"pexpire", run_pexpire},
    {"ttl", run_ttl},       {"pttl", run_pttl},       {"persist", run_persist},
    {"type", run_type},     {"keys", run_keys},       {"scan", run_scan},
    {"rename", run_rename}, {"flushdb", run_flushdb}, {"flushall", run_flushall},
    {"dbsize", run_dbsize},
};

}  // namespace

memory_rows memory_key_rows() noexcept { return key_rows; }

}  // namespace beck::redis::detail
