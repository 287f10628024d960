// SPDX-License-Identifier: BSL-1.0
//
// The steps from the ring that beck wants down to the least that it can use. Each step is a real
// set-up with a real no-op; features that cannot be given up are checked once a ring is open.
#include "io/uring/probe.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace beck::uring {
namespace {

struct named_flag {
  unsigned bits;
  const char* name;
};

constexpr named_flag flag_names[] = {
    {IORING_SETUP_SINGLE_ISSUER, "SINGLE_ISSUER"},
    {IORING_SETUP_DEFER_TASKRUN, "DEFER_TASKRUN"},
    {IORING_SETUP_COOP_TASKRUN, "COOP_TASKRUN"},
    {IORING_SETUP_TASKRUN_FLAG, "TASKRUN_FLAG"},
    {IORING_SETUP_CQSIZE, "CQSIZE"},
    {IORING_SETUP_SUBMIT_ALL, "SUBMIT_ALL"},
    {IORING_SETUP_CLAMP, "CLAMP"},
    {setup_no_sqarray, "NO_SQARRAY"},
};

struct named_opcode {
  unsigned opcode;
  const char* name;
};

// The driver needs all of these.
constexpr named_opcode needed_opcodes[] = {
    {IORING_OP_NOP, "NOP"},           {IORING_OP_RECV, "RECV"},
    {IORING_OP_SEND, "SEND"},         {IORING_OP_READ, "READ"},
    {IORING_OP_POLL_ADD, "POLL_ADD"}, {IORING_OP_ASYNC_CANCEL, "ASYNC_CANCEL"},
    {IORING_OP_WRITE, "WRITE"},       {IORING_OP_READV, "READV"},
    {IORING_OP_WRITEV, "WRITEV"},     {IORING_OP_FSYNC, "FSYNC"},
    {IORING_OP_OPENAT, "OPENAT"},
};

constexpr named_flag needed_features[] = {
    {IORING_FEAT_NODROP, "NODROP"},
    {IORING_FEAT_EXT_ARG, "EXT_ARG"},
};

std::string flags_text(unsigned flags) {
  std::string text;
  for (const named_flag& each : flag_names) {
    if ((flags & each.bits) == 0) continue;
    if (!text.empty()) text += ' ';
    text += each.name;
  }
  return text;
}

// One step down: the flags to remove and to add. Flags of newer kernels are removed first.
struct rung {
  unsigned remove;
  unsigned add;
};

constexpr rung ladder[] = {
    {0, 0},
    {setup_no_sqarray, 0},
    {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
     IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG},
    {IORING_SETUP_SUBMIT_ALL, 0},
    {IORING_SETUP_CLAMP, 0},
};

constexpr unsigned rounds_max = 64;

constexpr std::uint64_t nop_mark = 1;
constexpr std::uint64_t poll_mark = 2;
constexpr std::uint64_t cancel_mark = 3;

struct wake_descriptor {
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  wake_descriptor() = default;
  wake_descriptor(const wake_descriptor&) = delete;
  wake_descriptor& operator=(const wake_descriptor&) = delete;
  ~wake_descriptor() {
    if (fd >= 0) ::close(fd);
  }
  bool signal() const {
    const std::uint64_t one = 1;
    return ::write(fd, &one, sizeof one) == static_cast<ssize_t>(sizeof one);
  }
};

class prober {
 public:
  prober(ring& target, ring_kernel& kernel) : ring_(target), kernel_(kernel) {}

  probe_result run(const ring_options& wanted);

 private:
  int climb_down(const ring_options& wanted);
  int open_once(const ring_options& options);
  int try_nop();
  int try_poll_and_cancel();
  bool read_opcodes();
  bool lacks_something();
  bool has_absolute_deadlines();
  template <class Done>
  int run_until(Done done);
  void describe_open(const ring_options& wanted);
  bool refuse(const char* call, int error);

  ring& ring_;
  ring_kernel& kernel_;
  probe_result result_;
  const char* failed_call_ = "io_uring_setup";
  std::string given_up_;

