// SPDX-License-Identifier: BSL-1.0
// The faults of a simulated world, and their probabilities.
#pragma once

#include <cstddef>

namespace beck::testing::sim {

/// The kinds of faults. Linux and real networks do each of them to programs. They are faults of TCP
/// unless another protocol is named.
enum class fault : unsigned char {
  // On the way:
  loss,        ///< a packet gets lost: TCP's comes 0.2 s later or more, a SYN 1 s, UDP's never
  reordering,  ///< a packet takes up to ten times as long: others overtake it
  stall,       ///< the receiver's news of room takes up to half a minute
  reset,       ///< both ends get a reset, after any byte of the stream
  end,         ///< the stream ends after any byte; its sender gets a reset
  silence,     ///< nothing passes any more, without notice: both ends are half open

  // In the kernel, UNIX sockets too:
  tiny_buffers,       ///< a socket begins with buffers of 1 to 16 bytes
  short_read,         ///< a read returns fewer bytes than there are
  short_write,        ///< a write takes fewer bytes than fit
  connect_refused,    ///< though there is a listener
  connect_timed_out,  ///< no SYN is answered (not UNIX)
  backlog_full,       ///< for a moment: a SYN is ignored and repeated; a UNIX connect refused
  accept_aborted,     ///< the connection is gone before it is accepted: ECONNABORTED
  accept_exhausted,   ///< no descriptor for it: EMFILE or ENFILE
  close_interrupted,  ///< close() ends with EINTR, and has closed
  spurious_event,     ///< a descriptor is reported as ready to read and write, true or not
  clock_jump,     ///< time leaps by up to 8 hours while nothing is ready, as when a machine slept
  date_set,       ///< the date is set, forward or back by up to an hour, when a program looks at it
  lookup_failed,  ///< no name server answers: host_not_found_try_again
  call_slow,      ///< a call that blocks, such as a name lookup, takes up to half a minute
  duplication,    ///< a datagram arrives twice (UDP)

  // On a disk (short_read and short_write also strike files):
  device_error,  ///< a read or write fails with EIO, and has moved nothing
  disk_full,     ///< for a moment there is no room: a write fails with ENOSPC
  sync_failed,   ///< a sync fails with EIO; its data is lost with the next power cut

  // In the kernel again:
  /// A read stops before the end of the sent bytes, with no event for the rest: at an urgent mark
  /// (SO_OOBINLINE; a splice does not pass it), after a UNIX message with descriptors, at the end
  /// of a packet in a pipe.
  boundary,
};

/// The number of kinds.
inline constexpr std::size_t fault_kinds = static_cast<std::size_t>(fault::boundary) + 1;

/// Returns the name of `which`: "loss", "reordering", ...
const char* to_string(fault which) noexcept;

/// The probability of each fault on each of its occasions: a packet, a send, a connect, ... A
/// value; each setter returns *this.
/// In each seed about a third of the faults is off, chosen by the seed: some mistakes show only if
/// another fault does not come first.
class faults {
 public:
  /// Makes a default with some of every fault except silence, which makes a program without time
  /// limits wait for ever.
  faults() noexcept;
  /// Returns an object without faults, to set some.
  static faults none() noexcept;

  /// Sets the probability of a fault. Requires 0 <= probability <= 1; outside, the nearest bound is
  /// used.
  faults& set(fault which, double probability) noexcept {
    probability_[static_cast<std::size_t>(which)] = probability;
    return *this;
  }
  /// Returns the probability of a fault.
  double probability(fault which) const noexcept {
    return probability_[static_cast<std::size_t>(which)];
  }
  /// Turns all faults on in every seed.
  faults& in_every_seed() noexcept {
    varied_ = false;
    return *this;
  }
  /// Returns whether seeds turn some faults off.
  bool varied() const noexcept { return varied_; }

 private:
  double probability_[fault_kinds] = {};
  bool varied_ = true;
};

}  // namespace beck::testing::sim
