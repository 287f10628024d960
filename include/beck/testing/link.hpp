// SPDX-License-Identifier: BSL-1.0
// What lies between two hosts of a simulated world: how long messages travel, how many bytes fit
// through, and whether anything passes at all.
#pragma once

#include <beck/base/duration.hpp>
#include <cstdint>

namespace beck {

namespace detail {
class sim_host;

}  // namespace detail

namespace testing::sim {

/// The way between two hosts, in both directions (world::link) or in one (world::path). A value
/// that names it: all copies change the same one. Each function returns *this. Only TCP travels;
/// UNIX sockets do not leave their host.
class link {
 public:
  /// How long a message travels, drawn evenly for each, instead of as `settings` says. Throws
  /// io_error (invalid_argument) unless 0 <= least <= most.
  link& delay(duration least, duration most);
  /// How many bytes a second leave, in each direction; others queue. 0: no limit.
  link& bandwidth(std::uint64_t bytes_per_second) noexcept;

  /// What travels here gets lost. TCP sends it again after 0.2 s, then each time after twice as
  /// long, at most 120 s: so it arrives some time after heal(). A connect times out after 127 s,
  /// and a sender whose peer does not answer after 924.6 s, both with error::timed_out, as on Linux
  /// (tcp(7), tcp_syn_retries and tcp_retries2). A reset is not sent again: its receiver stays half
  /// open until it sends.
  link& cut();
  link& heal();

  /// What travels here waits, for as long as it takes, and nothing is lost.
  link& clog();
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
