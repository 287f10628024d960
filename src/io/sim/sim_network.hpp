// SPDX-License-Identifier: BSL-1.0
// The simulated network: TCP, UDP and UNIX sockets in memory. It behaves like Linux (comments name
// the rule where it is not obvious), except that each message travels for a drawn time and in drawn
// pieces, in order within a connection. Between UNIX sockets only notifications travel: the other
// end can see the effect of a call at once, as programs on Linux may rely on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "io/sim/sim_faults.hpp"
#include "io/sim/sim_random.hpp"
#include "io/sim/sim_socket.hpp"

namespace beck::detail {

class sim_world;
struct message_header;

/// Returns whether a message to `address` reaches a socket with the local name of `s`.
bool covers(const sim_socket& s, const sim_address& address) noexcept;

/// A path from one host to another. Plain data.
struct sim_path {
  std::int64_t delay_ns_min;
  std::int64_t delay_ns_max;
  std::uint64_t bytes_per_second = 0;  ///< 0: no limit
  std::int64_t busy_until_ns = 0;      ///< when the last byte that was sent has left
  bool cut = false;                    ///< messages are lost
  bool clogged = false;                ///< messages wait
};

/// The paths between the hosts of a world that have settings of their own: one for each direction,
/// made at the first request. Messages on other paths travel as the profile of the world says.
class sim_links {
 public:
  /// Returns the path between two hosts, by their numbers; nullptr if it has no settings of its
  /// own.
  sim_path* find(std::uint32_t from, std::uint32_t to) const noexcept;
  /// Returns the path between two hosts; makes it as a copy of `ordinary` at the first call.
  sim_path& path(std::uint32_t from, std::uint32_t to, const sim_path& ordinary);

  void heal() noexcept {
    for (sim_path& path : paths_) path.cut = false;
  }

  /// Returns when the last of `bytes` bytes that are sent at `now` has left, and reserves the path
  /// until then.
  static std::int64_t departure(sim_path& path, std::int64_t now, std::uint64_t bytes) noexcept;

 private:
  std::deque<sim_path> paths_;
  std::vector<std::vector<sim_path*>> rows_;  // by sender, then by receiver
};

/// All sockets of a world and the messages between them. Thread: one. Results as in system.hpp: a
/// value or -errno; no call waits.
class sim_network {
 public:
  /// TCP: a SYN to a listener whose backlog is full is repeated at most this often, each time after
  /// twice the wait (net.ipv4.tcp_syn_retries); 127 s after the first one the connect times out.
  static constexpr unsigned syn_retries_max = 6;
  static constexpr std::int64_t syn_retry_ns = 1'000'000'000;
  static constexpr std::int64_t connect_timeout_ns = 127'000'000'000;
  /// A lost segment is sent again, each time after twice the wait (TCP_RTO_MIN and TCP_RTO_MAX),
  /// until the connection times out (net.ipv4.tcp_retries2 = 15).
  static constexpr std::int64_t retry_ns_min = 200'000'000;
  static constexpr std::int64_t retry_ns_max = 120'000'000'000;
  static constexpr std::int64_t send_timeout_ns = 924'600'000'000;
  static constexpr std::size_t backlog_limit = 4096;  // net.core.somaxconn
  /// Most pieces in which one send arrives.
  static constexpr unsigned pieces_max = 16;
  /// Number of random bits that order events at the same time.
  static constexpr unsigned order_bits = 16;

  static constexpr std::uint64_t tiny_bytes_max = 16;
  /// The most losses of one packet, each of which doubles the wait for the next repetition.
  static constexpr std::uint64_t losses_max = 3;
  /// The most delays of the profile by which reordering makes a packet late.
  static constexpr std::int64_t reordering_delays_max = 10;
  /// The longest stall of a peer.
  static constexpr std::int64_t stall_ns_max = 30'000'000'000;

  sim_network(sim_world& world, sim_draws& draws) noexcept;
  sim_network(const sim_network&) = delete;
  sim_network& operator=(const sim_network&) = delete;

  // --- calls (sim_network.cpp, sim_connect.cpp, sim_stream.cpp) --------------------------------
  int open(sim_host& host, int family, int type, int protocol);
  int open_pair(sim_host& host, int family, int type, int protocol, int (&pair)[2]);
  int open_pipe(sim_host& host, int (&ends)[2]);
  void close(sim_socket& s);