  // The results of the completions so far.
  int nop_result_ = 1;
  unsigned poll_edges_ = 0;
  bool poll_ended_ = false;
  bool cancel_answered_ = false;
  bool shifted_ = false;
};

probe_result prober::run(const ring_options& wanted) {
  const int error = climb_down(wanted);
  if (error != 0) {
    refuse(failed_call_, -error);
    if (!given_up_.empty()) result_.text += "; tried without" + given_up_;
  } else if (read_opcodes() && !lacks_something()) {
    const int poll_error = try_poll_and_cancel();
    if (poll_error != 0) {
      refuse(failed_call_, -poll_error);
    } else {
      shifted_ = kernel_.shifts_clock();
      ring_.use_absolute_deadlines(!shifted_ && has_absolute_deadlines());
      ring_.reset_stats();
      result_.opened = true;
      describe_open(wanted);
    }
  }
  if (!result_.opened) ring_.close();
  return std::move(result_);
}

int prober::climb_down(const ring_options& wanted) {
  ring_options options = wanted;
  int error = -EINVAL;
  for (const rung& step : ladder) {
    const unsigned removed = options.flags & step.remove;
    if (step.remove != 0) {
      if (removed == 0) continue;
      options.flags = (options.flags & ~removed) | step.add;
      given_up_ += ' ' + flags_text(removed);
    }
    error = open_once(options);
    // Fewer flags only help against an unknown flag.
    if (error != -EINVAL) break;
  }
  if (error == -ENOMEM && options.entries > 32 && options.completions > 256) {
    options.entries = 32;
    options.completions = 256;
    given_up_ += " large queues";
    error = open_once(options);
  }
  return error;
}

int prober::open_once(const ring_options& options) {
  failed_call_ = "io_uring_setup";
  const int error = ring_.open(kernel_, options);
  if (error != 0) return error;
  failed_call_ = "io_uring_enter with a no-op";
  const int nop_error = try_nop();
  if (nop_error != 0) ring_.close();
  return nop_error;
}

// Submits and reaps until `done`, with a bound in rounds and one in time. Returns 0, -ETIMEDOUT, or
// the error of io_uring_enter.
template <class Done>
int prober::run_until(Done done) {
  const std::int64_t deadline_ns = kernel_.now_ns() + probe_patience_ns;
  for (unsigned round = 0; round < rounds_max && kernel_.now_ns() < deadline_ns; ++round) {
    const submit_result outcome = ring_.submit(1, deadline_ns, true);
    if (outcome.status == submit_status::failed) return -outcome.error;
    ring_.for_each_completion([this](const io_uring_cqe& entry) {
      const bool more = (entry.flags & IORING_CQE_F_MORE) != 0;
      if (entry.user_data == nop_mark) nop_result_ = entry.res;
      if (entry.user_data == cancel_mark) cancel_answered_ = true;
      if (entry.user_data != poll_mark) return;
      if (!more) poll_ended_ = true;
      if (more && entry.res > 0 && (entry.res & int{EPOLLIN}) != 0) ++poll_edges_;
    });
    if (done()) return 0;
  }
  return -ETIMEDOUT;
}

int prober::try_nop() {
  io_uring_sqe* const entry = ring_.get_entry();
  entry->opcode = IORING_OP_NOP;
  entry->user_data = nop_mark;
  nop_result_ = 1;
  const int error = run_until([this] { return nop_result_ <= 0; });
  return error != 0 ? error : nop_result_;
}

int prober::try_poll_and_cancel() {
  failed_call_ = "eventfd";
  const wake_descriptor wake;
  if (wake.fd < 0) return -errno;
  failed_call_ = "multishot POLL_ADD and ASYNC_CANCEL";
  io_uring_sqe* const poll = ring_.get_entry();
  poll->opcode = IORING_OP_POLL_ADD;
  poll->fd = wake.fd;
  poll->len = IORING_POLL_ADD_MULTI;
  poll->poll32_events = unsigned{EPOLLIN} | unsigned{EPOLLET};
  poll->user_data = poll_mark;
  // Two edges without a read between them: a sleeping loop is woken this way.
  for (unsigned edge = 1; edge <= 2; ++edge) {
    if (!wake.signal()) return -EIO;
    const int error = run_until([this, edge] { return poll_edges_ >= edge || poll_ended_; });
    if (error != 0) return error;
    if (poll_ended_) return -EOPNOTSUPP;
  }
  io_uring_sqe* const cancel = ring_.get_entry();
  cancel->opcode = IORING_OP_ASYNC_CANCEL;
  cancel->fd = -1;
  cancel->addr = poll_mark;
  cancel->user_data = cancel_mark;
  return run_until([this] { return cancel_answered_ && poll_ended_; });
}

bool prober::read_opcodes() {
  // A header as long as two slots, then one slot per opcode: the form that IORING_REGISTER_PROBE
  // fills.
  constexpr unsigned header_slots = sizeof(io_uring_probe) / sizeof(io_uring_probe_op);
  constexpr unsigned opcodes_max = 256;
  io_uring_probe_op slots[header_slots + opcodes_max]{};
  const int error = kernel_.control(ring_.fd(), IORING_REGISTER_PROBE, slots, opcodes_max);
  if (error < 0) return refuse("io_uring_register with PROBE", -error);
  for (unsigned index = header_slots; index < header_slots + opcodes_max; ++index) {
    if ((slots[index].flags & IO_URING_OP_SUPPORTED) != 0) result_.opcodes.set(slots[index].op);
  }
  return true;
}

bool prober::lacks_something() {
  for (const named_flag& each : needed_features) {
    if ((ring_.features() & each.bits) != 0) continue;
    result_.text = std::string("io_uring: missing feature ") + each.name;
    return true;
  }
  for (const named_opcode& each : needed_opcodes) {
    if (result_.opcodes.test(each.opcode)) continue;
    result_.text = std::string("io_uring: missing opcode ") + each.name;
    return true;
  }
  return false;
}

bool prober::has_absolute_deadlines() {
  // The deadline of one nanosecond after boot has passed: the kernel returns ETIME if it
  // understands the flag, EINVAL if not.
  const __kernel_timespec when{0, 1};
  io_uring_getevents_arg argument{};
  argument.ts = reinterpret_cast<std::uintptr_t>(&when);
  const unsigned flags = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG | enter_abs_timer;
  return kernel_.enter(ring_.fd(), 0, 1, flags, &argument, sizeof argument) == -ETIME;
}

bool prober::refuse(const char* call, int error) {
  result_.error = error;
  result_.text = describe_refusal(call, error, read_refusal_facts());
  return false;
}

void prober::describe_open(const ring_options& wanted) {
  std::string& text = result_.text;
  text = "io_uring: " + std::to_string(ring_.entries()) + " entries, " +
         std::to_string(ring_.completions()) + " completions, " + flags_text(ring_.setup_flags());
  text += ring_.absolute_deadlines() ? ", absolute deadlines" : ", relative deadlines";
  if (shifted_) text += " (the clock is, or may be, that of a time namespace)";
  if (!given_up_.empty()) text += "; given up:" + given_up_;
  if (ring_.entries() < wanted.entries)
    text += "; asked for " + std::to_string(wanted.entries) + " entries";
}

}  // namespace

probe_result open_probed(ring& target, ring_kernel& kernel, const ring_options& wanted) {
  return prober(target, kernel).run(wanted);
}

}  // namespace beck::uring
