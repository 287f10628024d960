// SPDX-License-Identifier: BSL-1.0
//
// One ring of a scripted kernel: the way from a submitted entry to its completions. Operations make
// progress only while a thread is inside `enter`. They do their work on the real descriptors, and
// the script decides in which order, how completely and how soon their completions appear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "support/ring_script.hpp"
#include "support/scripted_operation.hpp"
#include "support/scripted_queues.hpp"
#include "support/small_random.hpp"

namespace beck::testing {

class scripted_engine {
 public:
  static constexpr std::int64_t no_deadline = INT64_MAX;

  /// `parameters` holds the decided sizes, flags and features; the offsets are filled in.
  scripted_engine(io_uring_params& parameters, ring_script& script, small_random& random,
                  ring_script_stats& stats);
  scripted_engine(const scripted_engine&) = delete;
  scripted_engine& operator=(const scripted_engine&) = delete;
  ~scripted_engine();

  /// Does the work of io_uring_enter, whose arguments have been checked. Releases `lock` while it
  /// sleeps.
  int enter(unsigned to_submit, unsigned min_complete, bool get_events, std::int64_t deadline_ns,
            std::unique_lock<std::mutex>& lock);

  int register_buffers(const io_uring_buf_reg& request);
  int unregister_buffers(const io_uring_buf_reg& request);

  /// Flags TASKRUN if an operation in flight could make progress now, as Linux does when a
  /// descriptor becomes ready.
  void look();
  /// Posts a completion for every operation in flight with this user data: its last one, or, if
  /// `flags` contains IORING_CQE_F_MORE, one after which it continues. Returns their number.
  unsigned complete(std::uint64_t user_data, int result, unsigned flags);
  unsigned end_all(int result, bool only_multishots);

  std::size_t in_flight() const { return operations_.size(); }
  scripted_queues& queues() { return queues_; }

 private:
  struct pending_completion {
    std::uint64_t operation;
    std::uint64_t user_data;
    int result;
    unsigned flags;
  };
  using planned_end = std::pair<std::uint64_t, int>;  // the target of a cancel, and the answer

  // Submission and completion (scripted_engine.cpp).
  int planned_error(unsigned to_submit);
  unsigned take_limit(unsigned to_submit);
  bool start(const io_uring_sqe& entry);
  bool is_forced(std::uint64_t id);
  void start_poll(std::uint64_t id);
  void arm(std::uint64_t id);
  void finish(std::uint64_t id, int result, unsigned flags);
  void one_more(std::uint64_t id, int result, unsigned flags);
  void deliver(bool everything);
  int wait(unsigned min_complete, std::int64_t deadline_ns, std::unique_lock<std::mutex>& lock);
  bool hurry();
  bool sleep(std::int64_t deadline_ns, std::unique_lock<std::mutex>& lock);
  void flag_exit();

  // Progress of the operations in flight (scripted_progress.cpp). The functions take ids, because
  // each of them may end an operation.
  scripted_operation* find(std::uint64_t id);
  std::vector<std::uint64_t> ids() const;
  void make_progress();
  void note_events();
  void on_events(std::uint64_t id);
  bool work(std::uint64_t id);
  std::size_t transfer_limit(const scripted_operation& operation);
  void start_timer(std::uint64_t id);
  void end_dying();
  void lose_submitter();
  void cancel(std::uint64_t id);
  std::vector<planned_end> plan_cancel(const scripted_operation& request);
  int draw_cancel_answer();

  ring_script& script_;
  small_random& random_;
  ring_script_stats& stats_;
  scripted_queues queues_;
  const bool submit_all_;
  const int epoll_;
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, scripted_operation> operations_;
  std::vector<pending_completion> pending_;
  std::vector<std::uint64_t> woken_;
  provided_buffers buffers_;
};

}  // namespace beck::testing
