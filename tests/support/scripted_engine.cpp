// SPDX-License-Identifier: BSL-1.0
//
// An enter from its first entry to its last completion: it decides which entries are taken, in
// which order completions appear, which of them overflow, and when a wait ends.
#include "support/scripted_engine.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace beck::testing {
namespace {

// Duplicates get high numbers, so that they do not change the numbers that a test observes.
constexpr int duplicates_from = 700;

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

template <class T>
T take_front(std::deque<T>& queue) {
  const T value = queue.front();
  queue.pop_front();
  return value;
}

bool ends_a_wait(int error) { return error == -EINTR || error == -ETIME; }

}  // namespace

scripted_engine::scripted_engine(io_uring_params& parameters, ring_script& script,
                                 small_random& random, ring_script_stats& stats)
    : script_(script),
      random_(random),
      stats_(stats),
      queues_(parameters),
      submit_all_((parameters.flags & IORING_SETUP_SUBMIT_ALL) != 0),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

scripted_engine::~scripted_engine() {
  stats_.abandoned += operations_.size();
  for (auto& [id, operation] : operations_) {
    if (operation.owns_fd) ::close(operation.fd);
  }
  if (epoll_ >= 0) ::close(epoll_);
}

int scripted_engine::enter(unsigned to_submit, unsigned min_complete, bool get_events,
                           std::int64_t deadline_ns, std::unique_lock<std::mutex>& lock) {
  ++stats_.enters;
  if (script_.on_enter) script_.on_enter();
  if (!queues_.all_mapped()) return -EFAULT;
  if (const int error = planned_error(to_submit); error != 0) return error;

  const unsigned limit = std::min({to_submit, take_limit(to_submit), queues_.submitted()});
  unsigned taken = 0;
  while (taken < limit) {
    ++taken;
    const bool accepted = start(queues_.next_entry());
    note_events();
    if (!accepted && !submit_all_) break;
  }
  stats_.entries_taken += taken;
  make_progress();
  deliver(false);
  // As in Linux, a submission that did not take all its entries does not wait, and one that took
  // any hides the result of the wait.
  int wait_result = 0;
  if (taken == to_submit && get_events) {
    queues_.flush_overflow();
    wait_result = wait(min_complete, deadline_ns, lock);
  }
  flag_exit();
  return to_submit > 0 ? static_cast<int>(taken) : wait_result;
}

int scripted_engine::planned_error(unsigned to_submit) {
  if (!script_.enter_errors.empty() && !ends_a_wait(script_.enter_errors.front())) {
    return take_front(script_.enter_errors);
  }
  if (to_submit == 0) return 0;
  if (random_.chance(script_.chances.refuse_enter)) {
    constexpr int errors[] = {-EAGAIN, -ENOMEM, -ENOBUFS};
    return errors[random_.below(3)];
  }
  const bool can_reap = queues_.ready() > 0 || queues_.overflown() > 0;
  return can_reap && random_.chance(script_.chances.busy_enter) ? -EBUSY : 0;
}

unsigned scripted_engine::take_limit(unsigned to_submit) {
  if (!script_.take_limits.empty()) return take_front(script_.take_limits);
  if (to_submit > 1 && random_.chance(script_.chances.partial_submit)) {
    return random_.between(1, to_submit - 1);
  }
  return to_submit;
}

// Starts the operation of an entry. Returns false if the kernel refuses the entry itself, which
// ends the batch unless IORING_SETUP_SUBMIT_ALL is set.
bool scripted_engine::start(const io_uring_sqe& entry) {
  const std::uint64_t id = next_id_++;
  scripted_operation& operation = operations_[id];
  operation.id = id;
  operation.entry = std::make_unique<const io_uring_sqe>(entry);
  operation.fd = entry.fd;
  if (!is_valid_entry(entry)) {
    finish(id, -EINVAL, 0);
    return false;
  }
  if (is_forced(id)) return true;
  switch (entry.opcode) {
    case IORING_OP_ASYNC_CANCEL:
    case IORING_OP_POLL_REMOVE:
    case IORING_OP_TIMEOUT_REMOVE:
      cancel(id);
      return true;
    case IORING_OP_TIMEOUT:
      start_timer(id);
      return true;
    case IORING_OP_POLL_ADD:
      start_poll(id);
      return true;
    default:
      if (!work(id)) arm(id);
      return true;
  }
}

