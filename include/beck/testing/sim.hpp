// SPDX-License-Identifier: BSL-1.0
// Simulated worlds: the same sockets, timers and tasks as always, in memory and under virtual time,
// in an order that a seed decides. A test that fails with a seed fails with it again, on every
// compiler.
#pragma once

#include <beck/base/duration.hpp>
#include <beck/detail/text_view.hpp>
#include <beck/io/io_context.hpp>
#include <beck/testing/faults.hpp>
#include <beck/testing/link.hpp>
#include <beck/testing/random_source.hpp>
#include <beck/testing/tape.hpp>
#include <cstddef>
#include <cstdint>

namespace beck::testing::sim {

/// The ranges that the seed chooses from. A value; each setter returns *this.
class settings {
 public:
  /// Makes the defaults, without faults.
  settings() noexcept {}

  /// Sets how long a message of the network travels, drawn evenly for each. Requires 0 <= least <=
  /// most. Default: 1 to 500 microseconds. Between UNIX sockets only the notice that wakes an
  /// operation travels: the other end sees a change at once if it looks, as on Linux.
  settings& delay(duration least, duration most) noexcept {
    delay_least_ = least;
    delay_most_ = most;
    return *this;
  }
  /// Sets how probable it is that sent bytes are cut once more before they travel; half of the cuts
  /// leave a single byte in front. Default: 0.25.
  settings& split_probability(double p) noexcept {
    split_ = p;
    return *this;
  }
  /// Sets how probable it is that a read returns less than is there. Default: 0.125.
  settings& short_read_probability(double p) noexcept {
    short_read_ = p;
    return *this;
  }
  /// Sets the buffers of a socket before its options change them; down to 1 byte. A sender can fill
  /// both: its own and its peer's. Default: 64 KiB each.
  settings& buffer_sizes(std::size_t send_bytes, std::size_t receive_bytes) noexcept {
    send_bytes_ = send_bytes;
    receive_bytes_ = receive_bytes;
    return *this;
  }
  /// Keeps every draw, for world::tape().
  settings& record(bool on = true) noexcept {
    record_ = on;
    return *this;
  }
  /// Sets the faults. Default: none; delays, cuts and short reads are what every network does to
  /// every program.
  settings& with(const faults& what) noexcept {
    faults_ = what;
    return *this;
  }
  /// Sets the time that the clock shows at first: for programs that calculate with time, up to
  /// time_point::max(). Requires a point that is not before time_point().
  settings& start(time_point at) noexcept {
    start_ = at;
    return *this;
  }
  /// Makes everything as undisturbed as a network can be: one delay for all, nothing cut.
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
  detail::text_view name() const noexcept;

  /// Returns the options of a context on this host, so that `io_context ctx(world.host("a"))` makes
  /// one, and `io_context ctx(io_context::options(world.host("a")).threads(3))` a shared one.
  operator io_context::options() const noexcept;  // implicit, for the line above

  /// Cuts the machine's power: its contexts are stopped for good, its sockets are gone, and no peer
  /// is told. Messages to it are lost, as on a link that is cut. Its contexts and their objects can
  /// only be destroyed; calls on them fail.
  void crash();
  /// Turns the machine on again, for new contexts. Messages of its former peers are answered with a
  /// reset from now on. Requires a crash.
  void restart();
  /// Returns whether the machine is on.
  bool is_up() const noexcept;

  /// Makes the fault strike on its next `times` occasions here: packets that this host sends,
  /// connects and accepts of its programs, and so on. clock_jump has none on a host.
  void inject(fault which, unsigned times = 1) noexcept;
  /// Sends a signal to its programs, as sigqueue(3): to every signal_set of a context here that
  /// holds it. Returns false, and does nothing, if none does.
  bool raise_signal(int number, int value = 0);

  /// Sets how many bytes its disk takes, all files together; no limit at first. Files of a host
  /// outlive its contexts, and crashes: synced writes are kept, of later ones each in full, in part
  /// or not at all, as the seed decides.
  void disk_capacity(std::size_t bytes) noexcept;

