// SPDX-License-Identifier: BSL-1.0
//
// A kernel that follows a script, in the place of Linux below the ring layer. It keeps the contract
// of io_uring and uses all the freedom that the contract leaves: enters take only some of the
// entries, or fail; completions come late, out of order, or only after an overflow was fetched;
// multishots end; cancels lose their race. Operations do their work on real descriptors, at the
// time of an enter, so that the real driver runs on it unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "io/uring/ring_kernel.hpp"
#include "support/ring_script.hpp"
#include "support/scripted_engine.hpp"
#include "support/small_random.hpp"

namespace beck::testing {

/// Any number of scripted rings. Not modelled are links, drains, registered files and buffers,
/// SQPOLL, IOPOLL, and progress while no thread is inside `enter` (see `look` and
/// `flag_task_work`). Thread: rings as the real ones; the script is changed while no thread is
/// inside `enter`, or from `on_enter`.
class scripted_kernel final : public uring::ring_kernel {
 public:
  static constexpr unsigned for_ever = std::numeric_limits<unsigned>::max();

  explicit scripted_kernel(std::uint64_t seed = 1) : random_(seed) {}
  ~scripted_kernel() = default;

  // The seam.
  int setup(unsigned entries, io_uring_params& parameters) override;
  int enter(int fd, unsigned to_submit, unsigned min_complete, unsigned flags, const void* argument,
            std::size_t argument_bytes) override;
  int control(int fd, unsigned opcode, void* argument, unsigned count) override;
  void* map(int fd, std::size_t bytes, std::uint64_t offset) override;
  void unmap(void* address, std::size_t bytes) override;
  void close(int fd) override;
  std::int64_t now_ns() override;
  bool shifts_clock() override { return shift_ns_ != 0; }

  // The kind of kernel: the flags, features and operations that it knows, and its limits.
  void know_setup_flags(unsigned flags) { known_flags_ = flags; }
  void know_features(unsigned features) { features_ = features; }
  void know_absolute_deadlines(bool on) { absolute_deadlines_ = on; }
  /// Shifts the clock of the deadlines that an enter receives against now_ns(), as a time namespace
  /// does.
  void shift_clock(std::int64_t ns) { shift_ns_ = ns; }
  void forget_opcode(unsigned opcode) { forgotten_.insert(opcode); }
  void limit_entries(unsigned entries) { entries_max_ = entries; }  ///< larger rings: ENOMEM
  void refuse_setup(int error, unsigned times = for_ever) { setup_refusals_ = {error, times}; }
  void refuse_control(int error) { control_error_ = error; }
  void refuse_map_after(unsigned maps) { maps_left_ = maps; }

  // The behaviour from now on.
  void set_chances(const ring_chances& chances) { script_.chances = chances; }
  /// Lets the next enters fail with `error`; EINTR and ETIME end the next waits instead.
  void fail_enter(int error, unsigned times = 1) {
    script_.enter_errors.insert(script_.enter_errors.end(), times, error);
  }
  void take_at_most(unsigned entries) { script_.take_limits.push_back(entries); }
  /// Lets the next entry with `opcode` complete with this result, without work; with
  /// IORING_CQE_F_MORE it then continues.
  void complete_next(unsigned opcode, int result, unsigned flags = 0) {
    script_.forced_results.push_back({opcode, result, flags});
  }
  /// Lets the next cancel that finds its target answer 0, -EALREADY or -ENOENT; the target ends
  /// accordingly.
  void answer_cancel(int result) { script_.cancel_answers.push_back(result); }
  void keep_silent_of_unread() { script_.silent_of_unread = true; }
  void shorten_transfer(unsigned bytes) { script_.transfer_limits.push_back(bytes); }
  void overflow_next(unsigned completions) { script_.overflow_next += completions; }
  /// Loses the next completions, as a kernel without memory to keep them: they are only counted in
  /// the queue.
  void lose_next(unsigned completions) { script_.lose_next += completions; }
  void hold_completions(bool on) { script_.hold_completions = on; }
  void reverse_completions(bool on) { script_.reverse_completions = on; }
  void on_enter(std::function<void()> function) { script_.on_enter = std::move(function); }

  // Immediate actions. Each returns the number of operations; the completions come with the next
  // enter.
  unsigned complete(std::uint64_t user_data, int result, unsigned flags = 0);
  unsigned end_multishots(int result);
  unsigned end_operations(int result);  ///< as when the submitting thread ended (U18)
  void look();                          ///< flags TASKRUN where an operation could make progress

  std::size_t in_flight() const;
  std::size_t rings() const { return rings_.size(); }
  const ring_script_stats& stats() const { return stats_; }

 private:
  struct ring_slot {
    std::unique_ptr<scripted_engine> engine;
    bool single_issuer = false;
    std::thread::id issuer;
  };
  struct refusals {
    int error = 0;
    unsigned times = 0;
  };

  int check_setup(unsigned entries, const io_uring_params& parameters) const;
  int wait_deadline(unsigned flags, const void* argument, std::size_t bytes,
                    std::int64_t& deadline_ns);
  int answer_probe(io_uring_probe& probe, unsigned slots) const;
  ring_slot* find(int fd);

  std::mutex mutex_;
  small_random random_;
  ring_script script_;
  ring_script_stats stats_;
  std::map<int, ring_slot> rings_;
  int next_fd_ = 1 << 20;  // no descriptor of the process: using one for the other fails
  unsigned known_flags_ = all_known_flags;
  unsigned features_ = all_features;
  bool absolute_deadlines_ = true;
  std::int64_t shift_ns_ = 0;
  unsigned entries_max_ = 32768;
  unsigned maps_left_ = for_ever;
  int control_error_ = 0;
  refusals setup_refusals_;
  std::set<unsigned> forgotten_;

  static constexpr unsigned all_known_flags =
      IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP | IORING_SETUP_SUBMIT_ALL |
      IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SINGLE_ISSUER |
      IORING_SETUP_DEFER_TASKRUN | uring::setup_no_sqarray;
  static constexpr unsigned all_features = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP |
                                           IORING_FEAT_SUBMIT_STABLE | IORING_FEAT_FAST_POLL |
                                           IORING_FEAT_EXT_ARG | IORING_FEAT_CQE_SKIP;
};

}  // namespace beck::testing
