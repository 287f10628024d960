// SPDX-License-Identifier: BSL-1.0
//
// The progress of operations in flight on a scripted ring: events, timers, cancels, and the ways in
// which an operation may end without a request.
#include <sys/epoll.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "support/scripted_engine.hpp"

namespace beck::testing {
namespace {

// The number of completions that Linux lets a multishot post before other operations continue.
constexpr unsigned multishot_rounds_max = 32;

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

bool moves_bytes(unsigned opcode) {
  return opcode == IORING_OP_RECV || opcode == IORING_OP_SEND || opcode == IORING_OP_READ ||
         opcode == IORING_OP_WRITE;
}

bool is_cancel(const scripted_operation& operation) {
  return operation.entry->opcode == IORING_OP_ASYNC_CANCEL ||
         operation.entry->opcode == IORING_OP_POLL_REMOVE ||
         operation.entry->opcode == IORING_OP_TIMEOUT_REMOVE;
}

bool cancels_all(const io_uring_sqe& cancel) {
  constexpr unsigned several = IORING_ASYNC_CANCEL_ALL | IORING_ASYNC_CANCEL_ANY;
  return cancel.opcode == IORING_OP_ASYNC_CANCEL && (cancel.cancel_flags & several) != 0;
}

bool matches(const scripted_operation& target, const io_uring_sqe& cancel) {
  if (is_cancel(target)) return false;
  const bool same_data = target.entry->user_data == cancel.addr;
  if (cancel.opcode == IORING_OP_POLL_REMOVE) return target.is_poll() && same_data;
  if (cancel.opcode == IORING_OP_TIMEOUT_REMOVE) {
    return target.entry->opcode == IORING_OP_TIMEOUT && same_data;
  }
  if ((cancel.cancel_flags & IORING_ASYNC_CANCEL_ANY) != 0) return true;
  // The numbers in the entries are compared. The file that such a number refers to by now does not
  // matter to operations in flight.
  if ((cancel.cancel_flags & IORING_ASYNC_CANCEL_FD) != 0) return target.entry->fd == cancel.fd;
  return same_data;
}

}  // namespace

scripted_operation* scripted_engine::find(std::uint64_t id) {
  const auto found = operations_.find(id);
  return found == operations_.end() ? nullptr : &found->second;
}

std::vector<std::uint64_t> scripted_engine::ids() const {
  std::vector<std::uint64_t> all;
  for (const auto& [id, operation] : operations_) all.push_back(id);
  return all;
}

void scripted_engine::make_progress() {
  end_dying();
  if (random_.chance(script_.chances.lose_submitter)) lose_submitter();
  const std::int64_t now = operations_.empty() ? 0 : now_ns();
  for (const std::uint64_t id : ids()) {
    const scripted_operation* const operation = find(id);
    if (operation == nullptr) continue;
    if (operation->cancelled) {
      finish(id, operation->cancelled_result(), 0);
    } else if (operation->deadline_ns > 0 && operation->deadline_ns <= now) {
      finish(id, -ETIME, 0);
    } else if (operation->again) {
      work(id);
    }
  }
  note_events();
  for (const std::uint64_t id : std::exchange(woken_, {})) {
    if (find(id) != nullptr) on_events(id);
  }
}

// Collects events after each entry, since the kernel is notified at once: an event counts even if
// the next entry uses its data up, and task work reports it although it is over.
void scripted_engine::note_events() {
  constexpr int batch = 64;
  epoll_event events[batch];
  int count = batch;
  while (count == batch) {
    count = ::epoll_wait(epoll_, events, batch, 0);
    for (int index = 0; index < count; ++index) {
      scripted_operation* const operation = find(events[index].data.u64);
      if (operation == nullptr) continue;
      if (operation->events == 0) woken_.push_back(operation->id);
      operation->events |= events[index].events;
      ++operation->wakes;
    }
  }
}

void scripted_engine::on_events(std::uint64_t id) {
  scripted_operation& operation = *find(id);
  const unsigned wakes = std::exchange(operation.wakes, 0);
  int mask = static_cast<int>(std::exchange(operation.events, 0));
  if (operation.dying_enters > 0) return;
  if (!operation.is_poll()) {
    work(id);
    return;
  }
  if (!operation.is_multishot()) return finish(id, mask, 0);
  // Linux reports the event that woke a multishot if there was one wake-up, and polls again if
  // there were several.
  if (wakes > 1) {
    const work_outcome now = do_work(operation, no_transfer_limit, buffers_);
    if (now.what == work_outcome::kind::blocked) return;
    mask = now.result;
  }
  if (!random_.chance(script_.chances.end_multishot)) return one_more(id, mask, 0);
  if (random_.chance(500)) return finish(id, mask, 0);
  one_more(id, mask, 0);
  finish(id, -ECANCELED, 0);
}

// Does the operation's work as far as possible without a wait. Returns true if the operation ended.
bool scripted_engine::work(std::uint64_t id) {
  scripted_operation& operation = *find(id);
  operation.again = false;
  for (unsigned round = 0; round < multishot_rounds_max; ++round) {
    work_outcome outcome = do_work(operation, transfer_limit(operation), buffers_);
    if (script_.silent_of_unread) outcome.flags &= ~unsigned{IORING_CQE_F_SOCK_NONEMPTY};
    if (outcome.what == work_outcome::kind::moved) continue;
    if (outcome.what == work_outcome::kind::blocked) return false;
    if (moves_bytes(operation.entry->opcode) && !script_.transfer_limits.empty()) {
      script_.transfer_limits.pop_front();
    }
    const bool ends = outcome.what == work_outcome::kind::finished ||
                      random_.chance(script_.chances.end_multishot);
    if (ends) {
      finish(id, outcome.result, outcome.flags);
      return true;
    }
    one_more(id, outcome.result, outcome.flags);
  }
  operation.again = true;
  return false;
}

std::size_t scripted_engine::transfer_limit(const scripted_operation& operation) {
  if (!moves_bytes(operation.entry->opcode) || operation.entry->len == 0) return no_transfer_limit;
  if (!script_.transfer_limits.empty()) return script_.transfer_limits.front();
  if (!random_.chance(script_.chances.short_transfer)) return no_transfer_limit;
  return random_.between(1, operation.entry->len);
}

void scripted_engine::start_timer(std::uint64_t id) {
  scripted_operation& operation = *find(id);
  const auto* const when = reinterpret_cast<const __kernel_timespec*>(
      static_cast<std::uintptr_t>(operation.entry->addr));
  const bool absolute = (operation.entry->timeout_flags & IORING_TIMEOUT_ABS) != 0;
  const std::int64_t start_ns = absolute ? 0 : now_ns();
  operation.deadline_ns =
      std::max<std::int64_t>(start_ns + when->tv_sec * 1'000'000'000 + when->tv_nsec, 1);
}

// Ends operations whose cancel answered "already running": they end by themselves, with or without
// success.
void scripted_engine::end_dying() {
  for (const std::uint64_t id : ids()) {
    scripted_operation* const operation = find(id);
    if (operation == nullptr || operation->dying_enters == 0 || --operation->dying_enters > 0)
      continue;
    const bool works = !operation->is_poll() && operation->deadline_ns == 0;
    if (works && work(id)) continue;
    const bool interrupted =
        works && operation->moved == 0 && random_.chance(script_.chances.odd_cancel);
    finish(id, interrupted ? -EINTR : operation->cancelled_result(), 0);
  }
}

// Ends some of the operations as if the thread that submitted them had ended.
void scripted_engine::lose_submitter() {
  for (const std::uint64_t id : ids()) {
    const scripted_operation& operation = *find(id);
    const bool ends_anyway = operation.cancelled || operation.dying_enters > 0;
    if (operation.deadline_ns > 0 || ends_anyway || random_.chance(500)) continue;
    const bool fault = !operation.is_poll() && operation.moved == 0 && random_.chance(500);
    finish(id, fault ? -EFAULT : operation.cancelled_result(), 0);
  }
}

void scripted_engine::cancel(std::uint64_t id) {
  const scripted_operation& request = *find(id);
  const bool all = cancels_all(*request.entry);
  const std::vector<planned_end> targets = plan_cancel(request);
  int found = 0;
  int answer = -ENOENT;
  for (const auto& [target, how] : targets) {
    if (how != -ENOENT) ++found;
    answer = how;
    // "Not found" means that the operation ended before the cancel: by itself, or with its thread.
    if (how == -ENOENT && (find(target)->is_poll() || !work(target))) {
      finish(target, find(target)->cancelled_result(), 0);
    }
  }
  finish(id, all ? found : answer, 0);
  for (const auto& [target, how] : targets) {
    if (how == 0) find(target)->cancelled = true;
    if (how == -EALREADY) find(target)->dying_enters = random_.chance(500) ? 2 : 1;
  }
}

std::vector<scripted_engine::planned_end> scripted_engine::plan_cancel(
    const scripted_operation& request) {
  std::vector<planned_end> targets;
  for (const auto& [id, operation] : operations_) {
    if (!matches(operation, *request.entry)) continue;
    int answer = 0;  // a second cancel gets 0, too, while the first has not been carried out
    if (operation.dying_enters > 0) {
      answer = -EALREADY;
    } else if (!operation.cancelled) {
      answer = draw_cancel_answer();
    }
    targets.emplace_back(id, answer);
    if (!cancels_all(*request.entry)) break;
  }
  return targets;
}

int scripted_engine::draw_cancel_answer() {
  if (!script_.cancel_answers.empty()) {
    const int answer = script_.cancel_answers.front();
    script_.cancel_answers.pop_front();
    return answer;
  }
  if (!random_.chance(script_.chances.odd_cancel)) return 0;
  return random_.chance(500) ? -EALREADY : -ENOENT;
}

unsigned scripted_engine::complete(std::uint64_t user_data, int result, unsigned flags) {
  unsigned count = 0;
  for (const std::uint64_t id : ids()) {
    if (find(id)->entry->user_data != user_data) continue;
    ++count;
    if ((flags & IORING_CQE_F_MORE) != 0) {
      one_more(id, result, flags);
    } else {
      finish(id, result, flags);
    }
  }
  queues_.flag_task_work(count > 0);
  return count;
}

unsigned scripted_engine::end_all(int result, bool only_multishots) {
  unsigned count = 0;
  for (const std::uint64_t id : ids()) {
    if (only_multishots && !find(id)->is_multishot()) continue;
    finish(id, result, 0);
    ++count;
  }
  queues_.flag_task_work(count > 0);
  return count;
}

int scripted_engine::register_buffers(const io_uring_buf_reg& request) {
  const bool power_of_two =
      request.ring_entries != 0 && (request.ring_entries & (request.ring_entries - 1)) == 0;
  if (!power_of_two || request.ring_addr == 0) return -EINVAL;
  provided_buffers::group& group = buffers_.groups[request.bgid];
  if (group.ring != nullptr) return -EEXIST;
  group.ring = reinterpret_cast<io_uring_buf_ring*>(static_cast<std::uintptr_t>(request.ring_addr));
  group.entries = request.ring_entries;
  group.head = 0;
  return 0;
}

int scripted_engine::unregister_buffers(const io_uring_buf_reg& request) {
  return buffers_.groups.erase(request.bgid) == 0 ? -ENOENT : 0;
}

}  // namespace beck::testing
