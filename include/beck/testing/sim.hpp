// SPDX-License-Identifier: BSL-1.0
// Simulated worlds: the usual sockets, timers and tasks, but in memory and under virtual time, in
// an order that a seed decides. A test that fails with a seed fails with it again, with every
// compiler.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/io/io_context.hpp>
#include <beck/testing/faults.hpp>
#include <beck/testing/link.hpp>
#include <beck/testing/random_source.hpp>
#include <beck/testing/tape.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beck::testing::sim {

/// The ranges from which the seed chooses. A value; each setter returns *this.
class settings {
 public:
  /// Makes the defaults, without faults.
  settings() noexcept {}

  /// Sets the range of delays of the network, from which each message draws evenly. Requires 0 <=
  /// least <= most. Default: 1 to 500 microseconds. Between UNIX sockets only the event that wakes
  /// an operation is delayed: a call at the other end sees a change at once, as on Linux.
  settings& delay(duration least, duration most) noexcept {
    delay_least_ = least;
    delay_most_ = most;
    return *this;
  }
  /// Sets the probability that sent bytes are split once more before they travel; half of the
  /// splits leave a single byte in front. Default: 0.25.
  settings& split_probability(double p) noexcept {
    split_ = p;
    return *this;
  }
  /// Sets the probability that a read returns fewer bytes than there are. Default: 0.125.
  settings& short_read_probability(double p) noexcept {
    short_read_ = p;
    return *this;
  }
  /// Sets the buffers of a socket before its options change them; at least 1 byte. A sender can
  /// fill both its own buffer and its peer's. Default: 64 KiB each.
  settings& buffer_sizes(std::size_t send_bytes, std::size_t receive_bytes) noexcept {
    send_bytes_ = send_bytes;
    receive_bytes_ = receive_bytes;
    return *this;
  }
  /// Records every draw, for world::tape().
  settings& record(bool on = true) noexcept {
    record_ = on;
    return *this;
  }
  /// Sets the faults. Default: none. Delays, splits and short reads are not faults: every network
  /// does them to every program.
  settings& with(const faults& what) noexcept {
    faults_ = what;
    return *this;
  }
  /// Sets the start of the clock, for programs that calculate with time: at most time_point::max().
  /// Requires a point that is not before time_point().
  settings& start(time_point at) noexcept {
    start_ = at;
    return *this;
  }
  /// Makes the network as undisturbed as possible: one delay for all messages, and no splits.
  settings& calm() noexcept {
    return delay(duration(10'000), duration(10'000)).split_probability(0).short_read_probability(0);
  }

 private:
  friend class world;

