// SPDX-License-Identifier: BSL-1.0
//
// The script of a scripted kernel: chances that its generator draws, and single steps that a test
// asks for. Linux may do all of these things to a ring; the model never breaks the contract.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

namespace beck::testing {

/// The probabilities of difficult behaviour, in thousandths of the occasions. All are 0 for a calm
/// kernel.
struct ring_chances {
  unsigned refuse_enter = 0;    ///< an enter with entries fails with EAGAIN, ENOMEM or ENOBUFS (U2)
  unsigned busy_enter = 0;      ///< it fails with EBUSY, if there are completions to reap (U3)
  unsigned interrupt = 0;       ///< a wait ends with EINTR (U4)
  unsigned overflow = 0;        ///< a completion overflows although there is room (U5)
  unsigned partial_submit = 0;  ///< an enter takes some of the entries (U6)
  unsigned odd_cancel =
      0;  ///< a cancel answers EALREADY or ENOENT, and its target ends to match (U7)
  unsigned end_multishot = 0;  ///< a multishot ends after a completion, or with an error (U8)
  unsigned short_transfer =
      0;  ///< fewer bytes than possible are moved, even with MSG_WAITALL (U10)
  unsigned lose_submitter =
      0;  ///< operations in flight end with ECANCELED or EFAULT unasked (U17, U18)
  unsigned hold_completion = 0;  ///< a completion comes with a later enter
  unsigned reorder = 0;          ///< the completions of an enter come in another order
  unsigned flag_task_work = 0;   ///< TASKRUN is flagged while operations are in flight
};

/// The probabilities for tests of a whole driver: each trouble happens, and most calls succeed.
inline constexpr ring_chances rough_chances{
    .refuse_enter = 30,
    .busy_enter = 30,
    .interrupt = 50,
    .overflow = 20,
    .partial_submit = 100,
    .odd_cancel = 200,
    .end_multishot = 100,
    .short_transfer = 200,
    .lose_submitter = 10,
    .hold_completion = 100,
    .reorder = 300,
    .flag_task_work = 300,
};

/// The steps that are still to come; each queue is consumed from the front.
struct ring_script {
  struct forced_result {
    unsigned opcode;
    int result;
    unsigned flags;
  };

  ring_chances chances;
  std::deque<int> enter_errors;
  std::deque<unsigned> take_limits;
  std::deque<forced_result> forced_results;
  std::deque<int> cancel_answers;
  std::deque<unsigned> transfer_limits;
  unsigned overflow_next = 0;
  unsigned lose_next = 0;
  bool hold_completions = false;
  bool silent_of_unread = false;  ///< no SOCK_NONEMPTY, as of UNIX sockets before Linux 6.17
  bool reverse_completions = false;
  std::function<void()> on_enter;
};

/// Counts of the kernel's actions; they only grow.
struct ring_script_stats {
  std::uint64_t enters = 0;
  std::uint64_t entries_taken = 0;
  std::uint64_t completions = 0;
  std::uint64_t overflown = 0;
  std::uint64_t sleeps = 0;  ///< waits that really waited
  std::uint64_t abandoned =
      0;  ///< operations in flight when their ring was closed: never legal for a driver
};

}  // namespace beck::testing
