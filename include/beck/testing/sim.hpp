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

/// What the seed may choose from. A value; each function returns *this.
class settings {
 public:
  settings() noexcept {}

  /// How long a message of the network travels, drawn evenly for each. Requires 0 <= least <= most.
  /// Between UNIX sockets only the news travels that wakes an operation: what one end has done, the
  /// other sees at once if it looks, as on Linux.
  settings& delay(duration least, duration most) noexcept {
    delay_least_ = least;
    delay_most_ = most;
    return *this;
  }
  /// How probable it is that what is sent is cut once more before it travels; half of the cuts
  /// leave a single byte in front.
  settings& split_probability(double p) noexcept {
    split_ = p;
    return *this;
  }
  /// How probable it is that a read gives less than is there.
  settings& short_read_probability(double p) noexcept {
    short_read_ = p;
    return *this;
  }
  /// What a socket has before its options change it; down to 1 byte. A sender has both to fill: its
  /// own and its peer's.
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
  /// What goes wrong. Without it nothing does: all delays, cuts and short reads are what every
  /// network does to every program.
  settings& with(const faults& what) noexcept {
    faults_ = what;
    return *this;
  }
  /// What the clock shows at first: for programs that reckon with time, up to time_point::max().
  /// Requires a point that is not before time_point().
  settings& start(time_point at) noexcept {
    start_ = at;
    return *this;
  }
  /// Everything as undisturbed as a network can be: one delay for all, nothing cut.
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

  detail::text_view name() const noexcept;

  /// Returns the options of a context on this host, so that `io_context ctx(world.host("a"))` makes
  /// one, and `io_context ctx(io_context::options(world.host("a")).threads(3))` a shared one.
  operator io_context::options() const noexcept;  // implicit, for the line above

  /// The machine loses its power: its contexts are stopped for good, its sockets are gone, and no
  /// peer is told. What is sent to it gets lost, as on a link that is cut. All that can be done
  /// with its contexts and their objects is to destroy them; calls on them fail.
  void crash();
  /// It comes back, for new contexts. What its former peers send from now on is answered with a
  /// reset. Requires a crash.
  void restart();
  bool is_up() const noexcept;

  /// The next `times` occasions for this fault here strike for sure: packets that this host sends,
  /// connects and accepts of its programs, and so on. clock_jump has none on a host.
  void inject(fault which, unsigned times = 1) noexcept;
  /// Its programs get a signal, as by sigqueue(3): every signal_set of a context here that holds
  /// it. False: none does, and nothing happens.
  bool raise_signal(int number, int value = 0);

  /// How many bytes its disk takes, all files together; no limit at first. Files of a host outlive
  /// its contexts, and crashes, of which the device remembers what was synced, and of what came
  /// after that each write in full, in part or not at all, as the seed decides.
  void disk_capacity(std::size_t bytes) noexcept;

  /// What system_now() gives to its programs: at first the world's now() after 1 January 2026,
  /// 00:00 UTC.
  system_time_point date() const noexcept;
  /// Somebody sets the clock, forward or back. No effect on the steady one.
  void set_date(system_time_point to) noexcept;

  /// Breaks the TCP connection of this descriptor now, at the byte where it stands. `how` is reset,
  /// end or silence; throws io_error (invalid_argument) for another one, and (not_connected) where
  /// there is no TCP connection.
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
/// synchronous call that would wait for ever ends the program and says which host and what waits.
///
/// run(), run_until_idle() and run_for() run all contexts of the world on this thread, one handler
/// at a time, in an order that the seed decides. A context that was stopped is left alone until its
/// restart(); none is stopped for having run out of work, so that it goes on when another one gives
/// it work. Each gives how many handlers ran; what a handler throws leaves it. Not from a handler.
/// A context's own run() runs that one alone, while the network goes on and the others stand still.
/// A shared context, options(host).threads(n), has n virtual threads, of which the seed chooses one
/// at a time: between handlers, and where one starts operations or waits in a synchronous one.
class world {
 public:
  explicit world(std::uint64_t seed);
  world(std::uint64_t seed, const settings& how);
  /// Replays a tape. With the settings and the program of the run that it comes from, it is that
  /// run.
  explicit world(const sim::tape& replayed);
  world(const sim::tape& replayed, const settings& how);
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  /// The host of that name, made when it is first asked for.
  sim::host& host(detail::text_view name);

  /// Until no context has outstanding work. A server that accepts for ever has some: stop its
  /// context, close what it waits with, or use one of the other two.
  std::size_t run();
  /// Until no context has anything to do now and no message is on its way: what is left waits for
  /// its peer or for a timer, however near. Time passes only as far as messages travel; timers that
  /// come due meanwhile run. TCP's repetitions are timers too, and what a link that is cut or
  /// clogged holds back is not on its way.
  std::size_t run_until_idle();
  /// Until everything is done that is due until now() + time, also if nobody has work: this much
  /// time passes. Contexts that are still busy then may go on for a millisecond, and a leap of the
  /// clock (fault::clock_jump) may end it hours late.
  std::size_t run_for(duration time);

  /// All of that time in one leap, as when a machine was asleep: nothing happens until then, and
  /// whatever was due meanwhile comes late.
  void jump(duration time) noexcept;

  /// What lies between two hosts, in both directions.
  sim::link link(sim::host& a, sim::host& b) noexcept;
  /// What lies on the way of what `from` sends to `to`.
  sim::link path(sim::host& from, sim::host& to) noexcept;
  /// Cuts all links between these hosts and all others that the world has by now: link::cut().
  template <class... Hosts>
  void partition(sim::host& first, Hosts&... others) {
    sim::host* const side[] = {&first, &others...};
    separate(side, sizeof...(others) + 1);
  }
  /// Heals all links.
  void heal();

  /// What the draws range over from now on, such as settings().calm() when a network has to heal
  /// at last. Which faults are on is drawn anew. Buffer sizes are those of sockets that are opened
  /// later; start() and record() are not for a world that runs.
  void configure(const settings& how);

  /// The program's own choices.
  random_source& random() noexcept;

  /// The seed; of a replay, that of its tape.
  std::uint64_t seed() const noexcept;
  /// Of everything that has happened: each call with its result, each event, and when. The same
  /// program with the same seed has the same hash on every compiler.
  std::uint64_t hash() const noexcept;
  time_point now() const noexcept;
  /// What has been drawn up to now: of a world that records or replays; throws io_error
  /// (invalid_argument) in another one.
  sim::tape tape() const;

  /// Whether this seed has that fault.
  bool has(fault which) const noexcept;
  /// How often it has struck.
  std::uint64_t count(fault which) const noexcept;

  /// From now on `sink` gets a line without newline for everything that happens: virtual time in
  /// seconds, host, call with its descriptor and result; packets that arrive; faults. nullptr: no
  /// longer. Costs nothing when off, and changes nothing, not even the hash.
  void trace(void (*sink)(const char* line, void* data), void* data = nullptr) noexcept;

 private:
  friend struct world_access;
  void separate(sim::host* const* side, std::size_t count);

  struct state;
  state* state_;
};

/// The hash of the world that a context is in: also of a private one, which
/// `io_context::options().backend(backend::sim).seed(n)` makes. 0 if the context is not simulated.
std::uint64_t sim_hash(io_context& context) noexcept;

}  // namespace beck::testing::sim