  int bind(sim_socket& s, const void* address, std::size_t bytes);
  int listen(sim_socket& s, int backlog);
  int connect(sim_socket& s, const void* address, std::size_t bytes);
  int accept(sim_socket& listener, void* address, std::size_t& bytes);
  int local_name(const sim_socket& s, void* address, std::size_t& bytes) const noexcept;
  int remote_name(const sim_socket& s, void* address, std::size_t& bytes) const noexcept;
  int set_option(sim_socket& s, int level, int name, const void* value, std::size_t bytes);
  int get_option(sim_socket& s, int level, int name, void* value, std::size_t& bytes) noexcept;

  /// Transfers in three steps: room() and waiting() return how many bytes may be sent or received
  /// now, or -errno; put() and take() move them in parts; put_done() and take_done() end the
  /// transfer.
  std::ptrdiff_t room(sim_socket& s, std::size_t bytes) noexcept;
  void put(sim_socket& s, const char* data, std::size_t bytes);
  void put_done(sim_socket& s, std::uint64_t first_byte, std::size_t asked);
  std::ptrdiff_t waiting(sim_socket& s, std::size_t bytes) noexcept;
  void take(sim_socket& s, char* data, std::size_t bytes) noexcept { s.in.receive(data, bytes); }
  void take_done(sim_socket& s, std::size_t asked, std::size_t taken);
  /// Returns whether the last read stopped at a boundary, and not because no byte was left.
  static bool stands_at_boundary(const sim_socket& s) noexcept;
  int shutdown(sim_socket& s, int how);

  /// Datagrams (sim_datagrams.cpp).
  std::ptrdiff_t send_datagram(sim_socket& s, const message_header& message);
  std::ptrdiff_t receive_datagram(sim_socket& s, message_header& message, int flags);

  /// Returns the pending error, 0 or positive, and clears it.
  static int take_error(sim_socket& s) noexcept;
  /// Returns all events that poll(2) would report.
  static unsigned levels(const sim_socket& s) noexcept;

  // --- time ------------------------------------------------------------------------------------
  /// Returns the time of the next event; INT64_MAX if there is none.
  std::int64_t next_event_ns() const noexcept;
  /// Returns the number of messages in flight. Timers of TCP and messages that a link holds back do
  /// not count.
  std::size_t travelling() const noexcept { return travelling_; }
  /// Delivers all events whose time has come; events of the same time in drawn order.
  void deliver_due();

  // --- links (sim_travel.cpp) ------------------------------------------------------------------
  /// Returns the path of messages from `from` to `to`.
  sim_path& path(const sim_host& from, const sim_host& to);
  /// Holds back the messages in flight that a path or a host does not let through any more. Called
  /// after a change of paths or hosts.
  void intercept();
  /// Sends the messages again that were held back, where paths and hosts let them through now.
  void release_parked();
  /// Restores all cut paths and sends the messages that were held back.
  void heal();
  /// Breaks a TCP connection now. Requires that `how` is reset, end or silence. Returns false if
  /// `s` has no connection.
  bool sever(sim_socket& s, sim_fault how);
  /// Drops all sockets of `host`, which has lost its power, without a message to their peers.
  void vanish(sim_host& host);

  // --- readiness -------------------------------------------------------------------------------
  /// Lists `s` in `list` now if any event holds, and from now on at every change.
  void watch(sim_socket& s, sim_ready_list& list, std::uint64_t token);
  static void unwatch(sim_socket& s) noexcept { s.watcher = nullptr; }
  sim_random& order() noexcept { return order_; }

 private:
  enum class event_kind : std::uint8_t {
    // Messages. In the value of the first two, the upper half is the number of the connect:
    syn,         ///< a SYN of `socket` arrives; lower half: the number of its repetitions
    syn_answer,  ///< lower half: the errno, or 0
    arrival,     ///< the bytes up to position `value`
    fin,
    reset,
    window,       ///< the peer has read, so there may be room
    news,         ///< a notification; the state has changed already
    datagram,     ///< `value`: its number in flying_; it belongs to no socket yet
    unreachable,  ///< no socket had the port `value`
    // TCP's timers:
    syn_again,        ///< `value`: as in syn
    connect_timeout,  ///< `value`: as in syn
    send_timeout,     ///< `value`: the time since which segments have been lost
  };
  struct event {
    std::int64_t time;
    /// Order of events at the same time: a drawn number, then the order of scheduling.
    std::uint64_t tie;
    std::uint64_t value;
    sim_socket* socket;
    std::uint32_t generation;
    event_kind kind;

    bool operator<(const event& other) const noexcept {  // std::push_heap puts the greatest first
      return time != other.time ? time > other.time : tie > other.tie;
    }
  };

