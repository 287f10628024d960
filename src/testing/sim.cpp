// SPDX-License-Identifier: BSL-1.0
// The public classes of simulated worlds, over the simulator in io/sim: worlds, hosts, faults and
// the program's own draws.
#include <beck/testing/sim.hpp>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <beck/base/assert.hpp>
#include <beck/base/error.hpp>
#include <beck/testing/faults.hpp>
#include <beck/testing/random_source.hpp>

#include "io/loop/loop_access.hpp"
#include "io/sim/sim_faults.hpp"
#include "io/sim/sim_random.hpp"
#include "io/sim/sim_system.hpp"
#include "testing/world_access.hpp"

namespace beck {
using namespace detail;

namespace testing::sim {
namespace {

constexpr std::size_t buffer_bytes_max = std::size_t{1} << 30;

std::uint32_t checked_buffer(std::size_t bytes) {
  if (bytes < 1 || bytes > buffer_bytes_max) {
    throw io_error(error::make_error_code(error::invalid_argument),
                   "beck::testing::sim::settings: a buffer has 1 to 2^30 bytes");
  }
  return static_cast<std::uint32_t>(bytes);
}

}  // namespace

struct world::state {
  state(sim_draws draws, const settings& how)
      : simulated(std::move(draws), profile_of(how)),
        choices(simulated.draws(), sim_draws::program_stream),
        random(choices) {}
  static sim_profile profile_of(const settings& how);

  sim_world simulated;
  sim_random choices;
  random_source random;
  std::vector<std::unique_ptr<sim::host>> hosts;
};

sim_world& world_access::simulated(world& w) noexcept { return w.state_->simulated; }

io_context::options host::options(io_context::options how) const noexcept {
  how.backend = beck::backend::sim;
  how.host = simulated_;
  return how;
}

std::string_view host::name() const noexcept { return simulated_->name(); }
void host::crash() { simulated_->crash(); }
void host::restart() { simulated_->restart(); }
bool host::is_up() const noexcept { return simulated_->is_up(); }

void host::inject(fault which, unsigned times) noexcept {
  simulated_->world().faults().inject(static_cast<sim_fault>(which), *simulated_, times);
}

bool host::raise_signal(int number, int value) { return simulated_->raise_signal(number, value); }

system_time_point host::date() const noexcept {
  return system_time_point(duration(simulated_->date()));
}
void host::disk_capacity(std::size_t bytes) noexcept { simulated_->files().set_capacity(bytes); }

void host::set_date(system_time_point to) noexcept { simulated_->set_date(to.nanoseconds()); }

void host::break_connection(int native_handle, fault how) {
  if (how != fault::reset && how != fault::end && how != fault::silence) {
    throw io_error(error::make_error_code(error::invalid_argument),
                   "beck::testing::sim::host: a connection breaks by reset, end or silence");
  }
  sim_socket* const socket = simulated_->find(native_handle);
  sim_network& network = simulated_->world().network();
  if (socket != nullptr && network.sever(*socket, static_cast<sim_fault>(how))) return;
  throw io_error(error::make_error_code(error::not_connected),
                 "beck::testing::sim::host: no TCP connection has this descriptor");
}

world::world(std::uint64_t seed) : world(seed, settings()) {}

world::world(std::uint64_t seed, const settings& how)
    : state_(new state(sim_draws(seed, how.record_), how)) {}

world::world(const sim::tape& replayed) : world(replayed, settings()) {}

world::world(const sim::tape& replayed, const settings& how)
    : state_(new state(sim_draws(tape_access::draws_of(replayed)), how)) {}

sim_profile world::state::profile_of(const settings& how) {
  if (how.delay_least_ < duration::zero() || how.delay_most_ < how.delay_least_) {
    throw io_error(error::make_error_code(error::invalid_argument),
                   "beck::testing::sim::settings: delays need 0 <= least <= most");
  }
  sim_profile profile;
  profile.delay_ns_min = how.delay_least_.nanoseconds();
  profile.delay_ns_max = how.delay_most_.nanoseconds();
  profile.split = sim_probability(how.split_);
  profile.short_read = sim_probability(how.short_read_);
  profile.send_buffer_bytes = checked_buffer(how.send_bytes_);
  profile.receive_buffer_bytes = checked_buffer(how.receive_bytes_);
  if (how.start_ < time_point()) {
    throw io_error(error::make_error_code(error::invalid_argument),
                   "beck::testing::sim::settings: no clock begins before 0");
  }
  profile.start_ns = how.start_.nanoseconds();
  profile.faults.varied = how.faults_.varied();
  for (std::size_t i = 0; i < fault_kinds; ++i) {
    const double probability = how.faults_.probability(static_cast<fault>(i));
    profile.faults.probability[i] = sim_probability(probability);
  }
  return profile;
}

world::~world() { delete state_; }

sim::host& world::host(std::string_view name) {
  sim_host& wanted = state_->simulated.host(std::string_view(name.data(), name.size()));
  for (const std::unique_ptr<sim::host>& known : state_->hosts) {
    if (known->simulated_ == &wanted) return *known;
  }
  state_->hosts.push_back(std::unique_ptr<sim::host>(new sim::host(wanted)));
  return *state_->hosts.back();
}

std::size_t world::run() { return state_->simulated.scheduler().run(); }
std::size_t world::run_until_idle() { return state_->simulated.scheduler().run_until_idle(); }
std::size_t world::run_for(duration time) {
  return state_->simulated.scheduler().run_until((now() + time).nanoseconds());
}

void world::jump(duration time) noexcept {
  state_->simulated.clock().advance_to((now() + time).nanoseconds());
}

link world::link(sim::host& a, sim::host& b) noexcept {
  return sim::link(*a.simulated_, *b.simulated_, true);
}
link world::path(sim::host& from, sim::host& to) noexcept {
  return sim::link(*from.simulated_, *to.simulated_, false);
}

void world::separate(sim::host* const* side, std::size_t count) {
  sim_network& network = state_->simulated.network();
  const auto is_inside = [=](const sim_host& h) {
    return std::any_of(side, side + count,
                       [&h](const sim::host* inside) { return inside->simulated_ == &h; });
  };
  for (const sim_host& from : state_->simulated.hosts()) {
    for (const sim_host& to : state_->simulated.hosts()) {
      if (is_inside(from) != is_inside(to)) network.path(from, to).cut = true;
    }
  }
  network.intercept();
}

bool world::has(fault which) const noexcept {
  return state_->simulated.faults().is_on(static_cast<sim_fault>(which));
}

std::uint64_t world::count(fault which) const noexcept {
  return state_->simulated.faults().count(static_cast<sim_fault>(which));
}

void world::trace(void (*sink)(const char* line, void* data), void* data) noexcept {
  state_->simulated.trace().send_to(sink, data, state_->simulated.profile().start_ns);
}

void world::heal() { state_->simulated.network().heal(); }

std::uint64_t world::seed() const noexcept { return state_->simulated.seed(); }
std::uint64_t world::hash() const noexcept { return state_->simulated.digest().value(); }
void world::configure(const settings& how) { state_->simulated.configure(state::profile_of(how)); }

random_source& world::random() noexcept { return state_->random; }
time_point world::now() const noexcept {
  return time_point(duration(state_->simulated.clock().now()));
}

sim::tape world::tape() const {
  const sim_draws& draws = state_->simulated.draws();
  if (!draws.recorded()) {
    throw io_error(error::make_error_code(error::invalid_argument),
                   "beck::testing::sim::world::tape: settings().record() keeps the draws");
  }
  return tape_access::make(draws.tape());
}

std::uint64_t functions::sim_hash(io_context& context) noexcept {
  auto* simulated = dynamic_cast<sim_system*>(&loop_of(context.get_executor()).sys());
  return simulated == nullptr ? 0 : simulated->world().digest().value();
}

}  // namespace testing::sim

}  // namespace beck

