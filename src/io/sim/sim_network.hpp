// SPDX-License-Identifier: BSL-1.0
// The simulated network: stream sockets over TCP and UNIX names in memory. It does what Linux does
// (the comments name the rule where it is not obvious), except that everything that travels takes a
// drawn time and comes in drawn pieces, in order within a connection. Between UNIX sockets nothing
// travels but news: what one end does the other can see at once, as programs on Linux may rely on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "io/sim/sim_random.hpp"
#include "io/sim/sim_socket.hpp"

namespace beck {

class sim_world;

/// Thread: one. Results as in system.hpp: a value or -errno; nothing waits.
class sim_network {
 public:
  /// TCP: SYNs to a listener whose backlog is full are repeated, each time after twice as long,
  /// this often.
  static constexpr unsigned syn_retries_max = 6;
  static constexpr std::int64_t syn_retry_ns = 1'000'000'000;
  static constexpr std::size_t backlog_limit = 4096;  // net.core.somaxconn
  /// One send arrives in at most this many pieces.
  static constexpr unsigned pieces_max = 16;
  /// Out of so many places the order of what happens at the same time is drawn.
  static constexpr unsigned order_bits = 16;

  sim_network(sim_world& world, sim_draws& draws) noexcept;
  sim_network(const sim_network&) = delete;
  sim_network& operator=(const sim_network&) = delete;

  // --- calls (sim_network.cpp, sim_connect.cpp, sim_stream.cpp) --------------------------------
  int open(sim_host& host, int family, int type, int protocol);
  int open_pair(sim_host& host, int family, int type, int protocol, int (&pair)[2]);
  void close(sim_socket& s);

  int bind(sim_socket& s, const void* address, std::size_t bytes);
  int listen(sim_socket& s, int backlog);
  int connect(sim_socket& s, const void* address, std::size_t bytes);
  int accept(sim_socket& listener);
  int local_name(const sim_socket& s, void* address, std::size_t& bytes) const noexcept;
  int remote_name(const sim_socket& s, void* address, std::size_t& bytes) const noexcept;
  int set_option(sim_socket& s, int level, int name, const void* value, std::size_t bytes);
  int get_option(sim_socket& s, int level, int name, void* value, std::size_t& bytes) noexcept;

  /// How much may be sent or received now, or -errno; then put() or take() moves it in parts.
  std::ptrdiff_t room(sim_socket& s, std::size_t bytes) noexcept;
  void put(sim_socket& s, const char* data, std::size_t bytes);
  void put_done(sim_socket& s, std::uint64_t first_byte, std::size_t asked);
  std::ptrdiff_t waiting(sim_socket& s, std::size_t bytes) noexcept;
  void take(sim_socket& s, char* data, std::size_t bytes) noexcept { s.in.receive(data, bytes); }
  void take_done(sim_socket& s, std::size_t asked, std::size_t taken);
  int shutdown(sim_socket& s, int how);

  /// The pending error, which is no longer pending then: 0 or more.
  static int take_error(sim_socket& s) noexcept;
  /// Everything that poll(2) would say.
  static unsigned levels(const sim_socket& s) noexcept;

  // --- time ------------------------------------------------------------------------------------
  /// INT64_MAX: nothing is on its way.
  std::int64_t next_event_ns() const noexcept;
  /// Lets everything happen whose time has come; what comes at the same time, in drawn order.
  void deliver_due();

  // --- readiness -------------------------------------------------------------------------------
  /// Lists `s` in `list` now if anything holds, and whenever something changes.
  void watch(sim_socket& s, sim_ready_list& list, std::uint64_t token);
  static void unwatch(sim_socket& s) noexcept { s.watcher = nullptr; }
  sim_random& order() noexcept { return order_; }

 private:
  enum class event_kind : std::uint8_t {
    syn,         ///< of `socket`, at the host that it connects to
    syn_answer,  ///< `value`: the errno, or 0
    arrival,     ///< of the bytes up to position `value`
    fin,
    reset,
    window,  ///< the peer has read
    news,    ///< of what has changed already
  };
  struct event {
    std::int64_t time;
    /// The order of what happens at the same time: drawn, then as it was scheduled.
    std::uint64_t tie;
    std::uint64_t value;
    sim_socket* socket;
    std::uint32_t generation;
    event_kind kind;

    bool operator<(const event& other) const noexcept {  // a heap gives the greatest first
      return time != other.time ? time > other.time : tie > other.tie;
    }
  };

  sim_socket& make(sim_host& host, int family);
  void recycle(sim_socket& s) noexcept;
  /// Frees what no program has any more; also the peer, once both are gone.
  void release(sim_socket& s) noexcept;
  static void join(sim_socket& a, sim_socket& b) noexcept;

  void schedule(event_kind kind, sim_socket& s, std::uint64_t value, std::int64_t time);
  std::int64_t drawn_arrival(sim_socket& to) noexcept;
  std::int64_t drawn_delay() noexcept;
  void happen(const event& e);
  static void wake(sim_socket& s);

  // Names and connections (sim_connect.cpp).
  int bind_ip(sim_socket& s, const sim_name& name);
  int bind_path(sim_socket& s, const sim_name& name);
  void enter_port(sim_socket& s);
  void leave_names(sim_socket& s) noexcept;
  std::uint16_t free_port(const sim_socket& s, const sim_address& address) noexcept;
  static bool port_taken(const sim_socket& s, const sim_address& address,
                         std::uint16_t port) noexcept;
  int connect_path(sim_socket& s, const sim_name& name);
  sim_socket* find_listener(sim_host& host, const sim_socket& from) const noexcept;
  sim_socket& make_child(sim_socket& listener, sim_socket& client);
  void syn(sim_socket& client, unsigned attempt);
  void syn_answer(sim_socket& client, int error);
  void abort_backlog(sim_socket& listener);

  // Streams (sim_stream.cpp).
  void arrival(sim_socket& s, std::uint64_t position);
  void fin(sim_socket& s);
  void reset(sim_socket& s);
  void window(sim_socket& s);
  void close_stream(sim_socket& s);
  static bool unblock(sim_socket& s) noexcept;
  void send_fin(sim_socket& to);
  void tell(sim_socket& to, bool receive_ended, bool send_ended, int error);
  int shutdown_early(sim_socket& s, bool reading);
  static void end(sim_socket& s, int error) noexcept;

  sim_world& world_;
  sim_random delay_;
  sim_random split_;
  sim_random order_;
  sim_random port_;
  std::deque<sim_socket> sockets_;
  std::vector<sim_socket*> free_;
  std::vector<event> events_;  // a heap
  std::uint64_t scheduled_ = 0;
};

}  // namespace beck