  /// A message that a path or a host does not let through.
  struct parked {
    event what;  ///< its time is when it was held back
    std::uint64_t bytes;
    bool lost;  ///< it was lost and will be sent again; if false, it only waits
  };
  struct route {
    sim_host* from;
    sim_host* to;
    sim_path* path;  ///< nullptr: the ordinary path
  };

  bool strikes(sim_fault which, const sim_socket& s) noexcept;
  void shrink_buffers(sim_socket& s);
  int abort_first(sim_socket& listener);
  void send_pieces(sim_socket& to, std::uint64_t begin, std::uint64_t end);

  sim_socket& make(sim_host& host, int family, int type);
  void recycle(sim_socket& s) noexcept;
  /// Frees a closed socket, once its peer is closed too; frees both then.
  void release(sim_socket& s) noexcept;
  static void join(sim_socket& a, sim_socket& b) noexcept;

  void schedule(event_kind kind, sim_socket& s, std::uint64_t value, std::int64_t time);
  void happen(const event& e);
  static bool is_timer(event_kind kind) noexcept { return kind >= event_kind::syn_again; }

  // Messages in flight (sim_travel.cpp).
  /// Sends a message to `s`, or the SYN of `s`. `bytes`: the number of data bytes that it carries.
  void transmit(event_kind kind, sim_socket& s, std::uint64_t value = 0, std::uint64_t bytes = 0);
  void launch(const route& way, const event& e, std::uint64_t bytes, std::int64_t time);
  void park(const event& e, const route& way, std::uint64_t bytes);
  void lose(const event& e);
  route route_of(event_kind kind, const sim_socket& s) noexcept;
  static bool loses(const route& way, const sim_socket& s) noexcept;
  static bool passes(const route& way, const sim_socket& s) noexcept;
  std::int64_t misfortune(event_kind kind, const sim_socket& s) noexcept;
  void trace(const event& e);
  std::int64_t drawn_delay() noexcept;
  std::int64_t drawn_delay(const sim_path& path) noexcept;
  void send_timeout(sim_socket& sender, std::uint64_t lost_since);
  static void wake(sim_socket& s);

  // Datagrams (sim_datagrams.cpp).
  std::ptrdiff_t send_unix(sim_socket& s, const message_header& message);
  int find_unix(const sim_socket& s, const sim_name& name, sim_socket*& to) const;
  sim_address source_for(const sim_socket& s, const sim_address& to) const noexcept;
  int choose_way(const sim_socket& s, sim_name& to) noexcept;
  void launch_datagram(sim_socket& s, sim_datagram d);
  void fly(sim_datagram d, std::int64_t time);
  void land(std::uint64_t number);
  void land_in_group(const sim_datagram& d);
  sim_socket* find_receiver(const sim_datagram& d) const noexcept;
  void queue_datagram(sim_socket& s, sim_datagram d);
  static void unreachable(sim_socket& s, std::uint64_t port);
  void release_held();
  void drop_first(sim_socket& s);
  void tell_room(sim_socket& s);
  int connect_datagram(sim_socket& s, const sim_name& name);
  static int shutdown_datagram(sim_socket& s, int how);
  static int change_group(sim_socket& s, int level, int name, const void* value, std::size_t bytes);
  static unsigned datagram_levels(const sim_socket& s) noexcept;

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
  static std::uint64_t syn_value(const sim_socket& client, unsigned number) noexcept;
  static bool is_current(const sim_socket& client, std::uint64_t value) noexcept;
  void syn(sim_socket& client, std::uint64_t value);
  void syn_answer(sim_socket& client, std::uint64_t value);
  void repeat_syn(sim_socket& client, unsigned attempt);
  void limit_connect(sim_socket& client);
  void connect_timeout(sim_socket& client, std::uint64_t value);
  void fail_connect(sim_socket& client, int error);
  void abort_backlog(sim_socket& listener);
  void abort_child(sim_socket& child);

  // Streams (sim_stream.cpp).
  void arrival(sim_socket& s, std::uint64_t position);
  void answer_reset(sim_socket& s);
  void fin(sim_socket& s);
  void reset(sim_socket& s);
  void window(sim_socket& s);
  void close_stream(sim_socket& s);
  static bool unblock(sim_socket& s) noexcept;
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
  std::size_t travelling_ = 0;
  sim_links links_;
  std::vector<parked> parked_;        // in the order in which they were sent
  sim_socket nowhere_{0, 0, 0};       // stands for the socket in events of datagrams in flight
  std::vector<sim_datagram> flying_;  // by number
  std::vector<std::uint64_t> free_flights_;
  std::vector<sim_datagram> held_;  // datagrams that clogged links hold back
  bool disturbed_ = false;          // a path has its own settings, or a host has crashed
};

}  // namespace beck::detail
