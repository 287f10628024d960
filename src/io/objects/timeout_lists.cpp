// SPDX-License-Identifier: BSL-1.0
// The timer rings for the earliest entry that there was when it was set. Entries come and go all
// the time; the timer is set anew only when it rings, or for an entry that is due before.
#include <beck/io/timeout_lists.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include <beck/detail/ref_count.hpp>
#include <beck/io/steady_timer.hpp>

#include "io/loop/io_loop.hpp"
#include "io/loop/loop_access.hpp"

namespace beck {

/// What the lists share with the wait of their timer, which may end behind them.
struct timeout_lists::state {
  state(const any_io_executor& executor, std::size_t lists)
      : all(new list_of_equals[lists]),
        count(lists),
        timer(executor),
        loop(detail::loop_of(executor)) {}

  const std::unique_ptr<list_of_equals[]> all;
  const std::size_t count;
  steady_timer timer;
  detail::io_loop& loop;
  function on_timeout = nullptr;
  void* data = nullptr;
  std::int64_t armed = INT64_MAX;  // when the timer rings
  detail::ref_count holders;
};

/// Holds a state.
class timeout_lists::state_hold {
 public:
  explicit state_hold(state& of) noexcept : of_(&of) { of.holders.add(); }
  state_hold(state_hold&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  state_hold& operator=(state_hold&&) = delete;
  ~state_hold() {
    if (of_ != nullptr) drop(*of_);
  }
  state& operator*() const noexcept { return *of_; }

 private:
  state* of_;
};

void timeout_lists::drop(state& of) noexcept {
  if (of.holders.drop()) delete &of;
}

timeout_lists::timeout_lists(const any_io_executor& executor, const duration* times,
                             std::size_t count, function on_timeout, void* data)
    : state_(new state(executor, count)) {
  for (std::size_t i = 0; i < count; ++i)
    state_->all[i].time = std::max<std::int64_t>(times[i].nanoseconds(), 1);  // the future, always
  state_->on_timeout = on_timeout;
  state_->data = data;
}

timeout_lists::~timeout_lists() {
  for (std::size_t i = 0; i < state_->count; ++i) {
    while (state_->all[i].entries.pop_front() != nullptr) {}
  }
  static_cast<void>(state_->timer.cancel());
  drop(*state_);
}

void timeout_lists::start(timeout_entry& entry, std::size_t list) noexcept {
  entry.hook_.unlink();
  list_of_equals& to = state_->all[list];
  const std::int64_t now = state_->loop.turn_time();
  entry.due_ = now > INT64_MAX - to.time ? INT64_MAX : now + to.time;
  to.entries.push_back(entry);
  if (entry.due_ < state_->armed) arm(*state_);
}

timeout_entry* timeout_lists::front(std::size_t list) noexcept {
  return state_->all[list].entries.front();
}

/// Sets the timer for the entry that is due first. Without memory for that it is not set, so that
/// the next entry tries again: otherwise no limit would ever be kept again.
void timeout_lists::arm(state& of) noexcept {
  std::int64_t first = INT64_MAX;
  for (std::size_t i = 0; i < of.count; ++i) {
    entry_list& waiting = of.all[i].entries;
    if (!waiting.empty()) first = std::min(first, waiting.front()->due_);
  }
  of.timer.expires_at(time_point(duration(first)));
  of.armed = INT64_MAX;
  if (first == INT64_MAX) return;
  try {
    of.timer.async_wait([keep = state_hold(of)](const error_code& ec) {
      state& s = *keep;
      if (ec == error::operation_aborted) return;
      s.armed = INT64_MAX;
      if (!ec) ring(s);
    });
    of.armed = first;
  } catch (const std::bad_alloc&) {}
}

void timeout_lists::ring(state& of) {
  struct rearming {  // also if a call throws
    state& of;
    ~rearming() { arm(of); }
  };
  const rearming later{of};
  const std::int64_t now = of.loop.turn_time();
  of.armed = now;  // entries that are started meanwhile need no timer of their own
  for (std::size_t i = 0; i < of.count; ++i) {
    entry_list& waiting = of.all[i].entries;
    while (!waiting.empty() && waiting.front()->due_ <= now) {
      of.on_timeout(*waiting.pop_front(), i, of.data);
    }
  }
}

}  // namespace beck