bool scripted_engine::is_forced(std::uint64_t id) {
  const unsigned opcode = find(id)->entry->opcode;
  const auto found = std::find_if(script_.forced_results.begin(), script_.forced_results.end(),
                                  [opcode](const auto& each) { return each.opcode == opcode; });
  if (found == script_.forced_results.end()) return false;
  const ring_script::forced_result forced = *found;
  script_.forced_results.erase(found);
  if ((forced.flags & IORING_CQE_F_MORE) != 0) {
    one_more(id, forced.result, forced.flags);
    arm(id);
  } else {
    finish(id, forced.result, forced.flags);
  }
  return true;
}

// Linux reports the events that are ready at once for a one-shot poll, but through task work for a
// multishot poll, after it has processed the entries that follow.
void scripted_engine::start_poll(std::uint64_t id) {
  scripted_operation& operation = *find(id);
  if (!operation.is_multishot()) {
    const work_outcome now = do_work(operation, no_transfer_limit, buffers_);
    if (now.what == work_outcome::kind::finished) return finish(id, now.result, now.flags);
  }
  arm(id);
}

// Adds the operation to the epoll instance. Readiness that exists already is reported as an event
// too.
void scripted_engine::arm(std::uint64_t id) {
  scripted_operation& operation = *find(id);
  const int duplicate = ::fcntl(operation.fd, F_DUPFD_CLOEXEC, duplicates_from);
  if (duplicate >= 0) {
    operation.fd = duplicate;
    operation.owns_fd = true;
  } else if (errno == EBADF) {
    return finish(id, -EBADF, 0);
  }  // without a free number the operation keeps the caller's number, and cannot outlive it
  epoll_event event{};
  event.events = operation.wanted_events();
  event.data.u64 = id;
  operation.in_epoll = ::epoll_ctl(epoll_, EPOLL_CTL_ADD, operation.fd, &event) == 0;
  if (operation.in_epoll) return;
  if (errno != EPERM) return finish(id, -errno, 0);
  work(id);  // epoll refuses descriptors that are always ready (EPERM)
}

void scripted_engine::finish(std::uint64_t id, int result, unsigned flags) {
  const auto found = operations_.find(id);
  const scripted_operation& operation = found->second;
  const bool silent = (operation.entry->flags & IOSQE_CQE_SKIP_SUCCESS) != 0 && result >= 0;
  if (!silent)
    pending_.push_back({id, operation.entry->user_data, result, flags & ~IORING_CQE_F_MORE});
  if (operation.in_epoll) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, operation.fd, nullptr);
  if (operation.owns_fd) ::close(operation.fd);
  operations_.erase(found);
}

void scripted_engine::one_more(std::uint64_t id, int result, unsigned flags) {
  pending_.push_back({id, find(id)->entry->user_data, result, flags | IORING_CQE_F_MORE});
}

