// SPDX-License-Identifier: BSL-1.0
// Choices from the world, so that walks are recorded, replayed and shrunk with the rest.
#include "simulation/walk_program.hpp"

#include <beck/testing/check.hpp>

#include "simulation/walk.hpp"

namespace beck::test {
namespace {

class world_choices final : public choices {
 public:
  explicit world_choices(testing::sim::world& w) : random_(w.random()) {}
  std::uint64_t below(std::uint64_t bound) override { return random_.below(bound); }

 private:
  testing::sim::random_source& random_;
};

}  // namespace

void walk_program(testing::sim::world& w) {
  world_choices from(w);
  std::string report;
  {
    io_context ctx(w.host("one"));
    report = walk(ctx, from, walk_options());
  }
  testing::sim::require(report.empty(), report);
}

}  // namespace beck::test
