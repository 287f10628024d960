// SPDX-License-Identifier: BSL-1.0
// Strings: SET with all its options, reading, appending, and parts of strings.
#include <algorithm>
#include <limits>
#include <string>

#include "redis/memory/memory_call.hpp"

namespace beck::redis::detail {
namespace {

constexpr std::size_t string_max = std::size_t{512} << 20;  // bytes

void write_string(memory_call& call, const std::string* text) {
  if (text == nullptr) {
    call.reply.null();
  } else {
    call.reply.bulk(*text);
  }
}

void put(memory_call& call, std::string_view key, std::string_view text) {
  call.store().put(call.peer.database, key, std::string(text));
}

void run_get(memory_call& call) {
  std::string* found = nullptr;
  if (call.find_as(call[1], found)) write_string(call, found);
}

/// The options of SET.
struct set_options {
  bool nx = false;
  bool xx = false;
  bool get = false;
  bool keeps_end = false;
  bool has_end = false;
  std::size_t end_at = 0;    // the argument with the time
  std::int64_t unit_ms = 1;  // of the time
  bool is_date = false;      // the time is a date
  std::int64_t expires_ms = 0;
};

bool take_set_end(memory_call& call, std::size_t i, set_options& to) {
  const bool seconds = call.is(i, "ex") || call.is(i, "exat");
  const bool is_date = call.is(i, "exat") || call.is(i, "pxat");
  if (!seconds && !is_date && !call.is(i, "px")) return false;
  const std::int64_t unit_ms = seconds ? 1'000 : 1;
  const bool is_other = to.has_end && (to.unit_ms != unit_ms || to.is_date != is_date);
  if (is_other || to.keeps_end || i + 1 >= call.size()) return false;
  to.has_end = true;
  to.is_date = is_date;
  to.unit_ms = unit_ms;
  to.end_at = i + 1;
  return true;
}

/// Reads the options of SET. Returns false, with an error as the reply, if they are not right.
bool take_set_options(memory_call& call, set_options& to) {
  for (std::size_t i = 3; i < call.size(); ++i) {
    if (call.is(i, "nx") && !to.xx) {
      to.nx = true;
    } else if (call.is(i, "xx") && !to.nx) {
      to.xx = true;
    } else if (call.is(i, "get")) {
      to.get = true;
    } else if (call.is(i, "keepttl") && !to.has_end) {
      to.keeps_end = true;
    } else if (take_set_end(call, i, to)) {
      ++i;
    } else {
      call.syntax_error();
      return false;
    }
  }
  return true;
}

/// Reads a time of expiry. Returns false, with an error as the reply, if it is none.
bool take_end(memory_call& call, std::string_view name, set_options& to) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::int64_t number = 0;
  if (!call.integer(to.end_at, number)) return false;
  const std::int64_t date_ms = call.engine.now().date_ns / 1'000'000;
  const bool is_too_late =
      number > most / to.unit_ms || (!to.is_date && number * to.unit_ms > most - date_ms);
  if (number <= 0 || is_too_late) {
    call.error("ERR invalid expire time in '" + std::string(name) + "' command");
    return false;
  }
  to.expires_ms = call.store().time() + number * to.unit_ms - (to.is_date ? date_ms : 0);
  return true;
}

void run_set(memory_call& call) {
  set_options how;
  if (!take_set_options(call, how)) return;
  if (how.has_end && !take_end(call, "set", how)) return;
  const memory_entry* const entry = call.find(call[1]);
  if (how.get) {
    std::string* old = nullptr;
    if (!call.find_as(call[1], old)) return;
    write_string(call, old);
  }
  if ((how.nx && entry != nullptr) || (how.xx && entry == nullptr)) {
    if (!how.get) call.reply.null();
    return;
  }
  const std::int64_t end = entry != nullptr ? entry->expires_ms : memory_entry::never;
  memory_entry& made = call.store().put(call.peer.database, call[1], std::string(call[2]));
  if (how.keeps_end) made.expires_ms = end;
  if (how.has_end) made.expires_ms = how.expires_ms;
  if (!how.get) call.ok();
}

void run_setnx(memory_call& call) {
  const bool is_free = call.find(call[1]) == nullptr;
  if (is_free) put(call, call[1], call[2]);
  call.reply.integer(is_free ? 1 : 0);
}

void set_with_end(memory_call& call, std::string_view name, std::int64_t unit_ms) {
  set_options how;
  how.end_at = 2;
  how.unit_ms = unit_ms;
  if (!take_end(call, name, how)) return;
  put(call, call[1], call[3]);
  call.find(call[1])->expires_ms = how.expires_ms;
  call.ok();
}

void run_setex(memory_call& call) { set_with_end(call, "setex", 1'000); }
void run_psetex(memory_call& call) { set_with_end(call, "psetex", 1); }

void run_getset(memory_call& call) {
  std::string* old = nullptr;
  if (!call.find_as(call[1], old)) return;
  write_string(call, old);
  put(call, call[1], call[2]);
}

void run_getdel(memory_call& call) {
  std::string* old = nullptr;
  if (!call.find_as(call[1], old)) return;
  write_string(call, old);
  call.store().erase(call.peer.database, call[1]);
}

void run_mget(memory_call& call) {
  call.reply.array(call.size() - 1);
  for (std::size_t i = 1; i < call.size(); ++i)
    write_string(call, call.store().find_as<std::string>(call.peer.database, call[i]));
}

void run_mset(memory_call& call) {
  if (call.size() % 2 == 0) return call.wrong_number("mset");
  for (std::size_t i = 1; i < call.size(); i += 2) put(call, call[i], call[i + 1]);
  call.ok();
}

void run_append(memory_call& call) {
  std::string* const text = call.make<std::string>(call[1]);
  if (text == nullptr) return;
  text->append(call[2]);
  call.changed(call[1]);
  call.reply.integer(static_cast<long long>(text->size()));
}

void run_strlen(memory_call& call) {
  std::string* text = nullptr;
  if (!call.find_as(call[1], text)) return;
  call.reply.integer(text != nullptr ? static_cast<long long>(text->size()) : 0);
}

void run_getrange(memory_call& call) {
  std::int64_t first = 0;
  std::int64_t last = 0;
  if (!call.integer(2, first) || !call.integer(3, last)) return;
  std::string* text = nullptr;
  if (!call.find_as(call[1], text)) return;
  const auto size = text != nullptr ? static_cast<std::int64_t>(text->size()) : 0;
  const bool is_empty = first < 0 && last < 0 && first > last;
  if (first < 0) first = std::max<std::int64_t>(first + size, 0);
  if (last < 0) last = std::max<std::int64_t>(last + size, 0);
  last = std::min(last, size - 1);
  if (is_empty || first > last || size == 0) {
    call.reply.bulk({});
    return;
  }
  const std::string_view all = *text;
  call.reply.bulk(
      all.substr(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first + 1)));
}

void run_setrange(memory_call& call) {
  std::int64_t offset = 0;
  if (!call.integer(2, offset)) return;
  if (offset < 0) return call.error("ERR offset is out of range");
  std::string* text = nullptr;
  if (!call.find_as(call[1], text)) return;
  const std::string_view part = call[3];
  if (part.empty()) {
    call.reply.integer(text != nullptr ? static_cast<long long>(text->size()) : 0);
    return;
  }
  const auto at = static_cast<std::size_t>(offset);
  if (at > string_max || at + part.size() > string_max)
    return call.error("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
  text = call.make<std::string>(call[1]);
  if (text->size() < at + part.size()) text->resize(at + part.size());
  text->replace(at, part.size(), part);
  call.changed(call[1]);
  call.reply.integer(static_cast<long long>(text->size()));
}

constexpr memory_row string_rows[] = {
    {"get", run_get},           {"set", run_set},       {"setnx", run_setnx},
    {"setex", run_setex},       {"psetex", run_psetex}, {"getset", run_getset},
    {"getdel", run_getdel},     {"mget", run_mget},     {"mset", run_mset},
    {"append", run_append},     {"strlen", run_strlen}, {"getrange", run_getrange},
    {"setrange", run_setrange},
};

}  // namespace

memory_rows memory_string_rows() noexcept { return string_rows; }

}  // namespace beck::redis::detail