// Moves completions to the queue. The completions of one operation keep their order, and are held
// back together.
void scripted_engine::deliver(bool everything) {
  if (script_.hold_completions && !everything) return;
  std::vector<pending_completion> now;
  std::vector<pending_completion> later;
  const auto belongs_to = [](std::uint64_t id) {
    return [id](const pending_completion& each) { return each.operation == id; };
  };
  for (const pending_completion& each : pending_) {
    const bool held = std::any_of(later.begin(), later.end(), belongs_to(each.operation));
    const bool seen = std::any_of(now.begin(), now.end(), belongs_to(each.operation));
    const bool hold =
        held || (!seen && !everything && random_.chance(script_.chances.hold_completion));
    (hold ? later : now).push_back(each);
  }
  pending_ = std::move(later);
  while (!now.empty()) {
    std::size_t index = script_.reverse_completions ? now.size() - 1 : 0;
    if (random_.chance(script_.chances.reorder))
      index = random_.below(static_cast<unsigned>(now.size()));
    const auto next = std::find_if(now.begin(), now.end(), belongs_to(now[index].operation));
    bool keep_back = random_.chance(script_.chances.overflow);
    if (script_.overflow_next > 0) {
      --script_.overflow_next;
      keep_back = true;
    }
    if (keep_back || queues_.ready() == queues_.capacity()) ++stats_.overflown;
    ++stats_.completions;
    if (script_.lose_next > 0) {
      --script_.lose_next;
      queues_.count_lost();
      now.erase(next);
      continue;
    }
    queues_.post(next->user_data, next->result, next->flags, keep_back);
    now.erase(next);
  }
}

int scripted_engine::wait(unsigned min_complete, std::int64_t deadline_ns,
                          std::unique_lock<std::mutex>& lock) {
  const unsigned wanted = std::min(min_complete, queues_.capacity());
  while (queues_.ready() < wanted) {
    if (!script_.enter_errors.empty() && ends_a_wait(script_.enter_errors.front())) {
      return take_front(script_.enter_errors);
    }
    if (random_.chance(script_.chances.interrupt)) return -EINTR;
    if (!hurry()) {
      if (now_ns() >= deadline_ns) return -ETIME;
      // If a test holds completions back, the wait ends, as after a signal.
      if (script_.hold_completions && !pending_.empty()) return -EINTR;
      if (!sleep(deadline_ns, lock)) return -EINTR;
      make_progress();
      deliver(false);
    }
    queues_.flush_overflow();
  }
  return 0;
}

// Delivers all completions that are held back, before a thread sleeps. Returns whether there were
// any.
bool scripted_engine::hurry() {
  if (script_.hold_completions) return false;
  for (auto& [id, operation] : operations_)
    operation.dying_enters = std::min(operation.dying_enters, 1U);
  end_dying();
  const bool came = !pending_.empty();
  deliver(true);
  return came || queues_.overflown() > 0;
}

// Sleeps until an operation may make progress, or until the deadline. Returns false after a signal.
bool scripted_engine::sleep(std::int64_t deadline_ns, std::unique_lock<std::mutex>& lock) {
  if (operations_.empty() && deadline_ns == no_deadline) {
    std::fputs("scripted ring: a wait without a deadline, and no operation is in flight\n", stderr);
    std::abort();
  }
  std::int64_t until_ns = deadline_ns;
  for (const auto& [id, operation] : operations_) {
    if (operation.again) return true;
    if (operation.deadline_ns > 0) until_ns = std::min(until_ns, operation.deadline_ns);
  }
  const std::int64_t left_ns = std::max<std::int64_t>(until_ns - now_ns(), 0);
  const timespec limit{left_ns / 1'000'000'000, left_ns % 1'000'000'000};
  pollfd watched{epoll_, POLLIN, 0};
  ++stats_.sleeps;
  lock.unlock();
  const int result = ::ppoll(&watched, 1, until_ns == no_deadline ? nullptr : &limit, nullptr);
  const bool interrupted = result < 0 && errno == EINTR;
  lock.lock();
  return !interrupted;
}

void scripted_engine::flag_exit() {
  const bool waiting =
      !pending_.empty() || std::any_of(operations_.begin(), operations_.end(),
                                       [](const auto& each) { return each.second.again; });
  const bool spurious = !operations_.empty() && random_.chance(script_.chances.flag_task_work);
  queues_.flag_task_work(waiting || spurious);
}

void scripted_engine::look() {
  pollfd watched{epoll_, POLLIN, 0};
  if (::poll(&watched, 1, 0) > 0) queues_.flag_task_work(true);
}

}  // namespace beck::testing