// --- faults, with the default profile ------------------------------------------------------------
namespace beck::testing::sim {
using namespace detail;

static_assert(fault_kinds == sim_fault_kinds);
static_assert(static_cast<int>(fault::loss) == static_cast<int>(sim_fault::loss));
static_assert(static_cast<int>(fault::silence) == static_cast<int>(sim_fault::silence));
static_assert(static_cast<int>(fault::short_write) == static_cast<int>(sim_fault::short_write));
static_assert(static_cast<int>(fault::backlog_full) == static_cast<int>(sim_fault::backlog_full));
static_assert(static_cast<int>(fault::date_set) == static_cast<int>(sim_fault::date_set));
static_assert(static_cast<int>(fault::sync_failed) == static_cast<int>(sim_fault::sync_failed));
static_assert(static_cast<int>(fault::boundary) == static_cast<int>(sim_fault::boundary));
static_assert(static_cast<int>(fault::duplication) == static_cast<int>(sim_fault::duplication));
static_assert(static_cast<int>(fault::call_slow) == static_cast<int>(sim_fault::call_slow));

const char* to_string(fault which) noexcept { return to_text(static_cast<sim_fault>(which)); }

/// Sets the default profile. Faults that end a connection are rare enough for most conversations to
/// succeed, and common enough to occur within a few hundred seeds.
faults::faults() noexcept {
  set(fault::loss, 0.01).set(fault::reordering, 0.05).set(fault::stall, 0.02);
  set(fault::reset, 0.001).set(fault::end, 0.001);
  set(fault::tiny_buffers, 0.1).set(fault::short_read, 0.05).set(fault::short_write, 0.05);
  set(fault::connect_refused, 0.01).set(fault::connect_timed_out, 0.005);
  set(fault::backlog_full, 0.02).set(fault::accept_aborted, 0.02);
  set(fault::accept_exhausted, 0.02).set(fault::close_interrupted, 0.05);
  set(fault::spurious_event, 0.05).set(fault::clock_jump, 0.0005).set(fault::date_set, 0.05);
  set(fault::device_error, 0.002).set(fault::disk_full, 0.002).set(fault::sync_failed, 0.01);
  set(fault::duplication, 0.05);
  set(fault::lookup_failed, 0.02).set(fault::call_slow, 0.02).set(fault::boundary, 0.02);
}

faults faults::none() noexcept {
  faults result;
  for (double& probability : result.probability_) probability = 0;
  return result;
}

}  // namespace beck::testing::sim

namespace beck::testing::sim {
using namespace detail;

std::uint64_t random_source::below(std::uint64_t bound) noexcept {
  BECK_ASSERT(bound > 0, "no number is below 0");
  return draws_.below(bound);
}

std::int64_t random_source::between(std::int64_t low, std::int64_t high) noexcept {
  BECK_ASSERT(low <= high, "a range begins at its low end");
  return draws_.between(low, high);
}

bool random_source::chance(double p) noexcept { return draws_.chance(sim_probability(p)); }

}  // namespace beck::testing::sim
