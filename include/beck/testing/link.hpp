// SPDX-License-Identifier: BSL-1.0
// The connection of two hosts of a simulated world: the delay of messages, the bandwidth, and
// whether any message passes.
#pragma once

#include <beck/base/duration.hpp>
#include <cstdint>

namespace beck {

namespace detail {
class sim_host;

}  // namespace detail

namespace testing::sim {

/// The path between two hosts, in both directions (world::link) or in one (world::path). A value
/// that names the path: changes through one copy apply to all. Each function returns *this. Only
/// TCP and UDP use it; UNIX sockets do not leave their host.
class link {
 public:
  /// Sets the range of delays, from which each message draws evenly, in place of that in
  /// `settings`. Throws io_error (invalid_argument) unless 0 <= least <= most.
  link& delay(duration least, duration most);
  /// Sets how many bytes a second are sent in each direction; others queue. 0: no limit.
  link& bandwidth(std::uint64_t bytes_per_second) noexcept;

  /// Loses all messages on this path. TCP sends them again after 0.2 s, then each time after twice
  /// as long, at most 120 s: so they arrive some time after heal(). A connect times out after 127
  /// s, and a sender whose peer does not answer after 924.6 s, both with error::timed_out, as on
  /// Linux (tcp(7), tcp_syn_retries and tcp_retries2). A reset is not sent again: its receiver
  /// stays half open until it sends.
  link& cut();
  /// Ends cut().
  link& heal();

  /// Delays all messages on this path until unclog(); none is lost.
  link& clog();
  /// Ends clog().
  link& unclog();

 private:
  friend class world;

  link(detail::sim_host& from, detail::sim_host& to, bool both) noexcept
      : from_(&from), to_(&to), both_(both) {}
  template <class Action>
  void each(Action action);

  detail::sim_host* from_;
  detail::sim_host* to_;
  bool both_;
};

}  // namespace testing::sim

}  // namespace beck
