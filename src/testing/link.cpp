// SPDX-License-Identifier: BSL-1.0
// Links: settings of the simulated network's paths.
#include <beck/testing/link.hpp>

#include <algorithm>

#include <beck/base/error.hpp>

#include "io/sim/sim_world.hpp"

namespace beck::testing::sim {
using namespace detail;
namespace {
constexpr std::uint64_t bandwidth_max = std::uint64_t{1} << 62;
}

template <class Action>
void link::each(Action action) {
  sim_network& network = from_->world().network();
  action(network.path(*from_, *to_));
  if (both_) action(network.path(*to_, *from_));
}

link& link::delay(duration least, duration most) {
  if (least < duration::zero() || most < least) {
    throw io_error(error::make_error_code(error::invalid_argument),
                   "beck::testing::sim::link: delays need 0 <= least <= most");
  }
  each([=](sim_path& path) {
    path.delay_ns_min = least.nanoseconds();
    path.delay_ns_max = most.nanoseconds();
  });
  return *this;
}

link& link::bandwidth(std::uint64_t bytes_per_second) noexcept {
  each([=](sim_path& path) { path.bytes_per_second = std::min(bytes_per_second, bandwidth_max); });
  return *this;
}

link& link::cut() {
  each([](sim_path& path) { path.cut = true; });
  from_->world().network().intercept();
  return *this;
}

link& link::heal() {
  each([](sim_path& path) { path.cut = false; });
  from_->world().network().release_parked();
  return *this;
}

link& link::clog() {
  each([](sim_path& path) { path.clogged = true; });
  from_->world().network().intercept();
  return *this;
}

link& link::unclog() {
  each([](sim_path& path) { path.clogged = false; });
  from_->world().network().release_parked();
  return *this;
}

}  // namespace beck::testing::sim
