// SPDX-License-Identifier: BSL-1.0
// Choices from the world, so that walks are recorded, replayed and shrunk with the rest.
#include "simulation/walk_program.hpp"

#include <beck/testing/check.hpp>

#include "simulation/walk.hpp"

namespace beck::test {
using namespace detail;
namespace {

class world_choices final : public choices {
 public:
  explicit world_choices(testing::sim::world& w) : random_(w.random()) {}
  std::uint64_t below(std::uint64_t bound) override { return random_.below(bound); }

 private:
  testing::sim::random_source& random_;
};

/// Worlds of four kinds: as they are, with transfers in the smallest pieces, with delays of every
/// kind, and with connections that break.
testing::sim::settings kind_of_world(std::uint64_t kind) {
  using testing::sim::fault;
  using testing::sim::faults;
  testing::sim::settings how;
  if (kind == 1) {
    how.short_read_probability(0.9).with(faults::none().set(fault::short_write, 0.9));
  } else if (kind >= 2) {
    faults what = faults::none()
                      .set(fault::tiny_buffers, 0.3)
                      .set(fault::short_write, 0.2)
                      .set(fault::loss, 0.05)
                      .set(fault::reordering, 0.1)
                      .set(fault::stall, 0.02)
                      .set(fault::spurious_event, 0.1)
                      .set(fault::close_interrupted, 0.1)
                      .set(fault::clock_jump, 0.01);
    if (kind == 3) what.set(fault::reset, 0.01).set(fault::end, 0.01);
    how.with(what);
  }
  return how;
}

}  // namespace

void walk_program(testing::sim::world& w) {
  world_choices from(w);
  const std::uint64_t kind = from.below(4);
  w.configure(kind_of_world(kind));
  walk_options how;
  how.faults = kind == 3;
  how.out_of_memory = from.below(4) == 3;
  std::string report;
  {
    io_context ctx(w.host("one"));
    report = walk(ctx, from, how);
  }
  testing::sim::require(report.empty(), report);
}

}  // namespace beck::test
