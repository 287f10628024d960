// SPDX-License-Identifier: BSL-1.0
// Hosts and their tables. Time moves only in advance() and when a driver polls.
#include "io/sim/sim_world.hpp"

#include <cerrno>
#include <utility>

#include <beck/base/assert.hpp>
#include <beck/base/duration.hpp>

#include "io/system/requests.hpp"

namespace beck::detail {

// --- a host ------------------------------------------------------------------------------------

sim_host::sim_host(sim_world& world, std::string_view name, std::uint32_t number)
    : world_(world),
      name_(name),
      number_(number),
      v4_(mapped_v4(10, static_cast<std::uint8_t>(number >> 16),
                    static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number))),
      v6_{0xfd} {
  for (unsigned i = 0; i < 4; ++i) v6_[15 - i] = static_cast<std::uint8_t>(number >> (8 * i));
}

int sim_host::install(sim_socket& socket) {
  while (lowest_free_ < descriptors_.size() && descriptors_[lowest_free_] != nullptr)
    ++lowest_free_;
  if (lowest_free_ == descriptors_max) return -EMFILE;
  if (lowest_free_ == descriptors_.size()) descriptors_.push_back(nullptr);
  descriptors_[lowest_free_] = &socket;
  socket.fd = fd_first + static_cast<int>(lowest_free_);
  return socket.fd;
}

void sim_host::remove(sim_socket& socket) noexcept {
  const auto at = static_cast<std::size_t>(socket.fd - fd_first);
  descriptors_[at] = nullptr;
  if (at < lowest_free_) lowest_free_ = at;
  socket.fd = -1;
}

sim_socket* sim_host::find(int fd) const noexcept {
  const auto at = static_cast<std::size_t>(fd - fd_first);
  return fd >= fd_first && at < descriptors_.size() ? descriptors_[at] : nullptr;
}

std::int64_t sim_host::date() const noexcept {
  const auto date = (duration(world_.clock().now()) + duration(date_offset_ns_)).nanoseconds();
  return date < sim_clock::last_ns ? date : sim_clock::last_ns;
}

void sim_host::set_date(std::int64_t ns) noexcept {
  date_offset_ns_ = (duration(ns) - duration(world_.clock().now())).nanoseconds();
}

bool sim_host::raise_signal(int number, int value) {
  bool taken = false;
  for (const signal_watcher& watcher : signal_watchers) {
    if (watcher.number != number) continue;
    constexpr int by_sigqueue = -1;
    watcher.sink->signalled(signal_info{number, by_sigqueue, value, 0});
    taken = true;
  }
  world_.note(*this, sim_note::signal, number, value);
  return taken;
}

void sim_host::crash() {
  if (!up_) return;
  up_ = false;
  signal_watchers.clear();
  world_.scheduler().stop(*this);
  world_.network().vanish(*this);
  files_.crash(world_.faults().random());
  lowest_free_ = 0;
}

void sim_host::restart() {
  BECK_ASSERT(!up_, "a simulated host was restarted that had not crashed");
  up_ = true;
  ++boot_;
  world_.network().release_parked();
}

// --- the world ---------------------------------------------------------------------------------

sim_world::sim_world(std::uint64_t seed, const sim_profile& profile)
    : sim_world(sim_draws(seed, false), profile) {}

sim_world::sim_world(sim_draws draws, const sim_profile& profile)
    : draws_(std::move(draws)),
      profile_(profile),
      clock_(profile.start_ns),
      faults_(*this, draws_, profile.faults),
      network_(*this, draws_),
      scheduler_(*this, draws_),
      keys_(draws_.seed(), sim_draws::streams_max) {}  // a stream that no subsystem has

sim_world::~sim_world() {
  BECK_ASSERT(contexts == 0, "a simulated world was destroyed before a context inside it");
}

sim_host& sim_world::host(std::string_view name) {
  for (sim_host& h : hosts_) {
    if (h.name() == name) return h;
  }
  return hosts_.emplace_back(*this, name, static_cast<std::uint32_t>(hosts_.size() + 1));
}

sim_host* sim_world::host_at(const sim_address& address, sim_host& from) noexcept {
  if (from.owns(address)) return &from;
  for (sim_host& h : hosts_) {
    if (address == h.address_v4() || address == h.address_v6()) return &h;
  }
  return nullptr;
}

/// Moves the clock forward by a drawn time, up to jump_ns_max, for the fault clock_jump.
void sim_world::jump() {
  const auto ns = static_cast<std::int64_t>(faults_.random().below(jump_ns_max));
  clock_.advance_to(sim_clock::later(clock_.now(), ns));
}

bool sim_world::advance(std::int64_t limit) {
  const std::int64_t next = network_.next_event_ns();
  if (next > limit || next == INT64_MAX) {
    if (limit != INT64_MAX) clock_.advance_to(limit);
    return false;
  }
  clock_.advance_to(next);
  if (faults_.strikes(sim_fault::clock_jump, nullptr)) jump();
  network_.deliver_due();
  return true;
}

}  // namespace beck::detail