  /// Returns the date that system_now() returns to its programs: at first the world's now() after 1
  /// January 2026, 00:00 UTC.
  system_time_point date() const noexcept;
  /// Sets the date, forward or back. No effect on the steady clock.
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
/// at a time, in an order that the seed decides. A context that was stopped is left alone until its
/// restart(); none is stopped for having run out of work, so that it continues when another one
/// posts work to it. Each returns the number of handlers that ran; an exception of a handler leaves
/// it. Not from a handler.
/// A context's own run() runs that one alone, while the network goes on and the others stand still.
/// A shared context, options(host).threads(n), has n virtual threads, of which the seed chooses one
/// at a time: between handlers, and where one starts operations or waits in a synchronous one.
class world {
 public:
  /// Makes a world with the default settings.
  explicit world(std::uint64_t seed);
  /// Makes a world with these settings.
  world(std::uint64_t seed, const settings& how);
  /// Replays a tape. With the settings and the program of the run that it comes from, it is that
  /// run.
  explicit world(const sim::tape& replayed);
  /// Replays a tape with these settings.
  world(const sim::tape& replayed, const settings& how);
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  /// Returns the host of that name, which is made by the first call.
  sim::host& host(detail::text_view name);

  /// Runs until no context has outstanding work. A server that accepts for ever has some: stop its
  /// context, close the objects that it waits with, or use one of the other two.
  std::size_t run();
  /// Runs until no context has anything to do now and no message is on its way: the remaining
  /// operations wait for a peer or a timer, however near. Time passes only as far as messages
  /// travel; timers that come due meanwhile run. TCP's repetitions are timers too, and messages
  /// that a cut or clogged link holds back are not on their way.
  std::size_t run_until_idle();
  /// Runs until everything is done that is due until now() + time, also if there is no work: this
  /// much time passes. Contexts that are still busy then may continue for a millisecond, and a leap
  /// of the clock (fault::clock_jump) may end it hours late.
  std::size_t run_for(duration time);

  /// Advances the clock in one leap, as when a machine was asleep: nothing happens meanwhile, and
  /// everything that was due comes late.
  void jump(duration time) noexcept;

  /// Returns the way between two hosts, in both directions.
  sim::link link(sim::host& a, sim::host& b) noexcept;
  /// Returns the way of messages from `from` to `to`.
  sim::link path(sim::host& from, sim::host& to) noexcept;
  /// Cuts all links between these hosts and all others that the world has by now: link::cut().
  template <class... Hosts>
  void partition(sim::host& first, Hosts&... others) {
    sim::host* const side[] = {&first, &others...};
    separate(side, sizeof...(others) + 1);
  }
  /// Heals all links.
  void heal();

  /// Sets the settings from now on, such as settings().calm() when a network has to heal at last.
  /// The faults that are on are drawn anew. Buffer sizes are those of sockets that are opened
  /// later; start() and record() have no effect on a world that runs.
  void configure(const settings& how);

  /// Returns the source of the program's own choices.
  random_source& random() noexcept;

  /// Returns the seed; of a replay, that of its tape.
  std::uint64_t seed() const noexcept;
  /// Returns the hash of all events: each call with its result, each event, and when. The same
  /// program with the same seed has the same hash on every compiler.
  std::uint64_t hash() const noexcept;
  /// Returns the virtual time.
  time_point now() const noexcept;
  /// Returns the draws up to now, of a world that records or replays. Throws io_error
  /// (invalid_argument) in another one.
  sim::tape tape() const;

  /// Returns whether that fault is on in this seed.
  bool has(fault which) const noexcept;
  /// Returns how often that fault has struck.
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
/// `io_context::options().backend(backend::sim).seed(n)` makes. 0 if the context is not simulated.
std::uint64_t sim_hash(io_context& context) noexcept;

}  // namespace functions
using namespace functions;

}  // namespace beck::testing::sim
