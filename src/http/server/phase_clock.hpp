// SPDX-License-Identifier: BSL-1.0
// The time limits of all connections of a worker: each phase of a connection has a list of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <beck/http/limits.hpp>
#include <beck/io/steady_timer.hpp>
#include <beck/io/timeout_lists.hpp>

namespace beck::http::detail {

using beck::detail::loop_time;

/// What a connection is waiting for.
enum class phase : std::uint8_t {
  none,       ///< for nothing that has a limit
  handshake,  ///< for the end of a layer's handshake
  fresh,      ///< for the first byte of the first request
  kept,       ///< for the first byte of a further request, in the first second
  idle,       ///< the same, behind that second
  draining,   ///< for the first byte of a request, while the server is being stopped
  head,       ///< for the rest of a head
  body,       ///< for more of a body
  response,   ///< for room in the socket
  linger,     ///< for the peer's end
};

class connection;

/// A limit of a connection: it has one for receiving and one for sending.
struct timed_entry : timeout_entry {
  explicit timed_entry(connection& of) noexcept : owner(of) {}

  connection& owner;
  phase in = phase::none;
};

/// The lists. Thread: that of the context.
class phase_clock {
 public:
  /// Called for an entry that is due; it is in no list then.
  using due_function = void (*)(timed_entry& entry, phase was);
  /// How long phase::kept lasts, unless limits::idle_timeout is less: then nothing follows it.
  static constexpr duration kept_max = duration(1'000'000'000);

  /// Makes a clock without entries. Throws std::bad_alloc.
  phase_clock(const any_io_executor& executor, const limits& bounds, due_function on_due);
  phase_clock(const phase_clock&) = delete;
  phase_clock& operator=(const phase_clock&) = delete;

  /// Puts `entry` into the list of `next`; takes it out of every list for phase::none.
  void enter(timed_entry& entry, phase next) noexcept;
  /// Returns the entry of a phase that waits longest; nullptr if there is none.
  timed_entry* longest_in(phase p) noexcept;
  /// Stops the timer for good.
  void stop() noexcept { lists_.reset(); }

 private:
  due_function on_due_;
  std::optional<timeout_lists> lists_;  // none: stopped
};

}  // namespace beck::http::detail
