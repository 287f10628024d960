// SPDX-License-Identifier: BSL-1.0
// The io_uring driver. Readiness comes from one multishot poll for each descriptor, as from epoll,
// with one exception that makes it faster than epoll: small receives are armed lazily
// (arming_record). Ring entries are written only inside poll(), and by detach(),
// cancel_everything() and make_listed_sends() before they enter the kernel, so no prepared entry
// can meet a descriptor number that was reused.
#pragma once

#include <cstdint>
#include <string>

#include "io/driver/driver.hpp"
#include "io/op/descriptor.hpp"
#include "io/op/readiness.hpp"
#include "io/uring/ring.hpp"

namespace beck::uring {
using namespace detail;

// --- tokens: the number by which a completion is recognised: an operation's address, or a
// descriptor's index and generation, told apart by the low bits

enum class token_kind : std::uint64_t {
  operation = 0,  ///< the address of the io_op, aligned to 8
  poll = 1,       ///< index << 32 | generation << 3
  wake = 2,       ///< the poll of the wake descriptor
  internal = 3,   ///< a cancel: its target's result says all that its own does
  marker = 4,     ///< completions before it were complete in the enter that submitted it
};

inline constexpr std::uint64_t kind_mask = 7;
inline constexpr std::uint64_t wake_token = static_cast<std::uint64_t>(token_kind::wake);
inline constexpr std::uint64_t internal_token = static_cast<std::uint64_t>(token_kind::internal);
inline constexpr std::uint64_t marker_token = static_cast<std::uint64_t>(token_kind::marker);

inline token_kind kind_of(std::uint64_t token) noexcept {
  return static_cast<token_kind>(token & kind_mask);
}

inline std::uint64_t token_of(const io_op& op) noexcept {
  return reinterpret_cast<std::uint64_t>(&op);
}
inline io_op& operation_of(std::uint64_t token) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel carries pointers as numbers
  return *reinterpret_cast<io_op*>(token);
}

inline std::uint64_t token_of(const descriptor& d) noexcept {
  return std::uint64_t{d.index} << 32 | static_cast<std::uint32_t>(d.generation << 3) |
         static_cast<std::uint64_t>(token_kind::poll);
}
inline std::uint32_t index_of(std::uint64_t token) noexcept {
  return static_cast<std::uint32_t>(token >> 32);
}

}  // namespace beck::uring

namespace beck::detail {

class file_operation;
class driver_host;
struct loop_core;

/// The options of a driver; tests put a scripted kernel below it.
struct uring_driver_options {
  uring::ring_options ring;
  /// A receive with at most this much room is armed on the ring; a larger one waits for readiness.
  std::size_t small_receive_bytes_max = 4096;
  /// Off: small receives are armed in the poll after their start, not one poll later. For measuring
  /// the gain of laziness.
  bool lazy = true;
  /// Whether small sends are batched while polls find much.
  bool batched_sends = true;
};

class uring_driver final : public driver {
 public:
  /// `kernel` outlives the driver. Throws io_error (with the probe's reason in its message) if no
  /// usable ring can be made.
  uring_driver(driver_host& host, loop_core& core, uring::ring_kernel& kernel,
               const uring_driver_options& options);
  ~uring_driver() override;

  void attach(descriptor& d) noexcept override;
  bool detach(descriptor& d) noexcept override;
  void submit(io_op& op) noexcept override;
  void cancel(io_op& op) noexcept override;
  bool makes_file_calls() const noexcept override { return true; }
  /// A multishot poll repeats the events that woke it, and any arrival wakes with POLLPRI among
  /// others.
  bool reports_urgent_data() const noexcept override { return false; }
  bool unlist(io_op& op) noexcept override {
    return due_.remove(op) || fresh_.remove(op) || now_.remove(op);
  }
  void make_listed_sends() noexcept override;
  int register_buffers(const io_vector* parts, unsigned count) noexcept override;
  void unregister_buffers() noexcept override;
  bool poll(poll_mode mode, std::int64_t deadline) noexcept override;
  void cancel_everything() noexcept override;
  void after_fork_in_child() noexcept override;
  void close_handles() noexcept override;
  int wake_handle() const noexcept override { return wake_fd_; }
  unsigned in_flight() const noexcept override { return in_flight_ + watched_; }
  backend kind() const noexcept override { return backend::io_uring; }
  const char* report() const noexcept override { return report_.c_str(); }
  void add_stats(context_stats& stats) const noexcept override;

