// SPDX-License-Identifier: BSL-1.0
// A bounded queue whose cells have sequence numbers. A signal handler that is interrupted between
// its claim of a cell and its store leaves a gap: take() stops there, and the notification of that
// handler follows its store.
#include "io/loop/signal_state.hpp"

namespace beck::detail {

signal_inbox::signal_inbox() : cells_(new cell[capacity]) {
  for (std::uint32_t i = 0; i < capacity; ++i) {
    cells_[i].turn.store(i, std::memory_order_relaxed);
  }
}

void signal_inbox::put(const signal_info& info) noexcept {
  if (put_cell(info)) return;
  account_of(info.number).without_cell.fetch_add(1, std::memory_order_relaxed);
  overflowed_.store(true, std::memory_order_release);  // pairs with take()
}

bool signal_inbox::put_cell(const signal_info& info) noexcept {
  std::uint32_t at = next_put_.load(std::memory_order_relaxed);
  for (;;) {
    cell& here = cells_[at % capacity];
    const std::uint32_t turn = here.turn.load(std::memory_order_acquire);
    if (turn == at) {
      if (!next_put_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
      here.info = info;
      here.epoch = account_of(info.number).epoch.load(std::memory_order_relaxed);
      here.turn.store(at + 1, std::memory_order_release);
      return true;
    }
    if (static_cast<std::int32_t>(turn - at) < 0) return false;  // full
    at = next_put_.load(std::memory_order_relaxed);
  }
}

signal_inbox::cell* signal_inbox::oldest() noexcept {
  cell& here = cells_[next_take_ % capacity];
  return here.turn.load(std::memory_order_acquire) == next_take_ + 1 ? &here : nullptr;
}

void signal_inbox::free_oldest() noexcept {
  cells_[next_take_ % capacity].turn.store(next_take_ + capacity, std::memory_order_release);
  ++next_take_;
}

bool signal_inbox::is_forgotten(const cell& c) noexcept {
  return c.epoch != account_of(c.info.number).epoch.load(std::memory_order_relaxed);
}

void signal_inbox::drop_forgotten() noexcept {
  for (const cell* c = oldest(); c != nullptr && is_forgotten(*c); c = oldest()) free_oldest();
}

bool signal_inbox::take(signal_info& info) noexcept {
  drop_forgotten();
  if (const cell* c = oldest(); c != nullptr) {
    info = c->info;
    free_oldest();
    return true;
  }
  if (!overflowed_.exchange(false, std::memory_order_acquire)) return false;
  for (int number = 1; number <= signal_sink::number_max; ++number) {
    std::atomic<std::uint32_t>& left = account_of(number).without_cell;
    if (left.load(std::memory_order_relaxed) == 0) continue;
    left.fetch_sub(1, std::memory_order_relaxed);
    overflowed_.store(true, std::memory_order_relaxed);  // there may be more
    info = signal_info{number, 0, 0, 0};
    return true;
  }
  return false;
}

void signal_inbox::forget(int number) noexcept {
  account_of(number).epoch.fetch_add(1, std::memory_order_relaxed);
  account_of(number).without_cell.store(0, std::memory_order_relaxed);
}

}  // namespace beck::detail
