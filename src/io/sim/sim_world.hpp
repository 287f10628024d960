// SPDX-License-Identifier: BSL-1.0
// A simulated world: one clock, one network and one hash, shared by its hosts. Everything that
// happens in it follows from its seed and from the programs, and from nothing else.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/sim/sim_draws.hpp"
#include "io/sim/sim_faults.hpp"
#include "io/sim/sim_files.hpp"
#include "io/sim/sim_network.hpp"
#include "io/sim/sim_random.hpp"
#include "io/sim/sim_scheduler.hpp"
#include "io/sim/sim_trace.hpp"

namespace beck::detail {

class signal_sink;

/// Virtual steady time. Only the simulation moves it.
class sim_clock {
 public:
  /// The default start of a world: not zero, because no real clock shows zero when a program
  /// starts.
  static constexpr std::int64_t epoch_ns = 1'000'000'000'000;

  static constexpr std::int64_t second_ns = 1'000'000'000;

  /// The last time; INT64_MAX itself means never.
  static constexpr std::int64_t last_ns = INT64_MAX - 1;

  /// Returns `time` plus `ns` nanoseconds, but at most last_ns. Requires ns >= 0.
  static constexpr std::int64_t later(std::int64_t time, std::int64_t ns) noexcept {
    return ns > last_ns - time ? last_ns : time + ns;
  }

  explicit sim_clock(std::int64_t start) noexcept : now_(start < last_ns ? start : last_ns) {}

  std::int64_t now() const noexcept { return now_; }
  /// Moves the clock to `time`. Never moves it back, and stops at last_ns.
  void advance_to(std::int64_t time) noexcept {
    if (time > now_) now_ = time < last_ns ? time : last_ns;
  }

 private:
  std::int64_t now_;
};

/// The hash of a run: each event with its time and result. Only numbers that mean the same on every
/// compiler may go in: no addresses, no sizes of types, no real time.
class sim_digest {
 public:
  void fold(std::uint64_t word) noexcept {
    value_ = (value_ ^ word) * 0xd6e8feb86659fd93;
    value_ ^= value_ >> 32;
  }
  std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0x2545f4914f6cdd1d;
};

/// The ranges and probabilities of a world's draws.
struct sim_profile {
  std::int64_t delay_ns_min = 1'000;
  std::int64_t delay_ns_max = 500'000;
  sim_probability split{0.25};
  sim_probability short_read{0.125};
  std::uint32_t send_buffer_bytes = 65'536;
  std::uint32_t receive_buffer_bytes = 65'536;
  std::int64_t start_ns = sim_clock::epoch_ns;
  sim_fault_profile faults;
};

/// One simulated machine: descriptors, addresses, files, and the names that its sockets have taken.
class sim_host {
 public:
  /// The first descriptor number, so that a simulated one is recognised in a log.
  static constexpr int fd_first = 1000;
  static constexpr std::size_t descriptors_max = 65'536;

  sim_host(sim_world& world, std::string_view name, std::uint32_t number);
  sim_host(const sim_host&) = delete;
  sim_host& operator=(const sim_host&) = delete;

  const std::string& name() const noexcept { return name_; }
  sim_world& world() const noexcept { return world_; }
  /// Returns the number of the host: 1 for the first one that was made.
  std::uint32_t number() const noexcept { return number_; }

  bool is_up() const noexcept { return up_; }
  /// Returns how often the host has been started. Descriptors that were opened before the last
  /// start no longer exist.
  std::uint32_t boot() const noexcept { return boot_; }
  /// Cuts the power: stops the contexts of the host, and drops all sockets without a message to
  /// their peers.
  void crash();
  /// Starts the host again, without contexts and sockets. Requires !is_up().
  void restart();

  /// Assigns the lowest free descriptor number to `socket`. Returns it, or -EMFILE.
  int install(sim_socket& socket);
  void remove(sim_socket& socket) noexcept;
  /// Returns the socket with this number; nullptr if there is none.
  sim_socket* find(int fd) const noexcept;
  /// Returns all sockets by number, from fd_first on; nullptr where none is open.
  const std::vector<sim_socket*>& descriptors() const noexcept { return descriptors_; }

  /// Return the addresses of the host: 10.0.0.n and fd00::n for the n-th host of a world.
  const sim_address& address_v4() const noexcept { return v4_; }
  const sim_address& address_v6() const noexcept { return v6_; }
  bool owns(const sim_address& address) const noexcept {
    return address == v4_ || address == v6_ || is_loopback(address);
  }

