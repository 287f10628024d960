// SPDX-License-Identifier: BSL-1.0
// Lists, and the pops that wait for an element.
#include <algorithm>
#include <cmath>
#include <utility>

#include "redis/memory/memory_call.hpp"
#include "redis/protocol/number_text.hpp"

namespace beck::redis::detail {
namespace {

void push(memory_call& call, bool to_left) {
  memory_list* const list = call.make<memory_list>(call[1]);
  if (list == nullptr) return;
  for (std::size_t i = 2; i < call.size(); ++i) {
    if (to_left) {
      list->emplace_front(call[i]);
    } else {
      list->emplace_back(call[i]);
    }
  }
  call.changed(call[1]);
  call.reply.integer(static_cast<long long>(list->size()));
}

void run_lpush(memory_call& call) { push(call, true); }
void run_rpush(memory_call& call) { push(call, false); }

/// Removes an element at an end and writes it.
void write_popped(memory_call& call, memory_list& list, bool from_left) {
  if (from_left) {
    call.reply.bulk(list.front());
    list.pop_front();
  } else {
    call.reply.bulk(list.back());
    list.pop_back();
  }
}

void pop(memory_call& call, bool from_left, std::string_view name) {
  if (call.size() > 3) return call.wrong_number(name);
  const bool has_count = call.size() == 3;
  std::int64_t count = 1;
  if (has_count && (read_integer(call[2], count).is_bad || count < 0))
    return call.error("ERR value is out of range, must be positive");
  memory_list* list = nullptr;
  if (!call.find_as(call[1], list)) return;
  if (list == nullptr) {
    has_count ? call.reply.null_array() : call.reply.null();
    return;
  }
  const std::size_t taken = std::min(list->size(), static_cast<std::size_t>(count));
  if (has_count) call.reply.array(taken);
  for (std::size_t i = 0; i < taken; ++i) write_popped(call, *list, from_left);
  if (taken != 0) call.changed(call[1]);
  call.erase_if_empty(call[1]);
}

void run_lpop(memory_call& call) { pop(call, true, "lpop"); }
void run_rpop(memory_call& call) { pop(call, false, "rpop"); }

/// Reads a time in seconds. Returns false, with an error as the reply, if it is none; 0: for ever.
bool take_timeout(memory_call& call, std::size_t i, std::int64_t& to_ms) {
  constexpr long double most_ms = 9.2e18;
  long double seconds = 0;
  if (!read_memory_long_real(call[i], seconds)) {
    call.error("ERR timeout is not a float or out of range");
    return false;
  }
  if (seconds < 0 || seconds * 1'000 > most_ms) {  // one that is too large overflows there
    call.error("ERR timeout is negative");
    return false;
  }
  to_ms = static_cast<std::int64_t>(std::ceil(seconds * 1'000));
  return true;
}

std::int64_t deadline_after(const memory_call& call, std::int64_t ms) noexcept {
  constexpr std::int64_t millisecond = 1'000'000;
  const std::int64_t now_ns = call.engine.now().steady_ns;
  if (ms == 0 || ms > (memory_wait::never - now_ns) / millisecond) return memory_wait::never;
  return now_ns + ms * millisecond;
}

void pop_or_wait(memory_call& call, bool from_left) {
  const std::size_t last = call.size() - 1;
  std::int64_t timeout_ms = 0;
  if (!take_timeout(call, last, timeout_ms)) return;
  memory_wait wait;
  for (std::size_t i = 1; i < last; ++i) {
    memory_list* list = nullptr;
    if (!call.find_as(call[i], list)) return;
    if (list != nullptr) {
      call.reply.array(2).bulk(call[i]);
      write_popped(call, *list, from_left);
      call.changed(call[i]);
      return call.erase_if_empty(call[i]);
    }
    wait.keys.emplace_back(call[i]);
  }
  if (call.peer.transaction.is_running()) {
    call.reply.null_array();
    return;
  }
  wait.from_left = from_left;
  wait.deadline_ns = deadline_after(call, timeout_ms);
  call.engine.waits().begin(call.peer, std::move(wait));
}

void run_blpop(memory_call& call) { pop_or_wait(call, true); }
void run_brpop(memory_call& call) { pop_or_wait(call, false); }

void run_lrange(memory_call& call) {
  std::int64_t first = 0;
  std::int64_t last = 0;
  if (!call.integer(2, first) || !call.integer(3, last)) return;
  memory_list* list = nullptr;
  if (!call.find_as(call[1], list)) return;
  const auto size = list != nullptr ? static_cast<std::int64_t>(list->size()) : 0;
  if (first < 0) first = std::max<std::int64_t>(first + size, 0);
  if (last < 0) last += size;
  last = std::min(last, size - 1);
  call.reply.array(first <= last ? static_cast<std::size_t>(last - first + 1) : 0);
  for (std::int64_t i = first; i <= last; ++i)
    call.reply.bulk((*list)[static_cast<std::size_t>(i)]);
}

void run_llen(memory_call& call) {
  memory_list* list = nullptr;
  if (!call.find_as(call[1], list)) return;
  call.reply.integer(list != nullptr ? static_cast<long long>(list->size()) : 0);
}

constexpr memory_row list_rows[] = {
    {"lpush", run_lpush}, {"rpush", run_rpush}, {"lpop", run_lpop},     {"rpop", run_rpop},
    {"blpop", run_blpop}, {"brpop", run_brpop}, {"lrange", run_lrange}, {"llen", run_llen},
};

}  // namespace

memory_rows memory_list_rows() noexcept { return list_rows; }

}  // namespace beck::redis::detail