  duration delay_least_ = duration(1'000);
  duration delay_most_ = duration(500'000);
  double split_ = 0.25;
  double short_read_ = 0.125;
  std::size_t send_bytes_ = 65'536;
  std::size_t receive_bytes_ = 65'536;
  bool record_ = false;
  time_point start_ = time_point(duration(1'000'000'000'000));
  faults faults_ = faults::none();
};

/// A machine in a world: `io_context ctx(w.host("a"));` is a context on it. The n-th host of a
/// world has the addresses 10.0.0.n and fd00::n; loopback addresses, ports, UNIX names and
/// descriptor numbers are each host's own.
class host {
 public:
  host(const host&) = delete;
  host& operator=(const host&) = delete;

  /// Returns the name.
  std::string_view name() const noexcept;

  /// Returns `how` for a context on this host: `io_context ctx(w.host("a").options({.threads =
  /// 3}))` makes a shared one.
  io_context::options options(io_context::options how = {}) const noexcept;
  /// Converts to options(), so that `io_context ctx(w.host("a"))` makes a context.
  operator io_context::options() const noexcept { return options(); }  // implicit, for that line

  /// Cuts the machine's power: stops its contexts for good and drops its sockets, without notice to
  /// their peers. Messages to it are lost, as on a cut link. Its contexts and their objects can
  /// only be destroyed; calls on them fail.
  void crash();
  /// Turns the machine on again, for new contexts. From now on messages of its former peers are
  /// answered with a reset. Requires a crash.
  void restart();
  /// Returns whether the machine is on.
  bool is_up() const noexcept;

  /// Makes the fault strike on its next `times` occasions here: packets that this host sends,
  /// connects and accepts of its programs, and so on. clock_jump has no occasion on a host.
  void inject(fault which, unsigned times = 1) noexcept;
  /// Sends a signal to its programs, as sigqueue(3): to every signal_set of a context here that
  /// contains it. Returns false, and does nothing, if no set contains it.
  bool raise_signal(int number, int value = 0);

  /// Sets how many bytes its disk stores, in all files together; no limit at first. Files of a host
  /// outlive its contexts and crashes: synced writes are kept; of later ones each in full, in part
  /// or not at all, as the seed decides.
  void disk_capacity(std::size_t bytes) noexcept;

  /// Returns the date that system_now() returns to its programs: at first the world's now() after 1
  /// January 2026, 00:00 UTC.
  system_time_point date() const noexcept;
  /// Sets the date, forward or back. Does not change the steady clock.
  void set_date(system_time_point to) noexcept;

  /// Breaks the TCP connection of this descriptor now, at its present byte. `how` is reset, end or
  /// silence; throws io_error (invalid_argument) for another one, and (not_connected) if there is
  /// no TCP connection.
  void break_connection(int native_handle, fault how);

 private:
  friend class world;

  explicit host(detail::sim_host& simulated) noexcept : simulated_(&simulated) {}

  detail::sim_host* simulated_;
};

/// Hosts that share a network, a virtual clock and a hash.
/// Thread: one at a time, for the world and all contexts in it; a post to a context that another
/// thread runs ends the program. Lifetime: outlives its contexts (asserted). Virtual time passes
/// only while a context waits, and a microsecond at a time while it is busy or polled. A run() or a
/// synchronous call that would wait for ever ends the program, with a message that names the host
/// and the operations that wait.
///
/// run(), run_until_idle() and run_for() run all contexts of the world on this thread, one handler
/// at a time, in an order that the seed decides. A stopped context is skipped until its restart().
/// No context is stopped for lack of work, so it continues when another one posts work to it. Each
/// function returns the number of handlers that ran; an exception of a handler leaves it. Do not
/// call them from a handler.
/// A context's own run() runs that context only, while the network continues and the others stand
/// still. A shared context, host.options({.threads = n}), has n virtual threads, of which the
/// seed chooses one at a time: between handlers, and where one starts operations or waits in a
/// synchronous one.
class world {
 public:
  /// Makes a world with the default settings.
  explicit world(std::uint64_t seed);
  /// Makes a world with these settings.
  world(std::uint64_t seed, const settings& how);
  /// Replays a tape. With the settings and the program of the recorded run, it repeats that run.
  explicit world(const sim::tape& replayed);
  /// Replays a tape with these settings.
  world(const sim::tape& replayed, const settings& how);
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  /// Returns the host of that name; the first call makes it.
  sim::host& host(std::string_view name);

  /// Runs until no context has outstanding work. A server that always accepts has some: stop its
  /// context, close the objects that it waits with, or use one of the other two functions.
  std::size_t run();
  /// Runs until no context can run anything now and no message is under way: the remaining
  /// operations wait for a peer or for a timer, even one that is due soon. Time passes only as far
  /// as messages travel; timers that come due meanwhile run. TCP's repetitions are timers too, and
  /// messages that a cut or clogged link holds back do not count as under way.
  std::size_t run_until_idle();
  /// Runs everything that is due until now() + time, and lets this much time pass even if there is
  /// no work. Contexts that are still busy then may continue for a millisecond, and a leap of the
  /// clock (fault::clock_jump) may end it hours late.
  std::size_t run_for(duration time);

  /// Advances the clock in one leap, as after a machine was asleep: nothing happens meanwhile, and
  /// everything that was due comes late.
  void jump(duration time) noexcept;

  /// Returns the path between two hosts, in both directions.
  sim::link link(sim::host& a, sim::host& b) noexcept;
  /// Returns the path of messages from `from` to `to`.
  sim::link path(sim::host& from, sim::host& to) noexcept;
  /// Cuts all links between these hosts and all other hosts that the world has now: link::cut().
  template <class... Hosts>
  void partition(sim::host& first, Hosts&... others) {
    sim::host* const side[] = {&first, &others...};
    separate(side, sizeof...(others) + 1);
  }
  /// Heals all links.
  void heal();

  /// Sets the settings from now on, such as settings().calm() when a network has to recover in the
  /// end. The active faults are drawn anew. Buffer sizes apply to sockets opened later; start() and
  /// record() have no effect on a running world.
  void configure(const settings& how);

  /// Returns the source of the program's own choices.
  random_source& random() noexcept;

  /// Returns the seed; in a replay the seed of its tape.
  std::uint64_t seed() const noexcept;
  /// Returns the hash of all events: each call with its result, each event, and its time. The same
  /// program with the same seed has the same hash with every compiler.
  std::uint64_t hash() const noexcept;
  /// Returns the virtual time.
  time_point now() const noexcept;
  /// Returns the draws so far, of a world that records or replays. Throws io_error
  /// (invalid_argument) in another world.
  sim::tape tape() const;

  /// Returns whether the fault is on in this seed.
  bool has(fault which) const noexcept;
  /// Returns how often the fault has struck.
  std::uint64_t count(fault which) const noexcept;

  /// Calls `sink` from now on with a line without newline for every event: virtual time in seconds,
  /// host, call with its descriptor and result; packets that arrive; faults. nullptr turns it off.
  /// Changes nothing, not even the hash.
  void trace(void (*sink)(const char* line, void* data), void* data = nullptr) noexcept;

 private:
  friend struct world_access;
  void separate(sim::host* const* side, std::size_t count);

  struct state;
  state* state_;
};

namespace functions {

/// Returns the hash of the world that a context is in: also of a private one, which
/// `io_context::options{.backend = backend::sim, .seed = n}` makes. 0 if the context is not
/// simulated.
std::uint64_t sim_hash(io_context& context) noexcept;

}  // namespace functions
using namespace functions;

}  // namespace beck::testing::sim
