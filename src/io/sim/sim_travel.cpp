// SPDX-License-Identifier: BSL-1.0
// Messages in flight: how long they travel, over which path, and what happens where they cannot
// pass. A clogged path holds messages back. A cut path, or a host without power, loses them, and
// TCP sends lost segments again until it gives up. In each case the messages of a connection stay
// in order.
#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/socket.h>

#include "io/sim/sim_network.hpp"
#include "io/sim/sim_world.hpp"

namespace beck::detail {
namespace {

/// Returns the first time, not before `now`, at which TCP sends a segment again that was lost at
/// `lost_at`. The waits double, beginning with `first_wait`.
std::int64_t next_try(std::int64_t lost_at, std::int64_t first_wait, std::int64_t now) noexcept {
  std::int64_t wait = first_wait;
  std::int64_t at = sim_clock::later(lost_at, wait);
  while (at < now) {
    wait = std::min(wait * 2, sim_network::retry_ns_max);
    if (now - at > wait * 64) at += (now - at) / wait * wait;  // skips hours in one step
    at = sim_clock::later(at, wait);
  }
  return at;
}

}  // namespace

// --- sending -----------------------------------------------------------------------------------

std::int64_t sim_network::drawn_delay() noexcept {
  return delay_.between(world_.profile().delay_ns_min, world_.profile().delay_ns_max);
}

std::int64_t sim_network::drawn_delay(const sim_path& path) noexcept {
  return delay_.between(path.delay_ns_min, path.delay_ns_max);
}

/// Returns the hosts and the path of a message. Without disturbances, and between UNIX sockets,
/// only the ordinary path exists.
sim_network::route sim_network::route_of(event_kind kind, const sim_socket& s) noexcept {
  route way{nullptr, s.host, nullptr};
  if (!disturbed_ || s.family == AF_UNIX || is_timer(kind)) return way;
  if (kind == event_kind::syn || kind == event_kind::syn_answer) {
    way.from = world_.host_at(s.remote.address, *s.host);
    if (kind == event_kind::syn) std::swap(way.from, way.to);
  } else if (s.peer != nullptr) {
    way.from = s.peer->host;
  }
  if (way.from != nullptr) way.path = links_.find(way.from->number(), way.to->number());
  return way;
}

bool sim_network::loses(const route& way, const sim_socket& s) noexcept {
  if (way.from == nullptr) return false;
  return s.silent || !way.to->is_up() || (way.path != nullptr && way.path->cut);
}

bool sim_network::passes(const route& way, const sim_socket& s) noexcept {
  return !loses(way, s) && (way.path == nullptr || !way.path->clogged);
}

void sim_network::transmit(event_kind kind, sim_socket& s, std::uint64_t value,
                           std::uint64_t bytes) {
  const bool of_the_stream = kind == event_kind::arrival || kind == event_kind::fin;
  if (of_the_stream && s.peer != nullptr && s.peer->forgotten) return;
  const route way = route_of(kind, s);
  const std::int64_t now = world_.clock().now();
  const event e{now, 0, value, &s, s.generation, kind};
  if (passes(way, s)) {
    launch(way, e, bytes, sim_clock::later(now, misfortune(kind, s)));
  } else {
    park(e, way, bytes);
  }
}

/// Returns the extra delay of a packet by faults: loss, reordering, a stalled peer.
std::int64_t sim_network::misfortune(event_kind kind, const sim_socket& s) noexcept {
  if (s.family == AF_UNIX) return 0;
  sim_host* const sender = kind == event_kind::syn || s.peer == nullptr ? s.host : s.peer->host;
  sim_faults& faults = world_.faults();
  std::int64_t ns = 0;
  if (faults.strikes(sim_fault::loss, sender)) {
    const std::int64_t first = kind == event_kind::syn ? syn_retry_ns : retry_ns_min;
    ns += first * ((std::int64_t{2} << faults.random().below(losses_max)) - 1);
  }
  if (faults.strikes(sim_fault::reordering, sender)) {
    const std::int64_t most = world_.profile().delay_ns_max;
    ns += faults.random().between(
        0, most > INT64_MAX / reordering_delays_max ? most : most * reordering_delays_max);
  }
  if (kind == event_kind::window && faults.strikes(sim_fault::stall, sender)) {
    ns += faults.random().between(0, stall_ns_max);
  }
  return ns;
}

/// Schedules the arrival of a message that may pass. SYNs and window updates may overtake others.
void sim_network::launch(const route& way, const event& e, std::uint64_t bytes, std::int64_t time) {
  sim_socket& s = *e.socket;
  if (way.path == nullptr) {
    time = sim_clock::later(time, drawn_delay());
  } else {
    time = sim_links::departure(*way.path, time, bytes);
    time = sim_clock::later(time, drawn_delay(*way.path));
  }
  if (e.kind != event_kind::syn && e.kind != event_kind::window) {
    time = std::max(time, sim_clock::later(s.last_arrival_ns, 1));
    s.last_arrival_ns = time;
  }
  schedule(e.kind, s, e.value, time);
}

// --- where nothing passes ----------------------------------------------------------------------

/// Holds a message back that cannot pass now.
void sim_network::park(const event& e, const route& way, std::uint64_t bytes) {
  const bool lost = loses(way, *e.socket);
  if (lost) lose(e);
  if (lost && e.kind == event_kind::reset) return;  // TCP does not send a reset again
  parked_.push_back({e, bytes, lost});
  parked_.back().what.time = world_.clock().now();
}

/// Notes the loss of a message: starts the timer that ends the connect or the connection.
void sim_network::lose(const event& e) {
  sim_socket& s = *e.socket;
  switch (e.kind) {
    case event_kind::syn:
    case event_kind::syn_answer:
      return limit_connect(s);
    case event_kind::arrival:
    case event_kind::fin: {
      if (s.lost_since_ns != 0 || s.peer->gone) return;
      s.lost_since_ns = world_.clock().now();
      return schedule(event_kind::send_timeout, *s.peer,
                      static_cast<std::uint64_t>(s.lost_since_ns),
                      sim_clock::later(s.lost_since_ns, send_timeout_ns));
    }
    case event_kind::reset:  // the next message of this socket is answered by a reset
      s.peer->reset_answered = false;
      s.peer->forgotten = true;
      return;
    case event_kind::window:
    case event_kind::news:
    case event_kind::datagram:
    case event_kind::unreachable:
    case event_kind::syn_again:
    case event_kind::connect_timeout:
    case event_kind::send_timeout:
      return;
  }
}

/// Ends a connection whose segments have been lost too long, as tcp_write_timeout() does: the peer
/// is not notified.
void sim_network::send_timeout(sim_socket& sender, std::uint64_t lost_since) {
  sim_socket* to = sender.peer;
  if (sender.gone || sender.phase != sim_phase::connected || to == nullptr) return;
  if (static_cast<std::uint64_t>(to->lost_since_ns) != lost_since) return;
  std::erase_if(parked_, [to](const parked& p) { return p.what.socket == to; });
  end(sender, ETIMEDOUT);
  sender.forgotten = true;
  wake(sender);
}

void sim_network::intercept() {
  disturbed_ = true;
  std::vector<event> stopped;
  const auto stays = [this](const event& e) {
    return e.generation != e.socket->generation || passes(route_of(e.kind, *e.socket), *e.socket);
  };
  const auto first_stopped = std::partition(events_.begin(), events_.end(), stays);
  stopped.assign(first_stopped, events_.end());
  events_.erase(first_stopped, events_.end());
  std::make_heap(events_.begin(), events_.end());
  std::sort(stopped.begin(), stopped.end(), [](const event& a, const event& b) { return b < a; });
  travelling_ -= stopped.size();
  for (const event& e : stopped) park(e, route_of(e.kind, *e.socket), 0);
  for (parked& p : parked_) {  // messages that only waited until now
    if (p.lost || p.what.generation != p.what.socket->generation) continue;
    if (!loses(route_of(p.what.kind, *p.what.socket), *p.what.socket)) continue;
    p.lost = true;
    lose(p.what);
  }
}

void sim_network::release_parked() {
  release_held();
  std::vector<parked> all;
  all.swap(parked_);
  const std::int64_t now = world_.clock().now();
  for (const parked& p : all) {
    sim_socket& s = *p.what.socket;
    if (p.what.generation != s.generation) continue;
    const route way = route_of(p.what.kind, s);
    if (!passes(way, s)) {
      parked_.push_back(p);
      continue;
    }
    const bool first = p.what.kind == event_kind::syn || p.what.kind == event_kind::syn_answer;
    const std::int64_t wait = first ? syn_retry_ns : retry_ns_min;
    s.lost_since_ns = 0;
    launch(way, p.what, p.bytes, p.lost ? next_try(p.what.time, wait, now) : now);
  }
}

/// Writes a message that arrives to the trace.
void sim_network::trace(const event& e) {
  const char* what = nullptr;
  std::uint64_t value = 0;
  switch (e.kind) {
    case event_kind::syn:
      what = "syn";
      break;
    case event_kind::syn_answer:
      what = static_cast<std::uint32_t>(e.value) == 0 ? "syn ack" : "refusal";
      break;
    case event_kind::arrival:
      what = "bytes up to";
      value = e.value;
      break;
    case event_kind::fin:
      what = "fin";
      break;
    case event_kind::reset:
      what = "reset";
      break;
    case event_kind::window:
      what = "window";
      break;
    case event_kind::datagram: {
      const sim_datagram& d = flying_[e.value];
      return world_.trace().message(world_.clock().now(), d.source->name().c_str(),
                                    d.target->name().c_str(), "datagram of", -1, d.bytes.size());
    }
    case event_kind::unreachable:
      what = "port unreachable";
      value = e.value;
      break;
    case event_kind::news:
    case event_kind::syn_again:
    case event_kind::connect_timeout:
    case event_kind::send_timeout:
      return;
  }
  const sim_socket& s = *e.socket;
  sim_host* const remote = world_.host_at(s.remote.address, *s.host);
  const sim_host& other = remote != nullptr && s.family != AF_UNIX ? *remote : *s.host;
  const bool away = e.kind == event_kind::syn;
  world_.trace().message(world_.clock().now(), (away ? *s.host : other).name().c_str(),
                         (away ? other : *s.host).name().c_str(), what, away ? -1 : s.fd, value);
}

// --- paths and hosts ---------------------------------------------------------------------------

sim_path& sim_network::path(const sim_host& from, const sim_host& to) {
  disturbed_ = true;
  const sim_profile& profile = world_.profile();
  return links_.path(from.number(), to.number(), {profile.delay_ns_min, profile.delay_ns_max});
}

void sim_network::heal() {
  links_.heal();
  release_parked();
}

void sim_network::vanish(sim_host& host) {
  for (sim_socket& s : sockets_) {
    if (s.host != &host || s.gone) continue;
    if (s.fd >= 0) host.remove(s);
    unwatch(s);
    leave_names(s);
    s.backlog.clear();  // accepted connections are sockets of the same table
    s.gone = s.forgotten = true;
    s.reset_answered = false;
  }
  for (sim_socket& s : sockets_) {
    if (s.host == &host && s.gone) release(s);
  }
  host.paths.clear();  // as /run, which is empty after a start
  intercept();
}

}  // namespace beck::detail
