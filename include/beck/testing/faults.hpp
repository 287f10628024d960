// SPDX-License-Identifier: BSL-1.0
// The faults of a simulated world, and how often they strike.
#pragma once

#include <cstddef>

namespace beck::testing::sim {

/// The kinds of faults. Each is something that Linux and a real network do to programs. Of TCP
/// unless another protocol is named.
enum class fault : unsigned char {
  // On the way:
  loss,        ///< a packet gets lost: TCP's comes 0.2 s later or more, a SYN 1 s, UDP's never
  reordering,  ///< a packet takes up to ten times as long, and those of other connections overtake
  stall,       ///< the news that a receiver has room again takes up to half a minute
  reset,       ///< both ends get a reset, at any byte of what is sent
  end,         ///< the stream ends at any byte of what is sent; its sender gets a reset
  silence,     ///< nothing passes any more, without notice: both ends are half open

  // In the kernel, UNIX sockets too:
  tiny_buffers,       ///< a socket begins with buffers of 1 to 16 bytes
  short_read,         ///< a read returns less than is there
  short_write,        ///< a write takes less than there is room for
  connect_refused,    ///< though there is a listener
  connect_timed_out,  ///< no SYN is answered (not UNIX)
  backlog_full,       ///< for a moment: a SYN is ignored and repeated; a UNIX connect refused
  accept_aborted,     ///< the connection is gone before it is accepted: ECONNABORTED
  accept_exhausted,   ///< no descriptor for it: EMFILE or ENFILE
  close_interrupted,  ///< close() ends with EINTR, and has closed
  spurious_event,     ///< a descriptor is called ready to read and write, whether it is or not
  clock_jump,     ///< time leaps by up to 8 hours while nothing is ready, as when a machine slept
  date_set,       ///< the date is set, forward or back by up to an hour, when a program looks at it
  lookup_failed,  ///< no name server answers: host_not_found_try_again
  call_slow,      ///< a call that blocks, such as a name lookup, takes up to half a minute
  duplication,    ///< a datagram arrives twice (UDP)

  // On a disk (files also meet short_read and short_write):
  device_error,  ///< a read or write fails with EIO, and has moved nothing
  disk_full,     ///< for a moment there is no room: a write fails with ENOSPC
  sync_failed,   ///< a sync fails with EIO; what it was to store is lost with the next power cut

  // In the kernel again:
  /// A read stops at some byte of the sent ones, with more behind it and no event for that: at an
  /// urgent mark (SO_OOBINLINE; a splice does not go past it), behind a UNIX message that carries
  /// descriptors, at the end of a packet in a pipe.
  boundary,
};

/// The number of kinds.
inline constexpr std::size_t fault_kinds = static_cast<std::size_t>(fault::boundary) + 1;

/// Returns the name of `which`: "loss", "reordering", ...
const char* to_string(fault which) noexcept;

/// The probability of each fault on each of its occasions: a packet, a send, a connect, ... A
/// value; each setter returns *this.
/// In each seed about a third of the faults is off, drawn from the seed: some mistakes show only
/// where another fault does not come first.
class faults {
 public:
  /// Makes some of every fault but silence, with which a program without time-outs waits for ever.
  faults() noexcept;
  /// Returns an object without faults, to set some.
  static faults none() noexcept;

  /// Sets the probability of a fault. Requires 0 <= probability <= 1; beyond, the nearest bound
  /// counts.
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