 private:
  // Writing entries (uring_entries.cpp).
  void list_send(io_op& op) noexcept;
  void submit_sends() noexcept;
  /// Returns a free entry, after submitting a full queue; null if the kernel took nothing.
  io_uring_sqe* entry() noexcept;
  void write_prepared() noexcept;
  bool write_operation(io_op& op) noexcept;
  void fill(io_uring_sqe& sqe, io_op& op) noexcept;
  bool is_registered(const file_operation& op) const noexcept;
  void use_registered(io_uring_sqe& sqe, const file_operation& op) noexcept;
  bool arms(const io_op& op) const noexcept;
  next_step next_step_of(const io_op& op) const noexcept;
  bool write_marker() noexcept;
  bool write_poll(descriptor& d) noexcept;
  bool write_cancel(std::uint64_t token) noexcept;
  void take_unfinished_poll(io_op& op, int events) noexcept;
  void write_or_keep(lazy_list& list) noexcept;
  /// Lists a descriptor for a poll, if it has none.
  void watch(descriptor& d) noexcept;
  /// Ends the poll of a descriptor: lists its cancel, or drops it if it is not written yet.
  void unwatch(descriptor& d) noexcept;
  static void unlink(descriptor*& list, descriptor& d) noexcept;

  // One poll of the kernel (uring_poll.cpp).
  void poll_once(poll_mode mode, std::int64_t deadline) noexcept;
  void begin_batch() noexcept;
  void end_batch() noexcept;
  bool enter(unsigned wait_for, std::int64_t deadline) noexcept;
  bool has_unwritten() const noexcept;
  /// Waits in the kernel for the first completion, a wake-up or `deadline`.
  void sleep(std::int64_t deadline) noexcept;
  void back_off() noexcept;
  /// Takes all completions that are there. Returns their number.
  unsigned collect() noexcept;
  void take(const io_uring_cqe& completion) noexcept;
  void take_poll(const io_uring_cqe& completion) noexcept;
  void take_operation(io_op& op, const io_uring_cqe& completion) noexcept;
  void take_file(file_operation& op, int result) noexcept;
  /// Finishes an operation that the kernel has returned, and closes its descriptor if that waits
  /// for it.
  void finish_operation(io_op& op, descriptor& d, int result) noexcept;
  void finish_rarely(io_op& op, descriptor& d, int result) noexcept;
  void submit_again(io_op& op, descriptor& d, int result) noexcept;
  void received(io_op& op, descriptor& d, const io_uring_cqe& completion) noexcept;
  void learn_arming(direction& q) noexcept;
  void sent(io_op& op, descriptor& d, int result) noexcept;

  /// The number of polls that find much, after handlers that have taken long, until sends wait
  /// again. Doubles each time that they take long again.
  static constexpr unsigned batches_refused_min = 64;
  static constexpr unsigned batches_refused_max = 4096;

  driver_host& host_;
  loop_core& core_;
  uring_driver_options options_;
  uring::ring ring_;
  std::string report_;
  int wake_fd_ = -1;
  bool wake_watched_ = false;
  unsigned in_flight_ = 0;
  unsigned watched_ = 0;  // polls in the kernel, which keep their descriptors open
  std::uint64_t lazily_armed_ = 0;
  std::uint64_t arming_stops_ = 0;
  std::uint64_t sends_batched_ = 0;
  std::uint8_t enter_number_ = 0;   // counts the enters; armed receives store theirs
  unsigned skipped_enters_ = 0;     // polls since the last enter that had no need of one
  bool armed_in_next_ = false;      // the next enter submits armed receives
  bool completes_at_once_ = false;  // completions now read were complete in enter_number_
  std::int64_t back_off_ns_ = 0;

  unsigned listed_sends_ = 0;     // sends that wait for the next poll
  unsigned found_ = 0;            // completions of the last poll, but for those of sends
  unsigned batches_refused_ = 0;  // polls that find much, until sends are batched again
  unsigned next_refusal_ = batches_refused_min;  // after the next batch that takes long
  std::int64_t batch_began_ = 0;  // the end of the last poll, while sends are batched

  const io_vector* registered_ = nullptr;  // memory registered with the kernel
  unsigned registered_count_ = 0;
  unsigned registered_in_flight_ = 0;

  lazy_list now_;                    // to be written in the next poll
  lazy_list due_;                    // small receives that were listed before the last poll
  lazy_list fresh_;                  // small receives listed since the last poll
  entry_queue cancels_;              // operations in the kernel whose cancel is not written yet
  descriptor* polls_ = nullptr;      // descriptors to be watched
  descriptor* unwatched_ = nullptr;  // descriptors whose poll's cancel is not written yet
};

}  // namespace beck::detail
