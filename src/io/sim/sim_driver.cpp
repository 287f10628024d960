// SPDX-License-Identifier: BSL-1.0
// Polls of the driver in virtual time.
#include "io/sim/sim_driver.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include <beck/base/assert.hpp>

#include "base/test_build.hpp"
#include "io/loop/io_loop.hpp"
#include "io/op/transitions.hpp"

namespace beck::detail {
sim_driver::sim_driver(io_loop& loop, sim_system& sys)
    : readiness_driver(loop.engine(), loop.core()), loop_(loop), sys_(sys), jobs_(loop, sys) {
  if (core_.is_shared) {
    runners_ = std::make_unique<sim_runners>(*this, sys_.world(), loop_.threads_max());
    sys_.run_by(runners_.get());
  }
  sys_.world().scheduler().add(*this);
}

sim_driver::~sim_driver() {
  sys_.run_by(nullptr);
  sys_.world().scheduler().remove(*this);
}

bool sim_driver::detach(descriptor& d) noexcept {
  if (sim_socket* s = sys_.find(d.fd); s != nullptr && is_watched(d)) sim_network::unwatch(*s);
  advance(d, watch_event::end);
  return d.in_kernel == 0;
}

bool sim_driver::watch(descriptor& d, io_op& op) noexcept {
  if (is_watched(d)) return true;
  sim_socket* s = sys_.find(d.fd);
  if (s == nullptr) {
    host_.finish(op, -EBADF);
    return false;
  }
  sys_.world().network().watch(*s, ready_, token_of(d));
  advance(d, watch_event::watch);
  return true;
}

bool sim_driver::poll(poll_mode mode, std::int64_t deadline) noexcept {
  begin_poll(mode);
  ++core_.counters.kernel_entries;

  if (mode != poll_mode::wait || !core_.queue.empty()) {
    pass_time(mode == poll_mode::drain ? 0 : poll_ns);
    collect();
    if (mode == poll_mode::drain && core_.queue.empty()) pass_time(poll_ns);
  } else if (has_due()) {
    pass_time(0);
    collect();
    if (core_.queue.empty()) attempt_due();
  } else {
    wait(deadline);
    collect();
  }
  return true;
}

void sim_driver::enter_kernel() noexcept {
  if (runners_ == nullptr) return;
  host_.pause_lock();
  runners_->meet();
  host_.resume_lock();
}

void sim_driver::pass_time(std::int64_t ns) noexcept {
  enter_kernel();
  sim_world& world = sys_.world();
  world.clock().advance_to(world.clock().now() + ns);
  world.network().deliver_due();
}

void sim_driver::wait(std::int64_t deadline) noexcept {
  sim_world& world = sys_.world();
  if (!core_.mail.empty()) return;
  if (runners_ != nullptr) {
    host_.pause_lock();
    runners_->meet();
    runners_->wait_in_kernel(deadline);  // or until a job has ended
    host_.resume_lock();
    return world.note(sys_.host(), sim_note::time, 0, 0);
  }
  const std::int64_t limit = std::min(deadline, jobs_.next_end());
  while (ready_.entries.empty()) {
    if (world.advance(limit)) continue;
    if (limit == INT64_MAX) stuck();
    break;
  }
  world.note(sys_.host(), sim_note::time, 0, 0);
}

/// Ends the operation that waits in the slot of `token`, as a driver would that ignores the
/// generation of a token. Only for planted bugs.
void sim_driver::end_whatever_waits(std::uint64_t token) noexcept {
  direction& q = core_.descriptors.at(static_cast<std::uint32_t>(token)).queue[direction_in];
  if (q.current != nullptr && q.current->state == op_state::parked) host_.finish(*q.current, 0);
}

void sim_driver::collect() noexcept {
  jobs_.end_due();
  sim_random& order = sys_.world().network().order();
  std::swap(taken_.entries, ready_.entries);
  for (std::size_t left = taken_.entries.size(); left != 0; --left) {
    const std::size_t at = left > 1 ? static_cast<std::size_t>(order.below(left)) : 0;
    const sim_ready_list::entry news = taken_.entries[at];
    taken_.entries[at] = taken_.entries[left - 1];
    sim_socket& s = *news.socket;
    // The socket was closed meanwhile.
    if (s.generation != news.generation || s.watcher != &ready_) {
      if (planted(planted_bug::stale_event)) end_whatever_waits(s.token);
      continue;
    }
    s.listed = false;
    unsigned events = sim_network::levels(s);
    if (sys_.world().faults().strikes(sim_fault::spurious_event, &sys_.host())) {
      events |= poll_in | poll_out;
    }
    ++core_.counters.completions;
    descriptor& d = core_.descriptors.at(static_cast<std::uint32_t>(s.token));
    const descriptor_lock held(core_, d);
    if (token_of(d) != s.token) continue;  // S7: the slot has a new owner
    sys_.world().note(sys_.host(), sim_note::event, s.fd, events);
    note(d, events);
  }
  taken_.entries.clear();
}

// --- all contexts of a world --------------------------------------------------------------------

bool sim_driver::is_ready() const noexcept {
  if (loop_.stopped()) return false;
  if (runners_ != nullptr && (runners_->are_inside() || runners_->is_ready()))
    return runners_->is_ready();
  return !core_.queue.empty() || !core_.mail.empty() || !ready_.entries.empty() || has_listed() ||
         next_deadline() <= sys_.world().clock().now();
}

bool sim_driver::has_news() const noexcept {
  return !ready_.entries.empty() || core_.mail.has_mail() ||
         jobs_.next_end() <= sys_.world().clock().now();
}

bool sim_driver::is_busy() const noexcept {
  return runners_ != nullptr && !loop_.stopped() && runners_->is_busy();
}

bool sim_driver::performs_jobs() const noexcept {
  return !loop_.stopped() && jobs_.next_end() != INT64_MAX;
}

bool sim_driver::has_work() const noexcept { return loop_.has_work() || is_busy(); }

std::int64_t sim_driver::next_deadline() const noexcept {
  return runners_ != nullptr && runners_->are_inside()
             ? runners_->next_deadline()
             : std::min(loop_.next_deadline(), jobs_.next_end());
}

std::size_t sim_driver::end_steps() {
  if (runners_ == nullptr) return 0;
  runners_->recall();
  return runners_->take_count();
}

void sim_driver::describe_waiting(std::string& text) const {
  const std::size_t before = text.size();
  for (const sim_socket* s : sys_.host().descriptors()) {
    if (s == nullptr || s->watcher != &ready_) continue;
    const descriptor& d = core_.descriptors.at(static_cast<std::uint32_t>(s->token));
    for (const direction& q : d.queue) {
      if (q.current == nullptr) continue;
      text += text.size() == before ? "; on host " + sys_.host().name() + ": " : ", ";
      text += name_of(q.current->kind);
      text += " on descriptor " + std::to_string(d.fd);
    }
  }
  if (text.size() != before) return;
  text += "; on host " + sys_.host().name() + ": only a work guard keeps run() from returning";
}

void sim_driver::stuck() const noexcept {
  std::string text = "simulation: every task waits and nothing can happen";
  describe_waiting(text);
  if (sys_.world().scheduler().has_ready()) {
    text += "; other contexts of this world could go on: testing::sim::world::run() runs them all";
  }
  assertion_failed(__FILE__, __LINE__, "an event, a deadline or mail", text.c_str());
}

void open_simulation(io_loop& loop, sim_host* host, std::uint64_t seed,
                     std::unique_ptr<system>& sys, std::unique_ptr<driver>& drv) {
  std::unique_ptr<sim_system> made;
  if (host != nullptr) {
    made = std::make_unique<sim_system>(*host);
  } else {
    made = std::make_unique<sim_system>(std::make_unique<sim_world>(seed, sim_profile()));
  }
  drv = std::make_unique<sim_driver>(loop, *made);
  sys = std::move(made);
}

}  // namespace beck::detail
