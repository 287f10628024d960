// SPDX-License-Identifier: BSL-1.0
// What can go wrong in a simulated world, and how often it does.
#pragma once

#include <cstddef>

namespace beck::testing::sim {

/// Whatever happens, it is something that Linux and a real network do to programs. TCP unless it
/// says otherwise.
enum class fault : unsigned char {
  // On the way:
  loss,        ///< a packet gets lost: TCP's comes 0.2 s later or more, a SYN 1 s, UDP's never
  reordering,  ///< a packet takes up to ten times as long, and those of other connections overtake
  stall,       ///< the news that a receiver has room again takes up to half a minute
  reset,       ///< both ends get a reset, at any byte of what is sent
  end,         ///< the stream ends at any byte of what is sent; its sender gets a reset
  silence,     ///< nothing passes any more and nobody is told: both ends are half open

  // In the kernel, UNIX sockets too:
  tiny_buffers,       ///< a socket begins with buffers of 1 to 16 bytes
  short_read,         ///< a read gives less than is there
  short_write,        ///< a write takes less than there is room for
  connect_refused,    ///< though somebody listens
  connect_timed_out,  ///< no SYN is answered (not UNIX)
  backlog_full,       ///< for a moment: a SYN is ignored and repeated; a UNIX connect refused
  accept_aborted,     ///< the connection is gone before it is accepted: ECONNABORTED
  accept_exhausted,   ///< no descriptor for it: EMFILE or ENFILE
  close_interrupted,  ///< close() gives EINTR, and has closed
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
  /// A read stops at some byte of what is sent, with more behind it and no event for that: at an
  /// urgent mark (SO_OOBINLINE; a splice does not go past it), behind a UNIX message that carries
  /// descriptors, at the end of a packet in a pipe.
  boundary,
};

/// How many kinds there are.
inline constexpr std::size_t fault_kinds = static_cast<std::size_t>(fault::boundary) + 1;

/// "loss", "reordering", ...
const char* to_string(fault which) noexcept;

/// How probable each fault is, on each occasion that it has: a packet, a send, a connect, ... A
/// value; each function returns *this.
/// In any seed about a third of the faults is off, drawn from the seed: some mistakes show only
/// where another fault does not come first.
class faults {
 public:
  /// Some of everything but silence, with which a program without time-outs waits for ever.
  faults() noexcept;
  /// No faults, to begin with.
  static faults none() noexcept;

  /// Requires 0 <= probability <= 1; beyond, the nearest bound counts.
  faults& set(fault which, double probability) noexcept {
    probability_[static_cast<std::size_t>(which)] = probability;
    return *this;
  }
  double probability(fault which) const noexcept {
    return probability_[static_cast<std::size_t>(which)];
  }
  /// All of them are on in every seed.
  faults& in_every_seed() noexcept {
    varied_ = false;
    return *this;
  }
  bool varied() const noexcept { return varied_; }

 private:
  double probability_[fault_kinds] = {};
  bool varied_ = true;
};

}  // namespace beck::testing::sim
