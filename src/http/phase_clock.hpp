// SPDX-License-Identifier: BSL-1.0
// The time limits of all connections of a worker, with one timer. Every phase has a list whose
// members wait equally long, so the first of each list is the next one that is due, and entering a
// phase takes constant time and no system call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <beck/detail/intrusive_list.hpp>
#include <beck/http/limits.hpp>
#include <beck/io/steady_timer.hpp>

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
  reply,      ///< for room in the socket
  linger,     ///< for the peer's end
};

class connection;

/// The place of a connection in the lists: it has one for receiving and one for sending.
struct timed_entry {
  explicit timed_entry(connection& of) noexcept : owner(of) {}

  connection& owner;
  beck::detail::list_hook hook;
  std::int64_t due = 0;
  phase in = phase::none;
};

/// The lists and the timer. Thread: that of the context.
class phase_clock {
 public:
  using list = beck::detail::intrusive_list<timed_entry, &timed_entry::hook>;
  /// Called for an entry that is due; it is in no list then.
  using due_function = void (*)(timed_entry& entry, phase was);
  /// How long phase::kept lasts, unless limits::idle() is less: then nothing follows it.
  static constexpr duration kept_max = duration(1'000'000'000);

  /// Makes a clock without entries. `keep_alive` owns it: the timer's wait holds on to that.
  phase_clock(const any_io_executor& executor, const limits& bounds, due_function on_due,
              std::weak_ptr<void> keep_alive);
  phase_clock(const phase_clock&) = delete;
  phase_clock& operator=(const phase_clock&) = delete;

  /// Puts `entry` into the list of `next`; takes it out of every list for phase::none.
  void enter(timed_entry& entry, phase next) noexcept;
  /// Returns the list of a phase, the longest waiting first.
  list& in(phase p) noexcept { return lists_[static_cast<std::size_t>(p)]; }
  /// Stops the timer for good.
  void stop();

 private:
  static constexpr std::size_t phases = 10;

  void arm() noexcept;
  void ring();

  steady_timer timer_;
  due_function on_due_;
  std::weak_ptr<void> keep_alive_;
  std::int64_t waits_[phases];
  list lists_[phases];
  std::int64_t armed_ = INT64_MAX;  // when the timer rings
  bool stopped_ = false;
};

}  // namespace beck::http::detail