  /// Returns the calendar time of the host in nanoseconds since 1970: the world's time plus the
  /// offset that set_date() has chosen.
  std::int64_t date() const noexcept;
  void set_date(std::int64_t ns) noexcept;

  /// Programs that wait for a signal, in the order in which they began.
  struct signal_watcher {
    int number;
    signal_sink* sink;
  };
  std::vector<signal_watcher> signal_watchers;
  /// Delivers a signal to all programs of the host that wait for it; returns whether any did.
  bool raise_signal(int number, int value);

  sim_files& files() noexcept { return files_; }

  /// How many of the next occasions of each fault on this host shall be struck.
  sim_fault_table<unsigned> injected{};

  /// Sockets by port, and by UNIX path or abstract name. The entry of a path stays after its socket
  /// has been closed, as the file does.
  std::multimap<std::uint16_t, sim_socket*> ports;
  std::map<std::string, sim_socket*, std::less<>> paths;

 private:
  sim_world& world_;
  std::string name_;
  std::uint32_t number_;
  std::uint32_t boot_ = 1;
  bool up_ = true;
  /// A new world begins on 1 January 2026, 00:00 UTC, if its steady clock begins with 0.
  std::int64_t date_offset_ns_ = 1'767'225'600'000'000'000;
  sim_address v4_;
  sim_address v6_;
  sim_files files_{*this};
  std::vector<sim_socket*> descriptors_;
  std::size_t lowest_free_ = 0;  // no number below it is free
};

/// The world. Thread: one.
class sim_world {
 public:
  sim_world(std::uint64_t seed, const sim_profile& profile);
  sim_world(sim_draws draws, const sim_profile& profile);
  ~sim_world();
  sim_world(const sim_world&) = delete;
  sim_world& operator=(const sim_world&) = delete;

  std::uint64_t seed() const noexcept { return draws_.seed(); }
  sim_draws& draws() noexcept { return draws_; }
  const sim_profile& profile() const noexcept { return profile_; }
  void configure(const sim_profile& profile) noexcept {
    profile_ = profile;
    faults_.configure(profile.faults);
  }
  sim_clock& clock() noexcept { return clock_; }
  sim_network& network() noexcept { return network_; }
  sim_scheduler& scheduler() noexcept { return scheduler_; }
  sim_faults& faults() noexcept { return faults_; }
  sim_trace& trace() noexcept { return trace_; }
  sim_digest& digest() noexcept { return digest_; }
  /// Returns the source of the random bytes of programs. They are no choices, so no tape has them.
  sim_generator& keys() noexcept { return keys_; }
  std::deque<sim_host>& hosts() noexcept { return hosts_; }

  /// Returns the host of that name; makes it at the first call.
  sim_host& host(std::string_view name);
  /// Returns the host that receives a message of `from` to `address`; nullptr if there is none.
  sim_host* host_at(const sim_address& address, sim_host& from) noexcept;

  static constexpr std::uint64_t jump_ns_max = 8 * 3'600'000'000'000;
  static constexpr std::int64_t date_step_ns_max = 3'600'000'000'000;

  /// Moves the clock to the next event, if that is not after `limit`, and delivers it. Returns
  /// false if there is none; then the clock shows `limit`, unless that is INT64_MAX.
  bool advance(std::int64_t limit);

  /// Adds an event of `host` to the hash and, if it is on, to the trace.
  void note(const sim_host& host, sim_note what, int fd, std::int64_t result) noexcept {
    fold(what, fd, result);
    if (trace_.is_on()) trace_.note(clock_.now(), host, what, fd, result);
  }
  /// Adds a fault to the hash and the trace; `host` is nullptr if it concerns no particular host.
  void note_fault(sim_fault which, const sim_host* host) noexcept {
    fold(sim_note::fault, static_cast<int>(which), host == nullptr ? 0 : host->number());
    if (trace_.is_on()) trace_.fault(clock_.now(), host, which);
  }

  unsigned contexts = 0;  ///< number of contexts that live in this world

 private:
  void jump();
  void fold(sim_note what, int fd, std::int64_t result) noexcept {
    digest_.fold(static_cast<std::uint64_t>(clock_.now()));
    digest_.fold(std::uint64_t{static_cast<std::uint32_t>(what)} << 32 |
                 static_cast<std::uint32_t>(fd));
    digest_.fold(static_cast<std::uint64_t>(result));
  }

  sim_draws draws_;
  sim_profile profile_;
  sim_clock clock_;
  sim_digest digest_;
  sim_trace trace_;
  sim_faults faults_;
  sim_network network_;
  sim_scheduler scheduler_;
  sim_generator keys_;
  std::deque<sim_host> hosts_;
};

}  // namespace beck::detail
